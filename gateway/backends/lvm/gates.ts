import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { preconditionProblem, unavailableProblem } from '../../../src/api/problem.ts';
import { environmentWith } from '../../../src/lib/exec.ts';
import { execLocked, lockedArgs } from '../../local/devices/command-lock.ts';
import { commandProblem } from '../../local/files.ts';
import { deviceSize, homeOf, readSysfs, sectorBytes } from '../../local/kernel/sysfs.ts';

/**
 * Linear devices of the kernel, each over the device of one volume. Nodes reach the volume only through its gate, so
 * their I/O waits while the gate is suspended. Each method ends in the same state however often it runs.
 */
export type Gates = ReturnType<typeof createGates>;

/** The device of a volume. */
type GatedDevice = { readonly path: string; readonly sizeBytes: number };

const timeoutMs = 60_000;
/** The status of `timeout` when the time is over. */
const timeIsOver = 124;

/**
 * Suspends gates until the input ends, at most for a time, and then resumes them. Status 0: the input ended in time.
 * When a gateway is killed, its input ends as well. `trap` keeps it from an end by a signal before it resumes them.
 */
const guard = `trap : TERM INT HUP
timeout "$0" sh -c 'dmsetup suspend --nolockfs -- "$@" && echo suspended && cat' sh "$@"
status=$?
dmsetup resume -- "$@"
exit "$status"`;

/** Creates the gates of a pool. `lockPath`: the file that commands lock. */
export function createGates(pool: string, lockPath: string) {
  // LVM and udev leave devices with such a UUID alone, so they never act on data that a node writes to its volume.
  const uuidPrefix = `LVM-${digest(pool)}`;
  async function run(command: string, name: string, ...options: readonly string[]): Promise<void> {
    const result = await execLocked(lockPath, ['dmsetup', command, ...options, '--', name], timeoutMs);
    if (result.status !== 0) throw commandProblem('dmsetup', `${command} "${name}"`, result);
  }

  /** Resumes all gates of the pool that are suspended. */
  async function resume(): Promise<void> {
    for (const device of readdirSync('/sys/block').filter(name => name.startsWith('dm-'))) {
      const [uuid, name, suspended] = ['uuid', 'name', 'suspended'].map(one =>
        readSysfs(`/sys/block/${device}/dm/${one}`),
      );
      if (uuid?.startsWith(uuidPrefix) && suspended === '1') await run('resume', name ?? '');
    }
  }

  return {
    isOpen: (name: string): boolean => stateOf(name) !== undefined,
    resume,

    /** Opens a gate, or gives it the present size of the device. Returns its path. */
    async open(name: string, { path, sizeBytes }: GatedDevice): Promise<string> {
      const table = ['--table', `0 ${sizeBytes / sectorBytes} linear ${path} 0`];
      let state = stateOf(name);
      if (state && state.below !== homeOf(path)) {
        // Somebody gave the name of this gate's volume to another one.
        await run('remove', name, '--retry');
        state = undefined;
      }
      if (!state) await run('create', name, '--uuid', `${uuidPrefix}${digest(name)}-gate`, ...table);
      else if (state.sizeBytes !== sizeBytes) {
        await run('reload', name, ...table);
        await run('resume', name);
      } else if (state.isSuspended) await run('resume', name);
      return pathOf(name);
    },

    /** Removes a gate. UNAVAILABLE while a program has it open. */
    async close(name: string): Promise<void> {
      if (stateOf(name)) await run('remove', name, '--retry');
    },

    /**
     * Runs work while no I/O passes these gates. FAILED_PRECONDITION when the work takes longer: the gates are resumed
     * before its end.
     */
    async whileSuspended<T>(names: readonly string[], maxMs: number, work: () => Promise<T>): Promise<T> {
      // With fewer than two gates there is nothing to align.
      if (names.length < 2) return work();
      const child = spawn(
        'flock',
        lockedArgs(lockPath, ['sh', '-c', guard, String(maxMs / 1_000), ...names]),
        {
          stdio: ['pipe', 'pipe', 'ignore'],
          env: environmentWith(process.env),
          detached: true,
        },
      );
      child.stdin.on('error', () => {});
      const ended = once(child, 'close');
      let status: unknown;
      let result: { readonly value: T } | undefined;
      try {
        const suspended = once(child.stdout, 'data').then(() => true);
        if (await Promise.race([suspended, ended.then(() => false)])) result = { value: await work() };
      } finally {
        child.stdin.end();
        [status] = await ended;
        await resume();
      }
      if (status === timeIsOver)
        throw preconditionProblem(
          `copying all volumes took longer than ${maxMs} ms, for which their I/O may wait; use a smaller group`,
        );
      if (status !== 0 || !result) throw unavailableProblem(`cannot suspend "${names.join('", "')}"`);
      return result.value;
    },
  };
}

/** The kernel's state of a gate, and the directory of the device below it; undefined when there is no gate. */
function stateOf(name: string) {
  const home = homeOf(pathOf(name));
  if (home === undefined) return undefined;
  const isSuspended = readSysfs(`${home}/dm/suspended`) === '1';
  const [slave] = readdirSync(`${home}/slaves`);
  const below = `/sys/dev/block/${readSysfs(`${home}/slaves/${slave}/dev`)}`;
  return { isSuspended, below, sizeBytes: deviceSize(pathOf(name)) };
}

function pathOf(name: string): string {
  return `/dev/mapper/${name}`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

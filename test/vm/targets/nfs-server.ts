import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../../harness/machine.ts';

/** A test, or the `after` of a test file. */
export type CleanupHook = { readonly after: (end: () => Promise<void>) => void };

/** The kernel's file with Y once no client of an earlier server is awaited. */
const graceFile = '/proc/fs/nfsd/v4_end_grace';
const diskBytes = 512 * 2 ** 20;

/**
 * Starts server `number` of this machine, at 10.9.<number>.2. It ends with the test, after the programs that were
 * started before it.
 */
export async function startNfsServer(t: CleanupHook, number = 1) {
  const name = `server${number}`;
  const directory = makeTemporaryDirectory();
  const root = join(directory, name);
  const state = join(directory, `${name}-state`);
  const daemons: Daemon[] = [];
  const shell = ['ip', 'netns', 'exec', name, 'sh', '-ec', enter, state];
  const inside = (...line: readonly string[]): readonly string[] => [...shell, ...line];
  const link = (to: string): void => run('ip', 'link', 'set', `to-${name}`, to);
  // Versions before 4 would need a portmapper.
  const start = (): void =>
    run(...inside('rpc.nfsd', '-N', '3', '--lease-time', '10', '--grace-time', '10', '4'));
  const stop = (): void => run(...inside('rpc.nfsd', '0'));
  t.after(async () => {
    link('up');
    stop();
    for (const end of daemons) await end();
    run('ip', 'netns', 'delete', name);
    removeTemporaryDirectory(directory);
  });
  makeNetwork(name, number);
  makeDisk(root);
  makeState(state);
  run('modprobe', 'nfsd');
  const share = (option: string): void =>
    run(...inside('exportfs', '-i', '-o', `rw,${option},no_subtree_check,fsid=0`, `*:${root}`));
  share('no_root_squash');
  daemons.push(
    startDaemon(inside('rpc.mountd', '-F', '-N', '2', '-N', '3', '--no-udp')),
    // nfsdcld knows that no client of an earlier server is left; without it the server waits for some.
    startDaemon(inside('nfsdcld', '-F', '-p', join(state, 'pipe'), '-s', state)),
  );
  await startAfresh({ start, stop, isReady: () => read(...inside('cat', graceFile)).trim() === 'Y' });
  return {
    /** Its address for nodes. */
    address: `10.9.${number}.2`,
    /** The exported directory, as the server sees it; nodes call it `/`. */
    root,
    /** Cuts the cable: packets are lost without an error. */
    cut: () => link('down'),
    /** Plugs the cable in again. */
    mend: () => link('up'),
    /** CleanupHook the service: connections are refused. */
    stop,
    /** Maps root to nobody from now on, or no longer. */
    squashRoot: (isSquashed: boolean) => share(isSquashed ? 'root_squash' : 'no_root_squash'),
    /** Starts the service again; open files stay open. */
    start,
  };
}

/** Each server has its own filesystem "nfsd", which belongs to its network, and its own state. */
const enter = `mount -t nfsd nfsd /proc/fs/nfsd
mount -t rpc_pipefs pipe "$0/pipe"
mount --bind "$0" /var/lib/nfs
exec "$@"`;

function makeNetwork(name: string, number: number): void {
  const [cable, ours] = [`to-${name}`, `10.9.${number}.1/24`];
  run('ip', 'netns', 'add', name);
  run('ip', 'link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
  run('ip', 'address', 'add', ours, 'dev', cable);
  run('ip', 'link', 'set', cable, 'up');
  run('ip', '-n', name, 'address', 'add', `10.9.${number}.2/24`, 'dev', 'eth0');
  for (const device of ['lo', 'eth0']) run('ip', '-n', name, 'link', 'set', device, 'up');
}

function makeState(state: string): void {
  mkdirSync(join(state, 'pipe'), { recursive: true });
  for (const file of ['etab', 'rmtab', 'xtab']) writeFileSync(join(state, file), '');
}

/** Makes the disk of the server, an XFS that limits directories (project quotas). */
function makeDisk(root: string): void {
  mkdirSync(root);
  writeFileSync(`${root}.img`, '');
  truncateSync(`${root}.img`, diskBytes);
  run('mkfs.xfs', '-q', `${root}.img`);
  run('mount', '-o', 'loop,prjquota', '--', `${root}.img`, root);
}

/** CleanupHook a daemon and waits for its end; a daemon that is not ended does not keep this process running. */
type Daemon = () => Promise<void>;

function startDaemon([command = '', ...args]: readonly string[]): Daemon {
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  child.unref();
  const ended = once(child, 'exit');
  return async () => {
    child.ref();
    child.kill('SIGKILL');
    await ended;
  };
}

type Service = Readonly<Record<'start' | 'stop', () => void>> & { readonly isReady: () => boolean };

/** Restarts the service until it waits for no client of an earlier one. */
async function startAfresh({ start, stop, isReady }: Service): Promise<void> {
  for (let tries = 1; ; tries++) {
    start();
    if (isReady()) return;
    if (tries === 20) throw new Error('the NFS server waits for clients that it never had');
    stop();
    await sleep(500);
  }
}

function read(...[command = '', ...args]: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8' });
}

function run(...[command = '', ...args]: readonly string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { exec, failureText, type ExecResult } from '../../../src/lib/exec.ts';
import { diskXml, parseDomain, tunesOf, type Disk, type Domain } from './xml.ts';

/**
 * A hypervisor that libvirt drives. The result of a change is read from `domains`; the commands' own output is only
 * for messages.
 */
export interface Hypervisor {
  /** The reason why the hypervisor does not answer; undefined when it does. */
  fault(): Promise<string | undefined>;
  /** Reads all domains, running or not, as they are now. UNAVAILABLE when they cannot be read. */
  domains(): Promise<readonly Domain[]>;
  /** Plugs a disk into the running machine, its description, or both. Returns the error as text. */
  plug(domain: Domain, disk: Disk, target: PlugTarget): Promise<string>;
  /** Removes a disk from the domain's description for the next start. Returns the error as text. */
  forget(domain: Domain, alias: string): Promise<string>;
  /** Asks the domain to release a disk, which may happen later. Returns the error as text. */
  unplug(domain: Domain, alias: string): Promise<string>;
  /** The names of the domain's snapshots with the disk; UNAVAILABLE when they cannot be read. */
  snapshotsWith(domain: Domain, alias: string): Promise<readonly string[]>;
  /** Makes the domain see a disk's new size; UNAVAILABLE on failure. */
  resize(domain: Domain, target: string, sizeBytes: number): Promise<void>;
  /** Replaces a disk's limits of I/O in the running machine, its description, or both; UNAVAILABLE on failure. */
  limit(domain: Domain, disk: Pick<Disk, 'target' | 'limits'>, where: PlugTarget): Promise<void>;
  /** Reads whether the domain runs, is paused or has crashed, and why. */
  state(domain: Domain): Promise<string>;
  /** Ends the domain as a loss of power does. Returns the error as text. */
  powerOff(domain: Domain): Promise<string>;
}

/** The target of a change: the running machine, its description for the next start, or both. */
type PlugTarget = { readonly live: boolean; readonly next: boolean };

/** A command may wait for another one of the same domain (libvirt waits for 30 s), and for a disk (5 s). */
const timeoutMs = 60_000;
const maxOutput = 2 ** 25;
/** The tries to read the domains when some come or go meanwhile. */
const tries = 4;

/** Runs virsh with these arguments; never rejects. */
export type Virsh = (args: readonly string[]) => Promise<ExecResult>;

export function openHypervisor(uri: string, virsh: Virsh = runVirsh): Hypervisor {
  const run = (...args: readonly string[]): Promise<ExecResult> =>
    virsh(['--quiet', '--connect', uri, ...args]);
  const change = async (...args: readonly string[]): Promise<string> => reasonOf(await run(...args));

  /** The machines of the last reading. They are read together with the list, by one command. */
  let known: readonly string[] = [];

  /** Reads all machines. Undefined when machines came or went meanwhile. */
  async function readDomains(): Promise<readonly Domain[] | undefined> {
    const previous = known;
    const answer = await run([listing, ...previous.flatMap(readingsOf)].join('; '));
    const descriptions: string[] = [];
    const rest = answer.stdout.replaceAll(description, text => `<${descriptions.push(text) - 1}>`);
    known = [...rest.matchAll(/^([0-9a-f-]{36}) ./gm)].map(([, uuid = '']) => uuid).toSorted();
    // The status is the last command's, so it belongs to the list only if nothing else was read.
    if (previous.length === 0 && answer.status !== 0) throw unansweredProblem(uri, answer);
    const answers = rest.match(/^<[^]*?^Managed save: .*$/gm) ?? [];
    if (known.join() !== previous.join() || answers.length !== previous.length) return undefined;
    const found = answers.flatMap((text, index) => parseAnswers(previous[index] ?? '', text, descriptions));
    // A description that is missing or cut off proves nothing about its disks.
    return found.length === previous.length ? found : undefined;
  }

  async function readAll(): Promise<readonly Domain[]> {
    for (let count = 0; count < tries; count++) {
      const found = await readDomains();
      if (found) return found;
    }
    throw unavailableProblem(
      `the virtual machines at ${uri} cannot be read: they change all the time, or an answer is incomplete`,
    );
  }

  let reading: Promise<unknown> = Promise.resolve();
  let following: Promise<readonly Domain[]> | undefined;

  /** Starts a reading, after the one that is running. Calls that wait meanwhile share it. */
  function domains(): Promise<readonly Domain[]> {
    const begin = (): Promise<readonly Domain[]> => {
      following = undefined;
      return readAll();
    };
    following ??= reading.then(begin, begin);
    reading = following;
    return following;
  }

  return {
    async fault() {
      const answer = await run('uri');
      if (answer.fault === 'ENOENT') return 'virsh is not installed; install the package libvirt-clients';
      return answer.status === 0 ? undefined : `no hypervisor answers at ${uri}: ${reasonOf(answer)}`;
    },
    domains,
    async plug({ uuid }, disk, { live, next }) {
      const directory = await mkdtemp(join(tmpdir(), 'fairlead-disk-'));
      try {
        const file = join(directory, 'disk.xml');
        await writeFile(file, diskXml(disk));
        return await change('attach-device', ...flagsOf({ live, next }), '--', uuid, file);
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    },
    forget: ({ uuid }, alias) => change('detach-device-alias', '--config', '--', uuid, alias),
    unplug: ({ uuid }, alias) => change('detach-device-alias', '--live', '--', uuid, alias),
    async resize({ uuid, name }, target, sizeBytes) {
      const resized = await run('blockresize', '--', uuid, target, `${sizeBytes}B`);
      if (resized.status !== 0)
        throw unavailableProblem(
          `cannot show the virtual machine "${name}" the new size: ${reasonOf(resized)}`,
        );
    },
    async snapshotsWith({ uuid, name }, alias) {
      const require = (answer: ExecResult): string => {
        if (answer.status === 0) return answer.stdout;
        const reason = reasonOf(answer);
        throw unavailableProblem(`the snapshots of the virtual machine "${name}" cannot be read: ${reason}`);
      };
      const names = require(await run('snapshot-list', '--name', '--', uuid))
        .split('\n')
        .filter(Boolean);
      const found: string[] = [];
      for (const one of names)
        if (require(await run('snapshot-dumpxml', '--', uuid, one)).includes(`'${alias}'`)) found.push(one);
      return found;
    },
    async limit({ uuid, name }, { target, limits }, where) {
      const flags = tunesOf(limits).map(([tune, value]) => `--${tune.replaceAll('_', '-')}=${value}`);
      const errors = await change('blkdeviotune', ...flagsOf(where), ...flags, '--', uuid, target);
      if (errors !== '')
        throw unavailableProblem(
          `the limits of disk "${target}" of the virtual machine "${name}" cannot be set: ${errors}`,
        );
    },
    state: async ({ uuid }) => (await run('domstate', '--reason', '--', uuid)).stdout.trim(),
    powerOff: ({ uuid }) => change('destroy', '--', uuid),
  };
}

function runVirsh(args: readonly string[]): Promise<ExecResult> {
  return exec('virsh', args, { timeoutMs, maxOutput });
}

const listing = 'list --all --uuid --name';
const description = /^<domain [^]*?^<\/domain>/gm;

/** The commands that read a machine: as it runs, as it starts next, its saved state, and its summary. */
function readingsOf(uuid: string): readonly string[] {
  const commands = ['dumpxml', 'dumpxml --inactive', 'managedsave-dumpxml', 'dominfo'];
  return commands.map(command => `${command} ${uuid}`);
}

/**
 * Parses the answers for a machine, with a number in place of each description. Empty for answers that are incomplete
 * or inconsistent.
 */
function parseAnswers(uuid: string, text: string, descriptions: readonly string[]): readonly Domain[] {
  const [live, next, saved, ...others] = Array.from(
    text.matchAll(/^<(\d+)>/gm),
    ([, index]) => descriptions[Number(index)],
  );
  const [, lasting] = /^Persistent: +(yes|no)$/m.exec(text) ?? [];
  const [, wasSaved] = /^Managed save: +(yes|no|unknown)$/m.exec(text) ?? [];
  const describesMachine = (one = ''): boolean => one.includes(`<uuid>${uuid}</uuid>`);
  const isWhole =
    describesMachine(live) && describesMachine(next) && others.length === 0 && lasting && wasSaved;
  if (!live || !next || !isWhole || (wasSaved === 'no' && saved !== undefined)) return [];
  const isPersistent = lasting === 'yes';
  return [parseDomain({ live, next, saved: wasSaved === 'no' ? '' : saved, isPersistent })];
}

function flagsOf({ live, next }: PlugTarget): readonly string[] {
  return [...(live ? ['--live'] : []), ...(next ? ['--config'] : [])];
}

function unansweredProblem(uri: string, answer: ExecResult): Error {
  return unavailableProblem(`no hypervisor answers at ${uri}: ${reasonOf(answer)}`);
}

/** The error of virsh in one line, for people; empty on success. */
function reasonOf({ status, stderr, timedOut }: ExecResult): string {
  if (status === 0) return '';
  if (timedOut) return `no answer in ${timeoutMs / 1_000} s`;
  return failureText(stderr.replaceAll(/^error: /gm, ''));
}

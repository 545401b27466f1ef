import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { exec, type ExecResult } from '../../../src/lib/exec.ts';
import { diskXml, parseDomain, type Disk, type Domain } from './xml.ts';

/** A hypervisor, as libvirt drives it. What becomes of a change is read from `domains`, never from what it says. */
export interface Hypervisor {
  /** What keeps it from being asked; undefined when it answers. */
  fault(): Promise<string | undefined>;
  /** All domains, running or not, as they are now. UNAVAILABLE when they cannot be read. */
  domains(): Promise<readonly Domain[]>;
  /** Plugs a disk into what `where` names; returns what failed, as text. */
  plug(domain: Domain, disk: Disk, where: Where): Promise<string>;
  /** Takes a disk out of what the domain has at its next start. */
  forget(domain: Domain, alias: string): Promise<string>;
  /** Asks the domain to give a disk back, which it may do later. */
  unplug(domain: Domain, alias: string): Promise<string>;
  /** The names of the domain's snapshots in which it has a disk; UNAVAILABLE when they cannot be read. */
  snapshotsWith(domain: Domain, alias: string): Promise<readonly string[]>;
  /** Shows the domain a disk's size; UNAVAILABLE when that fails. */
  resize(domain: Domain, target: string, sizeBytes: number): Promise<void>;
  /** Whether the domain runs, is paused or has crashed, and why. */
  state(domain: Domain): Promise<string>;
  /** Ends the domain as a loss of power does. */
  powerOff(domain: Domain): Promise<string>;
}

/** Into what runs, or into what the next start has. */
export type Where = { readonly live: boolean; readonly next: boolean };

/** A command waits for another one of the same domain, libvirt itself for 30 s, and a disk that is asked for for 5 s. */
const timeoutMs = 60_000;
const mostOutput = 2 ** 25;
/** How often domains are read again that came or went meanwhile. */
const tries = 4;

/** Runs virsh with these arguments; resolves always. */
export type Virsh = (args: readonly string[]) => Promise<ExecResult>;

/** The hypervisor at a URI of libvirt. */
export function openHypervisor(uri: string, virsh: Virsh = runVirsh): Hypervisor {
  const run = (...args: readonly string[]): Promise<ExecResult> =>
    virsh(['--quiet', '--connect', uri, ...args]);
  const change = async (...args: readonly string[]): Promise<string> => reasonOf(await run(...args));

  /** The machines that there were last: asked for together with the list, they are read by one command. */
  let known: readonly string[] = [];

  /** Undefined when machines came or went meanwhile. */
  async function readDomains(): Promise<readonly Domain[] | undefined> {
    const asked = known;
    const answer = await run([listing, ...asked.flatMap(readingsOf)].join('; '));
    const descriptions: string[] = [];
    const rest = answer.stdout.replaceAll(description, text => `<${descriptions.push(text) - 1}>`);
    known = [...rest.matchAll(/^([0-9a-f-]{36}) ./gm)].map(([, uuid = '']) => uuid).toSorted();
    // The status is that of the last command: of the list where nothing else was asked for.
    if (asked.length === 0 && answer.status !== 0) throw unansweredProblem(uri, answer);
    const answers = rest.match(/^<[^]*?^Managed save: .*$/gm) ?? [];
    if (known.join() !== asked.join() || answers.length !== asked.length) return undefined;
    const found = answers.flatMap((text, index) => parseAnswers(asked[index] ?? '', text, descriptions));
    // What is missing or cut off says nothing of what is in it.
    return found.length === asked.length ? found : undefined;
  }

  async function readWhole(): Promise<readonly Domain[]> {
    for (let count = 0; count < tries; count++) {
      const found = await readDomains();
      if (found) return found;
    }
    throw unavailableProblem(`the virtual machines at ${uri} cannot be read`);
  }

  let reading: Promise<unknown> = Promise.resolve();
  let following: Promise<readonly Domain[]> | undefined;

  /** Whoever asks while machines are being read shares the reading that follows. */
  function domains(): Promise<readonly Domain[]> {
    const begin = (): Promise<readonly Domain[]> => {
      following = undefined;
      return readWhole();
    };
    following ??= reading.then(begin, begin);
    reading = following;
    return following;
  }

  return {
    async fault() {
      const answer = await run('uri');
      if (answer.fault === 'ENOENT') return 'virsh is not installed: libvirt-clients has it';
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
          `the virtual machine "${name}" is not shown the new size: ${reasonOf(resized)}`,
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
    state: async ({ uuid }) => (await run('domstate', '--reason', '--', uuid)).stdout.trim(),
    powerOff: ({ uuid }) => change('destroy', '--', uuid),
  };
}

/** Runs the program of this machine. */
export function runVirsh(args: readonly string[]): Promise<ExecResult> {
  return exec('virsh', args, { timeoutMs, mostOutput });
}

const listing = 'list --all --uuid --name';
const description = /^<domain [^]*?^<\/domain>/gm;

/** What is read of a machine: as it runs, as it starts next, as it was saved, and whether it is there when it does not run. */
function readingsOf(uuid: string): readonly string[] {
  const commands = ['dumpxml', 'dumpxml --inactive', 'managedsave-dumpxml', 'dominfo'];
  return commands.map(command => `${command} ${uuid}`);
}

/** The machine by its answers, in which its descriptions are numbers; nothing where they are not whole, or changed meanwhile. */
function parseAnswers(uuid: string, text: string, descriptions: readonly string[]): readonly Domain[] {
  const [live, next, saved, ...others] = Array.from(
    text.matchAll(/^<(\d+)>/gm),
    ([, index]) => descriptions[Number(index)],
  );
  const [, lasting] = /^Persistent: +(yes|no)$/m.exec(text) ?? [];
  const [, wasSaved] = /^Managed save: +(yes|no|unknown)$/m.exec(text) ?? [];
  const isOf = (one = ''): boolean => one.includes(`<uuid>${uuid}</uuid>`);
  const isWhole = isOf(live) && isOf(next) && others.length === 0 && lasting && wasSaved;
  if (!live || !next || !isWhole || (wasSaved === 'no' && saved !== undefined)) return [];
  const isPersistent = lasting === 'yes';
  return [parseDomain({ live, next, saved: wasSaved === 'no' ? '' : saved, isPersistent })];
}

function flagsOf({ live, next }: Where): readonly string[] {
  return [...(live ? ['--live'] : []), ...(next ? ['--config'] : [])];
}

function unansweredProblem(uri: string, answer: ExecResult): Error {
  return unavailableProblem(`no hypervisor answers at ${uri}: ${reasonOf(answer)}`);
}

/** What virsh said went wrong, in one line, for people; empty where nothing did. */
function reasonOf({ status, stderr, timedOut }: ExecResult): string {
  if (status === 0) return '';
  if (timedOut) return `no answer in ${timeoutMs / 1_000} s`;
  return stderr
    .replaceAll(/^error: /gm, '')
    .trim()
    .replaceAll(/\s*\n\s*/g, '; ');
}

import { dirname } from 'node:path';
import { asProblem, preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { runWell } from './commands.ts';
import type { Host, Opened } from '../host.ts';
import type { Through } from '../connector.ts';
import type { CommandLine } from '../filesystem.ts';
import { pause } from '../../src/lib/concurrency.ts';
import { readLine } from './sysfs.ts';
import { inPhase, type ObservePhase } from './phases.ts';
import { mountsAt, mountsBelow, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';

/**
 * The number (`major:minor`) of the block device that a mount shows, undefined when it shows none. btrfs and device nodes
 * have an anonymous one, so their name decides; a device that was removed has no number, and its name is returned.
 */
export async function deviceNumberOf(mount: Mount, host: Host): Promise<string | undefined> {
  if (isDeviceNode(mount)) {
    const name = mount.root.slice(1);
    // The kernel removes a device's node with it, and another device may have its name by now.
    return name.endsWith(removed) ? name.slice(0, -removed.length) : numberOf(name, host);
  }
  if (!mount.device.startsWith('0:')) return mount.device;
  if (mount.source.startsWith('/dev/')) return numberOf(mount.source.slice('/dev/'.length), host);
  return undefined;
}

async function numberOf(name: string, host: Host): Promise<string> {
  const kernelName = name.startsWith('mapper/') ? await mappedName(name.slice('mapper/'.length), host) : name;
  return (await readLine(`/sys/class/block/${kernelName}/dev`, host)) ?? name;
}

/** The kernel's name of a device-mapper device, which `mount` calls by its name below /dev/mapper. */
async function mappedName(name: string, host: Host): Promise<string> {
  for (const kernelName of await host.list('/sys/class/block'))
    if ((await readLine(`/sys/class/block/${kernelName}/dm/name`, host)) === name) return kernelName;
  return name;
}

/** True for a device node that is bound to a file, as a block volume is published. */
function isDeviceNode({ type, root }: Mount): boolean {
  return type === 'devtmpfs' && /^\/[^/]+(\/\/deleted)?$/.test(root);
}

/** How mountinfo ends the name of a file that was removed. */
const removed = '//deleted';

/** What is to be mounted where, and what must be seen there then. */
export type Mounting = {
  readonly type?: string | undefined;
  /** `bind` among them binds the source; the others are those of the bound mount then. */
  readonly options: readonly string[];
  readonly source: string;
  readonly through?: Through | undefined;
  /** A directory that the source lies in, and that it is reached through without symbolic links. */
  readonly sourceDirectory?: string | undefined;
  readonly path: string;
  shows(mount: Mount): Promise<boolean>;
  /** Called when the mount succeeded and is not seen at the path. */
  whenAstray?(): Promise<void>;
};

/**
 * Whoever resolves a path once more, as for a helper or for /run/mount/utab, may be led elsewhere. (So does `umount
 * --detach-loop`.)
 */
const asGiven = ['--no-canonicalize', '--no-mtab'];

/**
 * Mounts on what lies at the path, reached without symbolic links, and returns what mountinfo shows at the path then. What
 * is not seen there as it was to be mounted is taken back, wherever what was opened lies by now.
 */
export async function mountAndSee(host: Host, mounting: Mounting): Promise<Mount> {
  const { options, path } = mounting;
  const others = options.filter(option => option !== 'bind');
  const isBind = others.length < options.length;
  using target = await host.open(path);
  let isMounted = false;
  try {
    await mountOn(host, mounting, { target, options: isBind ? ['bind'] : options });
    isMounted = true;
    const mount = await see(host, mounting, target);
    if (!isBind || others.length === 0) return mount;
    // A bind takes no other option; the path leads to the mount by now, which nobody can rename.
    await runInDirectory(host, path, { command: 'mount', args: [...remount(others), '--', 'none', path] });
    return await see(host, mounting, target);
  } catch (error) {
    if (isMounted || !target.isInPlace())
      await host.run('umount', [...asGiven, '--internal-only', '--', path], { opened: [target] });
    if (isMounted) await mounting.whenAstray?.();
    throw error;
  }
}

async function mountOn(
  host: Host,
  { type, source, sourceDirectory, path, through }: Mounting,
  { target, options }: { readonly target: Opened; readonly options: readonly string[] },
): Promise<void> {
  using directory = sourceDirectory === undefined ? undefined : await host.open(sourceDirectory);
  const kind = type === undefined ? [] : ['-t', type];
  const how = options.length > 0 ? ['-o', options.join(',')] : [];
  const args = [...asGiven, ...kind, ...how, '--', source, path];
  const line = through ? { ...through, args: [...through.args, ...args] } : { command: 'mount', args };
  await runWell(host, { ...line, opened: directory ? [target, directory] : [target], mute: true });
}

function remount(options: readonly string[]): readonly string[] {
  return [...asGiven, '-o', ['remount', 'bind', ...options].join(',')];
}

async function see(host: Host, { path, shows }: Mounting, target: Opened): Promise<Mount> {
  const mount = topMount(await host.mounts(), path);
  if (!mount || !target.isInPlace())
    throw unavailableProblem(`nothing is mounted at "${path}" after mount succeeded`);
  if (!(await shows(mount)))
    throw unavailableProblem(`${describe(mount)} is at "${path}" after something else was mounted there`);
  return mount;
}

/** Runs a command on what lies in a directory, which is reached without symbolic links. */
async function runInDirectory(host: Host, path: string, line: CommandLine): Promise<void> {
  using directory = await host.open(dirname(path));
  await runWell(host, { ...line, opened: [directory], mute: true });
}

/** How long what hangs is forced again and again, in milliseconds: on a busy machine those who waited on it end slowly. */
const forceMs = 5_000;
const forcePauseMs = 50;

/** How far an unmount may go. */
export type Unmounting = {
  /** Something waits on the volume already: what is not forced would only wait as well. */
  readonly isHung: boolean;
  /** A mount that does not come off by force may be detached lazily, though its filesystem then lives on unseen. */
  readonly allowsLazy: boolean;
};

/**
 * Unmounts all that is at the path, and returns what is mounted then; a mount below it is a `Problem`, and stays. What
 * hangs is unmounted by force, what is refused never is. `seen` is what was mounted just now, for who looked.
 */
export function unmountAll(
  agent: Unmounter,
  path: string,
  seen?: readonly Mount[],
): Promise<readonly Mount[]> {
  return inPhase(agent, 'unmount', () => unmountEach(agent, path, seen));
}

type Unmounter = {
  readonly host: Host;
  readonly unmounting: Unmounting;
  readonly observePhase?: ObservePhase | undefined;
};

async function unmountEach(agent: Unmounter, path: string, seen?: readonly Mount[]) {
  const { host } = agent;
  let mounts = seen ?? (await host.mounts());
  for (let before = Number.POSITIVE_INFINITY; ; mounts = await host.mounts()) {
    const [below] = mountsBelow(mounts, path);
    if (below) throw preconditionProblem(`"${path}" has ${describe(below)} below it, at "${below.path}"`);
    const count = mountsAt(mounts, path).length;
    if (count === 0) return mounts;
    if (count >= before) throw unavailableProblem(`"${path}" is still mounted after it was unmounted`);
    await unmountTop(agent, path, count);
    before = count;
  }
}

/** Takes the topmost mount off: as usual, by force what hangs, and lazily what does not come off even so. */
async function unmountTop({ host, unmounting }: Unmounter, path: string, count: number): Promise<void> {
  const run = (...force: readonly string[]) =>
    runInDirectory(host, path, {
      command: 'umount',
      args: [...asGiven, '--internal-only', ...force, '--', path],
    });
  let forcedMs = Infinity;
  for (let tries = unmounting.isHung ? 1 : 0; ; tries++) {
    if (tries > 0) forcedMs = Math.min(forcedMs, performance.now());
    const error = await run(...(tries > 0 ? ['--force'] : [])).then(() => undefined, asProblem);
    if (!error) return;
    const hasTimedOut = error.code === 'DEADLINE_EXCEEDED';
    if (tries === 0 && !hasTimedOut) throw error;
    // One that hangs may have taken the mount off all the same, and waits for the filesystem to end.
    if (mountsAt(await host.mounts(), path).length < count) return;
    // The first force frees who waits on the filesystem; once they have ended, another takes the mount off.
    const isLast = tries > 0 && (hasTimedOut || performance.now() - forcedMs >= forceMs);
    if (isLast && !unmounting.allowsLazy) throw error;
    if (isLast) {
      await run('--lazy');
      return;
    }
    await pause(forcePauseMs);
  }
}

/** A mount in a few words. */
export function describe({ type, source, device }: Mount): string {
  return `${type} of "${source}" (${device})`;
}

import { asProblem, preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { runWell } from './commands.ts';
import type { Host } from '../host.ts';
import { pause } from '../../src/lib/concurrency.ts';
import { readLine } from './sysfs.ts';
import { inPhase, type ObservePhase } from './phases.ts';
import { mountsAt, mountsBelow, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';

/**
 * The number (`major:minor`) of the block device that a mount shows, undefined when it shows none. btrfs and device nodes
 * have an anonymous one, so their name decides; a device that was removed has no number, and its name is returned.
 */
export async function deviceNumberOf(mount: Mount, host: Host): Promise<string | undefined> {
  if (isDeviceNode(mount)) return numberOf(mount.root.slice(1), host);
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
  return type === 'devtmpfs' && /^\/[^/]+$/.test(root);
}

/** Runs `mount` and returns what mountinfo shows at the path then, which must show what was to be mounted. */
export async function mountAndSee(
  host: Host,
  args: readonly string[],
  { path, shows }: { readonly path: string; readonly shows: (mount: Mount) => Promise<boolean> },
): Promise<Mount> {
  await runWell(host, { command: 'mount', args });
  const mount = topMount(await host.mounts(), path);
  if (!mount) throw unavailableProblem(`nothing is mounted at "${path}" after mount succeeded`);
  if (!(await shows(mount)))
    throw unavailableProblem(`${describe(mount)} is at "${path}" after something else was mounted there`);
  return mount;
}

const forceTries = 10;
const forcePauseMs = 50;

/** How far an unmount may go. */
export type Unmounting = {
  /** Something waits on the volume already: what is not forced would only wait as well. */
  readonly isHung: boolean;
  /** A mount that does not come off by force may be detached lazily, though its filesystem then lives on unseen. */
  readonly allowsLazy: boolean;
};

/**
 * Unmounts all that is at the path, with more options for umount, and returns what is mounted then; a mount below it is a
 * `Problem`, and stays. What hangs is unmounted by force, what is refused never is.
 */
export function unmountAll(
  agent: Unmounter,
  path: string,
  options: readonly string[] = [],
): Promise<readonly Mount[]> {
  return inPhase(agent, 'unmount', () => unmountEach(agent, path, options));
}

type Unmounter = {
  readonly host: Host;
  readonly unmounting: Unmounting;
  readonly observePhase?: ObservePhase | undefined;
};

async function unmountEach(agent: Unmounter, path: string, options: readonly string[]) {
  const { host } = agent;
  for (let before = Number.POSITIVE_INFINITY; ;) {
    const mounts = await host.mounts();
    const [below] = mountsBelow(mounts, path);
    if (below) throw preconditionProblem(`"${path}" has ${describe(below)} below it, at "${below.path}"`);
    const count = mountsAt(mounts, path).length;
    if (count === 0) return mounts;
    if (count >= before) throw unavailableProblem(`"${path}" is still mounted after it was unmounted`);
    await unmountTop(agent, path, { options, count });
    before = count;
  }
}

/** Takes the topmost mount off: as usual, by force what hangs, and lazily what does not come off even so. */
async function unmountTop(
  { host, unmounting }: Unmounter,
  path: string,
  { options, count }: { readonly options: readonly string[]; readonly count: number },
): Promise<void> {
  const run = (...force: readonly string[]) =>
    runWell(host, { command: 'umount', args: [...options, ...force, '--', path] });
  for (let tries = unmounting.isHung ? 1 : 0; ; tries++) {
    const error = await run(...(tries > 0 ? ['--force'] : [])).then(() => undefined, asProblem);
    if (!error) return;
    const hasTimedOut = error.code === 'DEADLINE_EXCEEDED';
    if (tries === 0 && !hasTimedOut) throw error;
    // One that hangs may have taken the mount off all the same, and waits for the filesystem to end.
    if (mountsAt(await host.mounts(), path).length < count) return;
    // The first force frees who waits on the filesystem; once they have ended, another takes the mount off.
    const isLast = tries > 0 && (hasTimedOut || tries === forceTries);
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

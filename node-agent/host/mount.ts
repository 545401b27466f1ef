import { dirname } from 'node:path';
import { asProblem, preconditionProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';
import { runWell } from './commands.ts';
import type { CommandLine, Host, OpenedPath } from '../host.ts';
import type { InputCommand } from '../connector.ts';
import { pause } from '../../src/lib/concurrency.ts';
import { withHolders } from './holders.ts';
import { findMapped, readLine } from './sysfs.ts';
import { inPhase, type PhaseObserver } from './phases.ts';
import { mountsAt, mountsBelow, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';

/**
 * Returns the number (`major:minor`) of the block device that a mount shows; undefined if it shows none. Mounts of btrfs and
 * of device nodes have an anonymous number, so the device's name is looked up; for a removed device the name is returned.
 */
export async function deviceNumberOf(mount: Mount, host: Host): Promise<string | undefined> {
  if (isDeviceNode(mount)) {
    const name = mount.root.slice(1);
    // The kernel removes the node with its device, and another device may have the name by now.
    return name.endsWith(removed) ? name.slice(0, -removed.length) : numberOf(name, host);
  }
  if (!mount.device.startsWith('0:')) return mount.device;
  if (mount.source.startsWith('/dev/')) return numberOf(mount.source.slice('/dev/'.length), host);
  return undefined;
}

async function numberOf(name: string, host: Host): Promise<string> {
  const kernelName = name.startsWith('mapper/') ? await findMapped(name.slice('mapper/'.length), host) : name;
  return (await readLine(`/sys/class/block/${kernelName}/dev`, host)) ?? name;
}

/** True for a bind mount of a device node, as in a published block volume. */
export function isDeviceNode({ type, root }: Mount): boolean {
  return type === 'devtmpfs' && /^\/[^/]+(\/\/deleted)?$/.test(root);
}

/** The suffix of a removed file in mountinfo. */
const removed = '//deleted';

export type MountRequest = {
  readonly type?: string | undefined;
  /** With `bind` the source is bound, and the other options apply to the bind mount. */
  readonly options: readonly string[];
  readonly source: string;
  readonly through?: InputCommand | undefined;
  /** The source's directory, which is opened so that no symbolic link on the way to the source is followed. */
  readonly sourceDirectory?: string | undefined;
  readonly path: string;
  /** Says whether a mount at the path is the requested one. */
  shows(mount: Mount): Promise<boolean>;
  /** Called if the mount succeeded but does not appear at the path. */
  whenAstray?(): Promise<void>;
};

/**
 * Options that make mount and umount use paths as given. Resolving a path again, as for a helper, for /run/mount/utab or with
 * `umount --detach-loop`, could lead elsewhere.
 */
const asGiven = ['--no-canonicalize', '--no-mtab'];

/**
 * Mounts at the path, which is reached without symbolic links, and returns the mount in mountinfo. A result that differs from
 * the request is unmounted again, even if the opened path has been moved meanwhile.
 */
export async function mountAndSee(host: Host, request: MountRequest): Promise<Mount> {
  const { options, path } = request;
  const others = options.filter(option => option !== 'bind');
  const isBind = others.length < options.length;
  using target = await host.open(path);
  let isMounted = false;
  try {
    await mountOn(host, request, { target, options: isBind ? ['bind'] : options });
    isMounted = true;
    const mount = await see(host, request, target);
    if (!isBind || others.length === 0) return mount;
    // A bind ignores other options, so a remount sets them. The path now leads to the mount and cannot be renamed.
    await runInDirectory(host, path, { command: 'mount', args: [...remount(others), '--', 'none', path] });
    return await see(host, request, target);
  } catch (error) {
    if (isMounted || !target.isInPlace())
      await host.run('umount', [...asGiven, '--internal-only', '--', path], { opened: [target] });
    if (isMounted) await request.whenAstray?.();
    throw error;
  }
}

async function mountOn(
  host: Host,
  { type, source, sourceDirectory, path, through }: MountRequest,
  { target, options }: { readonly target: OpenedPath; readonly options: readonly string[] },
): Promise<void> {
  using directory = sourceDirectory === undefined ? undefined : await host.open(sourceDirectory);
  const kind = type === undefined ? [] : ['-t', type];
  const optionArgs = options.length > 0 ? ['-o', options.join(',')] : [];
  const args = [...asGiven, ...kind, ...optionArgs, '--', source, path];
  const line = through ? { ...through, args: [...through.args, ...args] } : { command: 'mount', args };
  await runWell(host, { ...line, opened: directory ? [target, directory] : [target], mute: true });
}

function remount(options: readonly string[]): readonly string[] {
  return [...asGiven, '-o', ['remount', 'bind', ...options].join(',')];
}

async function see(host: Host, { path, shows }: MountRequest, target: OpenedPath): Promise<Mount> {
  const mount = topMount(await host.mounts(), path);
  if (!mount || !target.isInPlace())
    throw unavailableProblem(`nothing is mounted at "${path}" although mount succeeded; try again`);
  if (!(await shows(mount)))
    throw unavailableProblem(
      `"${path}" shows ${describe(mount)} although something else was mounted there; try again`,
    );
  return mount;
}

/** Runs a command on a path in its opened directory, so that no symbolic link on the way is followed. */
async function runInDirectory(host: Host, path: string, line: CommandLine): Promise<void> {
  using directory = await host.open(dirname(path));
  await runWell(host, { ...line, opened: [directory], mute: true });
}

/** Time for repeated forced unmounts, in milliseconds: on a busy machine the blocked processes end slowly. */
const forceMs = 5_000;
const forcePauseMs = 50;

export type UnmountPolicy = {
  /** A command already hangs on the volume, so an unmount without force would hang too. */
  readonly isHung: boolean;
  /** A mount that cannot be unmounted by force may be detached lazily; its filesystem then stays alive without a mount. */
  readonly allowsLazy: boolean;
};

/**
 * Unmounts all mounts at the path and returns the remaining mounts of the machine. FAILED_PRECONDITION for a mount below the
 * path, which stays. A hanging unmount is forced, a refused one never is. A failure of `umount` names the holders of the path.
 * `seen` are the current mounts, if the caller knows them.
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
  readonly unmounting: UnmountPolicy;
  readonly observePhase?: PhaseObserver | undefined;
};

async function unmountEach(agent: Unmounter, path: string, seen?: readonly Mount[]) {
  const { host } = agent;
  let mounts = seen ?? (await host.mounts());
  for (let before = Number.POSITIVE_INFINITY; ; mounts = await host.mounts()) {
    const [below] = mountsBelow(mounts, path);
    if (below) throw preconditionProblem(`"${path}" has ${describe(below)} below it, at "${below.path}"`);
    const count = mountsAt(mounts, path).length;
    if (count === 0) return mounts;
    if (count >= before)
      throw unavailableProblem(`"${path}" is still mounted after it was unmounted; try again`);
    const wasFrozen = isLastOfDevice(mounts, path) && (await thaw(path, host));
    const unmount = () => unmountTop(agent, path, count);
    // Processes that waited for the thaw use the filesystem for a moment longer.
    const unmounted = wasFrozen ? unmount().catch(() => pause(thawedMs).then(unmount)) : unmount();
    await unmounted.catch(async (error: unknown) => {
      throw await withHolders(error, path, host);
    });
    before = count;
  }
}

/** True if the top mount at a path is the last mount of its device and shows the whole filesystem. */
function isLastOfDevice(mounts: readonly Mount[], path: string): boolean {
  const top = topMount(mounts, path);
  if (!top || !top.source.startsWith('/dev/') || top.root !== '/') return false;
  return mounts.filter(({ device }) => device === top.device).length === 1;
}

/** Timeout of a thaw, which the kernel normally does at once. */
const thawMs = 5_000;
/** Pause before an unmount is tried again after a thaw, in milliseconds. */
const thawedMs = 500;

/**
 * Thaws the filesystem at a mountpoint, such as one that a backup left frozen, and returns true if it was frozen. A frozen
 * filesystem would outlive its last mount, keep its device in use, and still be frozen at the next mount.
 */
export async function thaw(path: string, host: Host): Promise<boolean> {
  using directory = await host.open(dirname(path));
  const options = { opened: [directory], timeoutMs: thawMs };
  return (await host.run('fsfreeze', ['--unfreeze', path], options)).status === 0;
}

/** Unmounts the top mount: first normally, by force if that hangs, and lazily, if allowed, if force fails too. */
async function unmountTop({ host, unmounting }: Unmounter, path: string, count: number): Promise<void> {
  const run = (...options: readonly string[]) =>
    runInDirectory(host, path, {
      command: 'umount',
      args: [...asGiven, '--internal-only', ...options, '--', path],
    });
  let forcedMs = Infinity;
  for (let tries = unmounting.isHung ? 1 : 0; ; tries++) {
    if (tries > 0) forcedMs = Math.min(forcedMs, performance.now());
    const error = await run(...(tries > 0 ? ['--force'] : [])).then(() => undefined, asProblem);
    if (!error) return;
    const hasTimedOut = error.code === 'DEADLINE_EXCEEDED';
    if (tries === 0 && !hasTimedOut) throw error;
    // A hanging umount may have removed the mount already and now waits for the filesystem to end.
    if (mountsAt(await host.mounts(), path).length < count) return;
    // The first forced unmount frees the processes that wait on the filesystem; once they have ended, a later one succeeds.
    const isLast = tries > 0 && (hasTimedOut || performance.now() - forcedMs >= forceMs);
    if (isLast && !unmounting.allowsLazy) throw forcedProblem(error, unmounting);
    if (isLast) {
      await run('--lazy');
      return;
    }
    await pause(forcePauseMs);
  }
}

/** Adds the tries so far to the problem of an unmount. */
function forcedProblem({ code, detail }: Problem, { isHung }: UnmountPolicy): Problem {
  const tries = isHung ? 'a forced unmount failed' : 'a normal and then a forced unmount failed';
  return new Problem(code, `${detail}; ${tries}, and lazy unmounts are not allowed (--lazy-unmount)`);
}

export function describe({ type, source, device }: Mount): string {
  return `${type} of "${source}" (${device})`;
}

import { unavailableProblem } from '../../src/api/problem.ts';
import type { Mount } from '../../src/lib/linux/mountinfo.ts';
import type { Host } from '../host.ts';
import { describeFailure, runToEnd } from './commands.ts';
import { findHolders } from './holders.ts';
import { deviceNumberOf } from './mount.ts';
import { readLine, writeLine } from './sysfs.ts';

/** A block device by its name below /dev and its number. */
export type NamedDisk = { readonly name: string; readonly number: string };

/** The uses of a disk that belong to its volume: some mounts, and a device above it by its name in /sys/block. */
type OwnUses = { readonly isMount: (mount: Mount) => boolean; readonly holder?: string | undefined };

/**
 * Describes a use of a disk or of its partitions, even by a mount that the agent cannot see; undefined if there are only the
 * volume's own uses.
 */
export async function findUser(
  { name, number }: NamedDisk,
  host: Host,
  own: OwnUses = { isMount: () => false },
): Promise<string | undefined> {
  const numbers = new Set([number]);
  let isMounted = false;
  const swaps = await host.readText('/proc/swaps');
  const parts = await withPartitions(name, host);
  for (const part of parts) {
    const holder = (await host.list(`${part.path}/holders`)).find(above => above !== own.holder);
    if (holder !== undefined) return `device "/dev/${holder}"`;
    if (swaps?.includes(`\n/dev/${part.name} `)) return 'swap';
    const partNumber = await readLine(`${part.path}/dev`, host);
    if (partNumber !== undefined) numbers.add(partNumber);
  }
  for (const mount of await host.mounts())
    if (numbers.has((await deviceNumberOf(mount, host)) ?? '')) {
      if (!own.isMount(mount)) return `the mount at "${mount.path}"`;
      isMounted = true;
    }
  for (const part of isMounted ? [] : parts) {
    const filesystem = await findLiving(part.name, host);
    if (filesystem !== undefined)
      return `${filesystem}, mounted where the agent does not see it, or frozen when it was unmounted`;
  }
  return undefined;
}

/**
 * Describes a visible use of a device, also by a process; undefined if there is none. Uses that stay invisible are often
 * short-lived copies of a mount in another mount namespace.
 */
export async function findSeenUser(name: string, host: Host): Promise<string | undefined> {
  const [holder] = await host.list(`/sys/block/${name}/holders`);
  if (holder !== undefined) return `device "/dev/${holder}"`;
  const mount = (await host.mounts()).find(({ source }) => source === `/dev/${name}`);
  return mount ? `the mount at "${mount.path}"` : findHolders(`/dev/${name}`, host);
}

/** Lists a disk and its partitions. */
async function withPartitions(name: string, host: Host) {
  const path = `/sys/block/${name}`;
  const partitions = (await host.list(path)).filter(entry => entry.startsWith(name));
  return [{ name, path }, ...partitions.map(part => ({ name: part, path: `${path}/${part}` }))];
}

/** Returns the type of the filesystem on a device that the kernel has open, even without a visible mount. */
export async function findLiving(name: string, host: Host): Promise<string | undefined> {
  for (const type of ['ext4', 'xfs'])
    if ((await host.kindOf(`/sys/fs/${type}/${name}`)) !== 'nothing') return type;
  for (const uuid of await host.list('/sys/fs/btrfs'))
    if ((await host.kindOf(`/sys/fs/btrfs/${uuid}/devices/${name}`)) !== 'nothing') return 'btrfs';
  return undefined;
}

/** UNAVAILABLE if the disk is in use. */
export async function requireUnused(disk: NamedDisk, host: Host): Promise<void> {
  const user = await findUser(disk, host);
  if (user !== undefined) throw unavailableProblem(`device "/dev/${disk.name}" is in use by ${user}`);
}

/** The states of a SCSI disk that cannot be opened. */
const offline: ReadonlySet<string | undefined> = new Set(['offline', 'transport-offline']);

/** Makes the kernel fail all requests to a SCSI disk from now on, even while it is in use. */
export async function cutOffDisk(name: string, host: Host): Promise<void> {
  const path = `/sys/block/${name}/device/state`;
  // The kernel accepts a state only with a line feed.
  if (!offline.has(await readLine(path, host))) await writeLine(path, 'offline\n', host);
}

/** Undoes `cutOffDisk`; a disk that was not cut off stays unchanged. */
export async function undoCutOff(name: string, host: Host): Promise<void> {
  const path = `/sys/block/${name}/device/state`;
  if ((await readLine(path, host)) === 'offline') await writeLine(path, 'running\n', host);
}

/** Flushes an unused disk; UNAVAILABLE if it is in use. If it is missing or offline, nothing happens. */
export async function settleDisk(disk: NamedDisk, host: Host): Promise<void> {
  await requireUnused(disk, host);
  if (offline.has(await readLine(`/sys/block/${disk.name}/device/state`, host))) return;
  const names = (await withPartitions(disk.name, host)).map(({ name }) => `/dev/${name}`);
  const line = { command: 'blockdev', args: ['--flushbufs', ...names] };
  const result = await runToEnd(host, line);
  if (result.status !== 0 && (await readLine(`/sys/block/${disk.name}/dev`, host)) === disk.number)
    throw unavailableProblem(describeFailure(line, result));
}

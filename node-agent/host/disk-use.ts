import { unavailableProblem } from '../../src/api/problem.ts';
import type { Mount } from '../../src/lib/linux/mountinfo.ts';
import type { Host } from '../host.ts';
import { describeFailure, runToEnd } from './commands.ts';
import { deviceNumberOf } from './mount.ts';
import { readLine } from './sysfs.ts';

/** A disk by its name in /sys/block and its `major:minor`. */
type DiskNumber = { readonly name: string; readonly number: string };

/**
 * What uses a disk or a partition of it, in words, even where the agent does not see its mount; undefined for nothing but own
 * mounts.
 */
export async function findUser(
  { name, number }: DiskNumber,
  host: Host,
  isOwn: (mount: Mount) => boolean = () => false,
): Promise<string | undefined> {
  const numbers = new Set([number]);
  let isMounted = false;
  const swaps = await host.readText('/proc/swaps');
  const parts = await withPartitions(name, host);
  for (const part of parts) {
    const [holder] = await host.list(`${part.path}/holders`);
    if (holder !== undefined) return `device "/dev/${holder}"`;
    if (swaps?.includes(`\n/dev/${part.name} `)) return 'swap';
    const own = await readLine(`${part.path}/dev`, host);
    if (own !== undefined) numbers.add(own);
  }
  for (const mount of await host.mounts())
    if (numbers.has((await deviceNumberOf(mount, host)) ?? '')) {
      if (!isOwn(mount)) return `the mount at "${mount.path}"`;
      isMounted = true;
    }
  for (const part of isMounted ? [] : parts) {
    const filesystem = await findLiving(part.name, host);
    if (filesystem !== undefined) return `${filesystem}, mounted where the agent does not see it`;
  }
  return undefined;
}

/** A disk and its partitions. */
async function withPartitions(name: string, host: Host) {
  const path = `/sys/block/${name}`;
  const partitions = (await host.list(path)).filter(entry => entry.startsWith(name));
  return [{ name, path }, ...partitions.map(part => ({ name: part, path: `${path}/${part}` }))];
}

/** The filesystem on a device that the kernel has open, wherever it is mounted and if only by what still uses it. */
async function findLiving(name: string, host: Host): Promise<string | undefined> {
  for (const type of ['ext4', 'xfs'])
    if ((await host.kindOf(`/sys/fs/${type}/${name}`)) !== 'nothing') return type;
  for (const uuid of await host.list('/sys/fs/btrfs'))
    if ((await host.kindOf(`/sys/fs/btrfs/${uuid}/devices/${name}`)) !== 'nothing') return 'btrfs';
  return undefined;
}

/** Throws UNAVAILABLE when something uses the disk. */
export async function requireUnused(disk: DiskNumber, host: Host): Promise<void> {
  const user = await findUser(disk, host);
  if (user !== undefined) throw unavailableProblem(`device "/dev/${disk.name}" is in use by ${user}`);
}

/** States of a SCSI disk in which it cannot even be opened. */
const offline: ReadonlySet<string | undefined> = new Set(['offline', 'transport-offline']);

/** Flushes a disk that nothing uses, else UNAVAILABLE; one that is missing or offline is fine. */
export async function settleDisk(disk: DiskNumber, host: Host): Promise<void> {
  await requireUnused(disk, host);
  if (offline.has(await readLine(`/sys/block/${disk.name}/device/state`, host))) return;
  const names = (await withPartitions(disk.name, host)).map(({ name }) => `/dev/${name}`);
  const line = { command: 'blockdev', args: ['--flushbufs', ...names] };
  const result = await runToEnd(host, line);
  if (result.status !== 0 && (await readLine(`/sys/block/${disk.name}/dev`, host)) === disk.number)
    throw unavailableProblem(describeFailure(line, result));
}

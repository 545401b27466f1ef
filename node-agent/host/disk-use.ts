import { unavailableProblem } from '../../src/api/problem.ts';
import type { Host } from '../host.ts';
import { describeFailure, runToEnd } from './commands.ts';
import { readDisk, type Disk } from './disk.ts';
import { deviceNumberOf } from './mount.ts';
import { readLine } from './sysfs.ts';

type DiskNumber = Pick<Disk, 'name' | 'number'>;

/** What uses a disk or a partition of it, in words, even where the agent does not see its mount; undefined for nothing. */
export async function findUser({ name, number }: DiskNumber, host: Host): Promise<string | undefined> {
  const numbers = new Set([number]);
  const parts = await withPartitions(name, host);
  for (const { path } of parts) {
    const [holder] = await host.list(`${path}/holders`);
    if (holder !== undefined) return `device "/dev/${holder}"`;
    const own = await readLine(`${path}/dev`, host);
    if (own !== undefined) numbers.add(own);
  }
  for (const mount of await host.mounts())
    if (numbers.has((await deviceNumberOf(mount, host)) ?? '')) return `the mount at "${mount.path}"`;
  for (const part of parts) {
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
  if (result.status !== 0 && (await readDisk(disk.name, host))?.number === disk.number)
    throw unavailableProblem(describeFailure(line, result));
}

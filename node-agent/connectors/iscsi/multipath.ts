import { preconditionProblem, unavailableProblem } from '../../../src/api/problem.ts';
import { runWell } from '../../host/commands.ts';
import { settleDisk } from '../../host/disk-use.ts';
import { isDisk, readDisk, type DiskIdentity } from '../../host/disk.ts';
import { filterAsync, readLine, removeWith, waitFor } from '../../host/sysfs.ts';
import type { Host } from '../../host.ts';

const prefix = 'mpath-';

/** The multipath map above a disk, by its kernel's name such as `dm-0`; undefined when there is none. */
export async function mapAbove(name: string, host: Host): Promise<string | undefined> {
  for (const holder of await host.list(`/sys/block/${name}/holders`))
    if ((await readLine(`/sys/block/${holder}/dm/uuid`, host))?.startsWith(prefix)) return holder;
  return undefined;
}

/** True when the device at a path in sysfs is a multipath map of nothing but the disk asked for. */
export async function isMapOf(path: string, identity: DiskIdentity, host: Host): Promise<boolean> {
  const uuid = await readLine(`${path}/dm/uuid`, host);
  if (!uuid?.startsWith(prefix)) return false;
  const disks = await host.list(`${path}/slaves`);
  // A map that has lost all its paths still has the name that it was made with.
  if (disks.length === 0) return uuid === uuidOf(identity);
  const owned = await filterAsync(disks, disk => isDisk(`/sys/block/${disk}`, identity, host));
  return owned.length === disks.length;
}

/** The maps of nothing but these disks, and those of the volume that have lost all theirs; never a twin's. */
export async function findMaps(
  disks: readonly string[],
  identity: DiskIdentity,
  host: Host,
): Promise<readonly string[]> {
  const names = (await host.list('/sys/block')).filter(name => name.startsWith('dm-'));
  return filterAsync(names, async name => {
    const path = `/sys/block/${name}`;
    const below = await host.list(`${path}/slaves`);
    return below.every(disk => disks.includes(disk)) && isMapOf(path, identity, host);
  });
}

/** Has multipathd make one map of these disks, or add them to the one that is there, and returns its name. */
export async function makeMap(names: readonly string[], identity: DiskIdentity, host: Host): Promise<string> {
  for (const name of names)
    if ((await mapAbove(name, host)) === undefined) {
      // Without its name in the list of known ones, a disk that is seen for the first time is left alone.
      await runWell(host, { command: 'multipath', args: ['-a', `/dev/${name}`] });
      await runWell(host, { command: 'multipathd', args: ['add', 'path', name] });
    }
  await waitFor(async () => {
    const maps = await mapsAbove(names, host);
    return (maps.length === 1 && maps[0] !== undefined) || undefined;
  });
  // A path that multipathd has not taken in yet, it takes in later.
  const [map, ...others] = (await mapsAbove(names, host)).filter(above => above !== undefined);
  if (map === undefined) throw unavailableProblem(`multipathd has made no map of ${names.join(' and ')} yet`);
  if (others.length === 0 && (await isMapOf(`/sys/block/${map}`, identity, host))) return map;
  throw preconditionProblem(`map "/dev/${map}" is not of all disks of the volume, and of them alone`);
}

/** The different maps above the disks; undefined among them where a disk has none. */
async function mapsAbove(names: readonly string[], host: Host): Promise<readonly (string | undefined)[]> {
  return [...new Set(await Promise.all(names.map(name => mapAbove(name, host))))];
}

/** Has multipathd look at the size of a map's paths. */
export async function resizeMap(map: string, host: Host): Promise<void> {
  await runWell(host, { command: 'multipathd', args: ['resize', 'map', await nameOfMap(map, host)] });
}

/** Removes a map that nothing uses, and returns once there is none. */
export async function removeMap(map: string, host: Host): Promise<void> {
  const disk = await readDisk(map, host);
  if (!disk) return;
  await settleDisk(disk, host);
  const name = await nameOfMap(map, host);
  // I/O that waits for a path would keep the map for ever.
  await runWell(host, { command: 'multipathd', args: ['disablequeueing', 'map', name] });
  const remove = () => runWell(host, { command: 'multipath', args: ['-f', name] });
  const isThere = async () => (await readDisk(map, host))?.number === disk.number;
  await removeWith(remove, `map "/dev/${map}"`, isThere);
}

/** Has multipathd forget a disk that is about to go, whose name another may get; that it does not know it is fine. */
export async function forgetPath(name: string, host: Host): Promise<void> {
  await host.run('multipathd', ['del', 'path', name]);
}

async function nameOfMap(map: string, host: Host): Promise<string> {
  const name = await readLine(`/sys/block/${map}/dm/name`, host);
  if (name === undefined) throw unavailableProblem(`map "/dev/${map}" was there and is missing now`);
  return name;
}

/** The name that a map has by its disk's: the designator's type (SPC, VPD page 0x83) as a digit, and its value. */
function uuidOf({ wwid }: DiskIdentity): string | undefined {
  const [, type = '', value] = /^(eui|naa)\.([0-9a-f]+)$/.exec(wwid?.trim() ?? '') ?? [];
  return value && `${prefix}${type === 'eui' ? 2 : 3}${value}`;
}

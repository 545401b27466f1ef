import { preconditionProblem, unavailableProblem } from '../../../src/api/problem.ts';
import { runWell } from '../../host/commands.ts';
import { settleDisk } from '../../host/disk-use.ts';
import { isDisk, readDisk, type DiskIdentity } from '../../host/disk.ts';
import { filterAsync, readLine, removeWith, waitFor } from '../../host/sysfs.ts';
import type { Host } from '../../host.ts';

const prefix = 'mpath-';

/** Returns the kernel name, such as `dm-0`, of the multipath map above a disk; undefined if there is none. */
export async function mapAbove(name: string, host: Host): Promise<string | undefined> {
  for (const holder of await host.list(`/sys/block/${name}/holders`))
    if ((await readLine(`/sys/block/${holder}/dm/uuid`, host))?.startsWith(prefix)) return holder;
  return undefined;
}

/** True if the device at a path in sysfs is a multipath map that consists only of disks with this identity. */
export async function isMapOf(path: string, identity: DiskIdentity, host: Host): Promise<boolean> {
  const uuid = await readLine(`${path}/dm/uuid`, host);
  if (!uuid?.startsWith(prefix)) return false;
  const disks = await host.list(`${path}/slaves`);
  // A map without paths still has its original UUID.
  if (disks.length === 0) return uuid === uuidOf(identity);
  const owned = await filterAsync(disks, disk => isDisk(`/sys/block/${disk}`, identity, host));
  return owned.length === disks.length;
}

/** Finds the maps that consist only of these disks, and maps of the volume without paths; never maps with a twin's disk. */
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

/** Makes multipathd combine these disks into one map, or add them to an existing one, and returns the map's name. */
export async function createMap(
  names: readonly string[],
  identity: DiskIdentity,
  host: Host,
): Promise<string> {
  for (const name of names)
    if ((await mapAbove(name, host)) === undefined) {
      // multipathd ignores a new disk unless its identity is in the list of known ones.
      await runWell(host, { command: 'multipath', args: ['-a', `/dev/${name}`] });
      await runWell(host, { command: 'multipathd', args: ['add', 'path', name] });
    }
  await waitFor(async () => {
    const maps = await mapsAbove(names, host);
    return (maps.length === 1 && maps[0] !== undefined) || undefined;
  });
  // multipathd adds the remaining paths later.
  const [map, ...others] = (await mapsAbove(names, host)).filter(above => above !== undefined);
  if (map === undefined)
    throw unavailableProblem(`multipathd has not made a map of ${names.join(' and ')} yet; try again`);
  if (others.length === 0 && (await isMapOf(`/sys/block/${map}`, identity, host))) return map;
  throw preconditionProblem(
    `map "/dev/${map}" does not consist of exactly the volume's disks; flush it with "multipath -f"`,
  );
}

/** Lists the distinct maps above the disks; contains undefined if a disk has none. */
async function mapsAbove(names: readonly string[], host: Host): Promise<readonly (string | undefined)[]> {
  return [...new Set(await Promise.all(names.map(name => mapAbove(name, host))))];
}

/** Makes multipathd read the size of a map's paths again. */
export async function resizeMap(map: string, host: Host): Promise<void> {
  await runWell(host, { command: 'multipathd', args: ['resize', 'map', await nameOfMap(map, host)] });
}

export async function removeMap(map: string, host: Host): Promise<void> {
  const disk = await readDisk(map, host);
  if (!disk) return;
  await settleDisk(disk, host);
  // I/O that waits for a path would keep the map in use for ever.
  const name = await disableQueueing(map, host);
  const remove = () => runWell(host, { command: 'multipath', args: ['-f', name] });
  const isThere = async () => (await readDisk(map, host))?.number === disk.number;
  await removeWith(remove, { what: `map "/dev/${map}"`, isThere });
}

/** Makes requests to a map fail if it has no path left, and returns multipathd's name for the map. */
export async function disableQueueing(map: string, host: Host): Promise<string> {
  const name = await nameOfMap(map, host);
  await runWell(host, { command: 'multipathd', args: ['disablequeueing', 'map', name] });
  return name;
}

/** Makes multipathd forget a disk before its removal, since another disk may get its name. Ignores failures. */
export async function forgetPath(name: string, host: Host): Promise<void> {
  await host.run('multipathd', ['del', 'path', name]);
}

async function nameOfMap(map: string, host: Host): Promise<string> {
  const name = await readLine(`/sys/block/${map}/dm/name`, host);
  if (name === undefined) throw unavailableProblem(`map "/dev/${map}" vanished during the call; try again`);
  return name;
}

/** Returns the UUID of a map of the disk: the designator's type (SPC, VPD page 0x83) as a digit, and its value. */
function uuidOf({ wwid }: DiskIdentity): string | undefined {
  const [, type = '', value] = /^(eui|naa)\.([0-9a-f]+)$/.exec(wwid?.trim() ?? '') ?? [];
  return value && `${prefix}${type === 'eui' ? 2 : 3}${value}`;
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../src/lib/log.ts';
import { deviceConnectorFor, shareConnectorFor } from '../connectors/index.ts';
import { findUser, type Disk } from '../host/disk.ts';
import type { Host } from '../host.ts';
import type { Records, VolumeRecord } from './records.ts';

/** What the start looks at, and where it tells of it. */
export type Reconciling = { readonly host: Host; readonly records: Records; readonly log: Log };

/** A disk that does not answer must not hold up the start: what is not known by then stays as it was recorded. */
const patienceMs = 500;

/**
 * Finds the recorded volumes that did not outlive a reboot, or whatever else took them, and notes that they are down:
 * nothing is mounted at their paths, and no device is theirs; for a cloud's disk, none that is used. It is noted for
 * this process alone, since the next one finds it as well. Mountinfo and sysfs are looked at, and no volume's path.
 */
export async function reconcile({ host, records, log }: Reconciling): Promise<void> {
  const recorded = records.here();
  const mounted = new Set((await host.mounts()).map(({ path }) => path));
  const unmounted = recorded.filter(record => !pathsOf(record).some(path => mounted.has(path)));
  const down = await findDown(unmounted, host);
  for (const record of unmounted) records.keep(down.includes(record) ? asDown(record) : asFound(record));
  if (down.length > 0)
    log.info('volumes are recorded that are not here any more, as after a reboot', { count: down.length });
}

async function findDown(unmounted: readonly VolumeRecord[], host: Host): Promise<readonly VolumeRecord[]> {
  const disks = unmounted.length > 0 ? await readDisks(host) : [];
  const patience = new AbortController();
  const late = sleep(patienceMs, true, { signal: patience.signal }).catch(() => true);
  const isHere = (record: VolumeRecord): Promise<boolean> => hasDevice(record, disks, host).catch(() => true);
  const here = await Promise.all(unmounted.map(record => Promise.race([isHere(record), late])));
  patience.abort();
  return unmounted.filter((_, index) => !here[index]);
}

function pathsOf({ stagingPath, targets }: VolumeRecord): readonly string[] {
  return [stagingPath, ...targets.map(({ path }) => path)];
}

/** Its device may have another number by now. */
function asFound(known: VolumeRecord): VolumeRecord {
  const { device: _, ...record } = known;
  return record;
}

function asDown(known: VolumeRecord): VolumeRecord {
  const { device: _, ...record } = known;
  return { ...record, targets: [], isDown: true };
}

type Named = Pick<Disk, 'name' | 'number'>;

/** Every block device that has a size, partitions included. */
async function readDisks(host: Host): Promise<readonly Named[]> {
  const text = (await host.readText('/proc/partitions')) ?? '';
  return [...text.matchAll(/^ *(\d+) +(\d+) +\d+ (.+)$/gm)].map(([, major, minor, name = '']) => ({
    name,
    number: `${major}:${minor}`,
  }));
}

/** A volume is here with its device; a filesystem on a cloud's disk, when something uses that. */
async function hasDevice(record: VolumeRecord, disks: readonly Named[], host: Host): Promise<boolean> {
  const { attachment, capability } = record;
  if (shareConnectorFor(attachment)) return false;
  const { owns } = deviceConnectorFor(attachment);
  for (const disk of disks) {
    if (!(await owns(attachment, disk.number, host))) continue;
    // Only a disk that a cloud plugged in comes back by itself; what opens one, such as a resize, is seen nowhere.
    if (attachment.protocol !== 'device' || capability.accessType === 'block') return true;
    if ((await findUser(disk, host)) !== undefined) return true;
  }
  return false;
}

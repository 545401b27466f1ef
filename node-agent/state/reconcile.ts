import { withinTime } from '../../src/lib/concurrency.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Host } from '../host.ts';
import type { Agent } from '../volumes/agent.ts';
import type { NamedDisk } from '../volumes/carrier.ts';
import { carrierOf } from '../volumes/carriers/index.ts';
import { pathsOf, type VolumeRecord } from './records.ts';

/** A disk that does not answer must not hold up the start: what is not known by then stays as it was recorded. */
const patienceMs = 500;

/**
 * Notes, for this process alone, which recorded volumes are down, as after a reboot: nothing is mounted at their paths, and
 * no device is theirs; for a cloud's disk, none that is used. Mountinfo and sysfs are looked at, and no volume's path.
 */
export async function reconcile(agent: Agent, log: Log): Promise<void> {
  const { host, records } = agent;
  const mounted = new Set((await host.mounts()).map(({ path }) => path));
  const unmounted = records.here().filter(record => mounted.isDisjointFrom(new Set(pathsOf(record))));
  const disks = unmounted.length > 0 ? await readDisks(host) : [];
  const found = await Promise.all(unmounted.map(record => isHere(agent, record, disks)));
  for (const [index, known] of unmounted.entries()) {
    // The device may have another number by now.
    const { device: _, ...record } = known;
    records.keep(found[index] ? record : { ...record, targets: [], isDown: true });
  }
  const count = found.filter(isFound => !isFound).length;
  if (count > 0) log.info('volumes are recorded that are not here any more, as after a reboot', { count });
}

async function isHere(agent: Agent, record: VolumeRecord, disks: readonly NamedDisk[]): Promise<boolean> {
  const asked = carrierOf(agent, record)
    .isHere(disks)
    .catch(() => true);
  return (await withinTime(asked, patienceMs))?.value ?? true;
}

/** Every block device that has a size, partitions included. */
async function readDisks(host: Host): Promise<readonly NamedDisk[]> {
  const text = (await host.readText('/proc/partitions')) ?? '';
  return [...text.matchAll(/^ *(\d+) +(\d+) +\d+ (.+)$/gm)].map(([, major, minor, name = '']) => ({
    name,
    number: `${major}:${minor}`,
  }));
}

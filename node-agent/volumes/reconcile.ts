import { withinTime } from '../../src/lib/concurrency.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Host } from '../host.ts';
import type { Agent } from './agent.ts';
import type { NamedDisk } from '../host/disk-use.ts';
import { carrierOf } from './carriers/index.ts';
import { pathsOf, type VolumeRecord } from '../state/records.ts';

/** Maximum wait for a disk's answer, in milliseconds. After it the record stays as it was, so the start is not delayed. */
const patienceMs = 500;

/**
 * Marks recorded volumes as down, in memory only, if nothing is mounted at their paths and no device is theirs, as after a
 * reboot. A cloud disk must also be unused. Devices that are still connected need no new proof. Reads mountinfo and sysfs,
 * and touches no path of a volume.
 */
export async function reconcile(agent: Agent, log: Log): Promise<void> {
  const { host, records } = agent;
  await Promise.all(records.here().map(record => carrierOf(agent, record).recall?.()));
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
  if (count > 0) log.info('recorded volumes are no longer on this node, as after a reboot', { count });
}

async function isHere(agent: Agent, record: VolumeRecord, disks: readonly NamedDisk[]): Promise<boolean> {
  const answer = carrierOf(agent, record)
    .isHere(disks)
    .catch(() => true);
  return (await withinTime(answer, patienceMs))?.value ?? true;
}

/** Lists all block devices that have a size, including partitions. */
async function readDisks(host: Host): Promise<readonly NamedDisk[]> {
  const text = (await host.readText('/proc/partitions')) ?? '';
  return [...text.matchAll(/^ *(\d+) +(\d+) +\d+ (.+)$/gm)].map(([, major, minor, name = '']) => ({
    name,
    number: `${major}:${minor}`,
  }));
}

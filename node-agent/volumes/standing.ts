import type { Agent } from './agent.ts';
import { examineHeld, type VolumeFault } from './health.ts';
import { mountsAt, type Mount } from '../../src/lib/linux/mountinfo.ts';
import type { VolumeRecord } from '../state/records.ts';

/** A volume that is staged or published here, and what is wrong with it; nothing where nothing is known to be. */
export type Standing = {
  readonly volumeId: string;
  readonly faults: readonly VolumeFault['reason'][];
};

/**
 * How all volumes stand that this node has now, by mountinfo, by what the kernel says of their devices, and by what was
 * learnt when they were last read for somebody else. No volume is read for it, and no command is run but to ask a virtio
 * disk for its serial number, once.
 */
export async function lookAtStanding(agent: Agent): Promise<readonly Standing[]> {
  const mounts = await agent.host.mounts();
  const here = agent.records.here().filter(record => isHere(record, mounts));
  return Promise.all(
    here.map(async record => {
      const { volumeId } = record;
      const seen = await examineOne(agent, record, mounts);
      const isStuck = agent.watch.stuck(volumeId) !== undefined;
      const read = isStuck ? 'Hung' : agent.memory.lastFault(volumeId);
      return { volumeId, faults: [...new Set([...seen, ...(read ? [read] : [])])] };
    }),
  );
}

/** A device that cannot be looked at hides no other volume. */
async function examineOne(
  agent: Agent,
  record: VolumeRecord,
  mounts: readonly Mount[],
): Promise<Standing['faults']> {
  try {
    const faults = await examineHeld(agent, record, { path: record.stagingPath, mounts });
    return faults.map(({ reason }) => reason);
  } catch {
    return ['ReadFailed'];
  }
}

/** A record alone may be of a volume that is on its way, or whose mkfs was cut short. */
function isHere({ device, stagingPath, targets }: VolumeRecord, mounts: readonly Mount[]): boolean {
  const paths = [stagingPath, ...targets.map(({ path }) => path)];
  return device !== undefined || paths.some(path => mountsAt(mounts, path).length > 0);
}

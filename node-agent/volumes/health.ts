import { topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import { pathsOf, type VolumeRecord } from '../state/records.ts';
import type { Agent } from './agent.ts';
import { inaccessible, type VolumeFault } from './carrier.ts';
import { carrierOf } from './carriers/index.ts';
import { soonMs, type Readings } from '../host/readings.ts';
import { requireHere } from './request-checks.ts';

/** Which volume; the paths are `''` where the caller does not know them. */
type HealthRequest = {
  readonly volumeId: string;
  readonly publishPath: string;
  readonly stagingPath: string;
};

/** What is wrong with a volume, within a second; NOT_FOUND when it is not on this node, or not at the paths given. */
export async function examine(
  agent: Agent,
  readings: Readings,
  { volumeId, publishPath, stagingPath }: HealthRequest,
): Promise<readonly VolumeFault[]> {
  const given = [publishPath, stagingPath].filter(path => path !== '');
  const record = requireHere(agent.records, volumeId, given);
  const path = publishPath === '' ? record.stagingPath : publishPath;
  const carrier = carrierOf(agent, record);
  const faults = await carrier.examine({ path, mounts: await agent.host.mounts() });
  const isLost = faults.some(({ status }) => status === 'INACCESSIBLE');
  if (!carrier.isMounted || isLost) return faults;
  // A filesystem that was shut down still reports its size, but does not list its root. NFS answers from its cache whatever
  // it may, the inode's number always: the time of its last change it must ask for.
  const args = ['--cached=never', '--format', '%i %Z', '--', path];
  const operation = 'NodeGetVolumeHealth';
  const answer = await readings({ volumeId, operation, command: 'stat', args, answerMs: soonMs });
  return 'fault' in answer ? [...faults, inaccessible(answer.fault, answer.message)] : faults;
}

/** What is wrong with the storage behind this node (CSI spec, "NodeGetStorageHealth"): volumes whose commands cannot even be killed. */
export function examineStorage({ watch }: Agent) {
  const hung = watch.hung();
  if (hung.length === 0) return [];
  const names = hung.slice(0, 5).map(volumeId => `"${volumeId}"`);
  const more = hung.length > names.length ? ` and ${hung.length - names.length} more` : '';
  const message = `commands that cannot be killed wait on volume ${names.join(', ')}${more}`;
  return [{ status: 'STORAGE_DEGRADED' as const, reason: 'VolumesHung', message }];
}

/**
 * The reasons of the faults of all volumes here, by mountinfo, by what the kernel says of their devices, and by their last
 * reading. No volume is read for it, and no command is run but to ask a virtio disk for its serial number, once.
 */
export async function examineAll(agent: Agent) {
  const { host, records, watch, cache } = agent;
  const mounts = await host.mounts();
  const here = records.here().filter(record => isUsed(record, mounts));
  return Promise.all(
    here.map(async record => {
      const { volumeId } = record;
      const look = async () => carrierOf(agent, record).examine({ path: record.stagingPath, mounts });
      // A device that cannot be looked at hides no other volume.
      const seen = await look().catch(() => [{ reason: 'ReadFailed' as const }]);
      const read = watch.stuck(volumeId) ? 'Hung' : cache.faults.get(volumeId);
      return {
        volumeId,
        faults: [...new Set([...seen.map(({ reason }) => reason), ...(read ? [read] : [])])],
      };
    }),
  );
}

/** A record alone may be of a volume that is being staged, or whose mkfs was interrupted. */
function isUsed(record: VolumeRecord, mounts: readonly Mount[]): boolean {
  return record.device !== undefined || pathsOf(record).some(path => topMount(mounts, path));
}

import { withinTime } from '../../src/lib/concurrency.ts';
import { topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import { pathsOf, type VolumeRecord } from '../state/records.ts';
import type { Agent } from './agent.ts';
import { inaccessible, type VolumeFault } from './carrier.ts';
import { carrierOf } from './carriers/index.ts';
import { describeFrozen } from '../format/frozen.ts';
import { soonMs, type Readings } from '../host/readings.ts';
import { isMountedReadonly, requireHere } from './request-checks.ts';

/** Maximum run time of a command that waits for a server, in milliseconds. */
const serverTimeoutMs = 5_000;
/** Maximum wait for the look at a freeze, in milliseconds. */
const freezeLookMs = 2_000;

/** A volume to examine; a path is `''` if the caller does not know it. */
type HealthRequest = {
  readonly volumeId: string;
  readonly publishPath: string;
  readonly stagingPath: string;
};

/**
 * Lists the faults of a volume, within four seconds; NOT_FOUND if it is not on this node or not at the given paths. Runs only
 * one command at a time on the volume, since each could hang.
 */
export async function examine(
  agent: Agent,
  readings: Readings,
  { volumeId, publishPath, stagingPath }: HealthRequest,
): Promise<readonly VolumeFault[]> {
  const given = [publishPath, stagingPath].filter(path => path !== '');
  const record = requireHere(agent.records, volumeId, given);
  const path = publishPath === '' ? record.stagingPath : publishPath;
  const operation = 'NodeGetVolumeHealth';
  const host = agent.watch.hostFor(volumeId, operation, agent.host);
  const carrier = carrierOf({ ...agent, host }, record);
  const faults = await carrier.examine({ path, mounts: await agent.host.mounts() });
  const isLost = faults.some(({ status }) => status === 'INACCESSIBLE');
  if (!carrier.isMounted || isLost) return faults;
  // A filesystem that was shut down still reports its size, but does not list its root. An NFS client answers as much as it
  // can from its cache, and always the inode's number, but must ask the server for the time of the last change.
  const args = ['--cached=never', '--format', '%i %Z', '--', path];
  const answer = await readings({ volumeId, operation, command: 'stat', args, answerMs: soonMs });
  if ('fault' in answer) return [...faults, inaccessible(answer.fault, answer.message)];
  if (await checkRootAccess(agent, record, path)) return [...faults, rootRefusedFault(volumeId)];
  // A volume is not frozen just because the look at it failed or takes long.
  const look = carrier.isFrozen?.(true).catch(() => false);
  if (!look || !(await withinTime(look, freezeLookMs))?.value) return faults;
  return [...faults, { status: 'DEGRADED', reason: 'Frozen', message: describeFrozen(record) }];
}

/**
 * Asks whether root may read, write and enter the directory of a share, and returns true if its server refuses (as with
 * `root_squash`). Remembers the answer for the metrics. Without an answer within a second, the last one stands.
 */
export async function checkRootAccess(agent: Agent, record: VolumeRecord, path: string): Promise<boolean> {
  const { host, watch, cache } = agent;
  const { volumeId } = record;
  if (!carrierOf(agent, record).maySquashRoot || watch.stuck(volumeId)) return false;
  const needs = ['-readable', '-executable', ...(isMountedReadonly(record) ? [] : ['-writable'])];
  const lacks = needs
    .map(need => `! ${need}`)
    .join(' -o ')
    .split(' ');
  const args = [path, '-maxdepth', '0', '(', ...lacks, ')', '-print'];
  const own = watch.hostFor(volumeId, 'NodeGetVolumeHealth', host);
  const answer = (await withinTime(own.run('find', args, { timeoutMs: serverTimeoutMs }), soonMs))?.value;
  if (answer?.status !== 0) return cache.rootRefused.has(volumeId);
  if (answer.stdout === '') cache.rootRefused.delete(volumeId);
  else cache.rootRefused.add(volumeId);
  return answer.stdout !== '';
}

function rootRefusedFault(volumeId: string): VolumeFault {
  const message = `the server of volume "${volumeId}" does not let root use its directory (root_squash): only pods of a user that it admits can use it, and kubelet cannot give it to a group (fsGroup)`;
  return { status: 'DEGRADED', reason: 'RootRefused', message };
}

/** Lists the faults of this node's storage (CSI spec, "NodeGetStorageHealth"): volumes with commands that cannot be killed. */
export function examineStorage({ watch }: Agent) {
  const hung = watch.hung();
  if (hung.length === 0) return [];
  const names = hung.slice(0, 5).map(volumeId => `"${volumeId}"`);
  const more = hung.length > names.length ? ` and ${hung.length - names.length} more` : '';
  const message = `commands that cannot be killed wait on volume ${names.join(', ')}${more}`;
  return [{ status: 'STORAGE_DEGRADED' as const, reason: 'VolumesHung', message }];
}

/**
 * Lists the reasons of the faults of all volumes on this node: by mountinfo, by the kernel's view of their devices, and by
 * their last reading. Reads no volume, and runs no command except one for the serial number of each new virtio disk.
 */
export async function examineAll(agent: Agent) {
  const { host, records, watch, cache } = agent;
  const mounts = await host.mounts();
  const here = records.here().filter(record => isUsed(record, mounts));
  return Promise.all(
    here.map(async record => {
      const { volumeId } = record;
      const look = async () => carrierOf(agent, record).examine({ path: record.stagingPath, mounts });
      // One unreadable device must not hide the faults of the other volumes.
      const seen = await look().catch(() => [{ reason: 'ReadFailed' as const }]);
      const read = watch.stuck(volumeId) ? 'Hung' : cache.faults.get(volumeId);
      const frozen = cache.frozen.has(volumeId) ? 'Frozen' : undefined;
      const refused = cache.rootRefused.has(volumeId) ? 'RootRefused' : undefined;
      const reasons = [...seen.map(({ reason }) => reason), read, frozen, refused];
      return { volumeId, faults: [...new Set(reasons.filter(reason => reason !== undefined))] };
    }),
  );
}

/** True unless the volume only has a record, as while it is being staged or after an interrupted mkfs. */
function isUsed(record: VolumeRecord, mounts: readonly Mount[]): boolean {
  return record.device !== undefined || pathsOf(record).some(path => topMount(mounts, path));
}

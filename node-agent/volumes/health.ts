import { Problem } from '../../src/api/problem.ts';
import type { Agent } from './agent.ts';
import { deviceConnectorFor } from '../connectors/index.ts';
import { topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import { isTurnedReadonly, judge } from './ownership.ts';
import type { Readings } from '../host/readings.ts';
import type { VolumeRecord } from '../state/records.ts';

/** Something that is wrong with a volume (CSI spec, "VolumeHealth"). */
export type VolumeFault = {
  readonly status: 'DEGRADED' | 'INACCESSIBLE';
  readonly reason: 'DeviceGone' | 'NotMounted' | 'ForeignMount' | 'Hung' | 'ReadFailed' | 'TurnedReadOnly';
  readonly message: string;
};

/** Something that is wrong with the storage behind the node (CSI spec, "NodeGetStorageHealth"). */
export type StorageFault = {
  readonly status: 'STORAGE_DEGRADED';
  readonly reason: 'VolumesHung';
  readonly message: string;
};

/** Which volume; the paths are `''` where the caller does not know them. */
export type HealthRequest = {
  readonly volumeId: string;
  readonly publishPath: string;
  readonly stagingPath: string;
};

/**
 * What is wrong with a volume on this node, within a second; empty when nothing is known to be. A volume that is not
 * on this node, or not at the paths given, is NOT_FOUND.
 */
export async function examine(
  agent: Agent,
  readings: Readings,
  request: HealthRequest,
): Promise<readonly VolumeFault[]> {
  const record = find(agent, request);
  const { volumeId, publishPath } = request;
  const path = publishPath === '' ? record.stagingPath : publishPath;
  const faults = await examineHeld(agent, record, { path, mounts: await agent.host.mounts() });
  if (record.capability.accessType === 'block') return faults;
  if (faults.some(({ status }) => status === 'INACCESSIBLE')) return faults;
  return [...faults, ...(await examineReading(readings, volumeId, path))];
}

/** What is wrong with a volume by what the kernel holds in memory: nothing on the volume is read. */
export async function examineHeld(
  agent: Agent,
  record: VolumeRecord,
  { path, mounts }: { readonly path: string; readonly mounts: readonly Mount[] },
): Promise<readonly VolumeFault[]> {
  const { volumeId } = record;
  if (record.capability.accessType === 'block') return examineBlock(agent, record);
  const mount = topMount(mounts, path);
  if (!mount) return [inaccessible('NotMounted', `volume "${volumeId}" is not mounted at "${path}"`)];
  const fault = await examineMount(agent, record, mount);
  if (fault) return [fault];
  if (!isTurnedReadonly(record, mount)) return [];
  const message = `the ${mount.type} of volume "${volumeId}" turned read-only after an error`;
  return [{ status: 'DEGRADED', reason: 'TurnedReadOnly', message }];
}

/** What is wrong with the storage behind this node: volumes whose commands cannot even be killed. */
export function examineStorage({ watch }: Agent): readonly StorageFault[] {
  const hung = watch.hung();
  if (hung.length === 0) return [];
  const names = hung.slice(0, 5).map(volumeId => `"${volumeId}"`);
  const more = hung.length > names.length ? ` and ${hung.length - names.length} more` : '';
  const message = `commands that cannot be killed wait on volume ${names.join(', ')}${more}`;
  return [{ status: 'STORAGE_DEGRADED', reason: 'VolumesHung', message }];
}

function find({ records }: Agent, { volumeId, publishPath, stagingPath }: HealthRequest): VolumeRecord {
  const record = records.get(volumeId);
  const isKnown =
    record &&
    !record.isDown &&
    (stagingPath === '' || stagingPath === record.stagingPath) &&
    (publishPath === '' || record.targets.some(({ path }) => path === publishPath));
  if (isKnown) return record;
  throw new Problem('NOT_FOUND', `volume "${volumeId}" is not on this node as was said`);
}

async function examineBlock({ host }: Agent, record: VolumeRecord): Promise<readonly VolumeFault[]> {
  const { attachment, device, volumeId } = record;
  if (!device || (await deviceConnectorFor(attachment).owns(attachment, device.number, host))) return [];
  return [inaccessible('DeviceGone', `device "${device.path}" of volume "${volumeId}" is gone`)];
}

async function examineMount(
  { host }: Agent,
  record: VolumeRecord,
  mount: Mount,
): Promise<VolumeFault | undefined> {
  const { volumeId } = record;
  const found = await judge(mount, record, host);
  if (found === 'own') return undefined;
  return found === 'foreign'
    ? inaccessible('ForeignMount', `"${mount.path}" holds something else than volume "${volumeId}"`)
    : inaccessible('DeviceGone', `what volume "${volumeId}" was mounted from is gone`);
}

/** A filesystem that was shut down still tells its size; what lies at its root it does not. */
async function examineReading(
  readings: Readings,
  volumeId: string,
  path: string,
): Promise<readonly VolumeFault[]> {
  const operation = 'NodeGetVolumeHealth';
  // NFS answers from its cache whatever it may, the inode's number always: the time of its last change it must ask for.
  const args = ['--cached=never', '--format', '%i %Z', '--', path];
  const answer = await readings({ volumeId, operation, command: 'stat', args });
  if ('hangs' in answer)
    return [inaccessible('Hung', `volume "${volumeId}" does not answer: ${answer.hangs}`)];
  const { status, stderr } = answer.result;
  if (status === 0) return [];
  return [inaccessible('ReadFailed', `volume "${volumeId}" cannot be read: ${stderr.trim()}`)];
}

function inaccessible(reason: VolumeFault['reason'], message: string): VolumeFault {
  return { status: 'INACCESSIBLE', reason, message };
}

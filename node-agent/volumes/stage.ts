import type { Attachment } from '../../src/api/attachment.ts';
import type { FormatOptions } from '../../src/api/filesystems.ts';
import { asProblem, Problem, problemTable } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { Agent } from './agent.ts';
import { bringUp, finishMounted, isOneDevice } from './bring-up.ts';
import {
  checkCapability,
  checkFormat,
  differencesOf,
  factsOf,
  isMountedReadonly,
  isReaderOnly,
  type Facts,
} from './request-checks.ts';
import { isHeldByOther } from './connected.ts';
import { deviceConnectorFor, shareConnectorFor } from '../connectors/index.ts';
import { mountsAt, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import { describe, unmountAll } from '../host/mount.ts';
import { foreign, isTurnedReadonly, judge, partsOf, refuseForeign } from './ownership.ts';
import { lookAt, type Place } from './target-path.ts';
import { inPhase } from '../host/phases.ts';
import type { VolumeRecord } from '../state/records.ts';
import type { Secrets } from './secrets.ts';
import { hasContext, requireSelinux } from '../host/selinux.ts';
import { isAsAsked } from './share.ts';

/** A volume, how to reach it, and where and how it shall be staged. */
export type StageRequest = {
  readonly volumeId: string;
  readonly stagingPath: string;
  readonly attachment: Attachment;
  readonly capability: Capability;
  /** How its filesystem is made, where it has none; absent where nothing was asked for. */
  readonly formatOptions?: FormatOptions | undefined;
};

/** Which volume to unstage from which path. */
export type UnstageRequest = { readonly volumeId: string; readonly stagingPath: string };

/**
 * Connects a volume and mounts it at its staging path; a block volume is connected alone. Run again after any
 * failure or crash it goes on where it stood. The secrets are for this call, and apart from what is recorded of it.
 */
export async function stage(agent: Agent, request: StageRequest, secrets?: Secrets): Promise<void> {
  const { host, records, base } = agent;
  checkCapability(request.capability, request.attachment);
  checkFormat(request);
  await requireSelinux(request.capability, host);
  const mounts = await host.mounts();
  const { volumeId, stagingPath } = request;
  const field = 'staging_target_path';
  const place = await lookAt(stagingPath, { host, base, mounts, field });
  const known = records.get(volumeId);
  refuseShared(agent, request);
  const record = toRecord(request, known);
  const differences = known ? differencesOf(factsOfStage(known), factsOfStage(record)) : [];
  if (known && differences.length > 0) {
    if (isInEffect(known, record, mounts))
      throw new Problem('ALREADY_EXISTS', `volume "${volumeId}" is staged: ${differences.join('; ')}`);
    await letGo(agent, known);
  }
  if (place.kind === 'mountpoint') {
    await adopt(agent, record, { mounts, secrets });
    return;
  }
  refuseUnusable(place, `${field} "${stagingPath}"`);
  await putChanged(agent, record);
  try {
    await bringUp(agent, record, { isMissing: place.kind === 'nothing', secrets });
  } catch (error) {
    // A final error tells the caller that nothing is left here, and no unstage follows.
    const isNew = !known || known.isDown;
    if (isNew && problemTable[asProblem(error).code].final) await dropUnused(agent, record);
    throw error;
  }
}

/** Undoes `stage`, however far it came: on return nothing is mounted at the path and no device is left. */
export async function unstage(agent: Agent, { volumeId, stagingPath }: UnstageRequest): Promise<void> {
  const { host, records, base } = agent;
  const mounts = await host.mounts();
  await lookAt(stagingPath, { host, base, mounts, field: 'staging_target_path' });
  const mount = topMount(mounts, stagingPath);
  const record = records.get(volumeId);
  if (!record) {
    if (mount) throw foreign(mount, volumeId);
    // A write that failed may have left a file all the same.
    await records.remove(volumeId);
    return;
  }
  if (record.stagingPath !== stagingPath && !record.isDown)
    throw new Problem(
      'FAILED_PRECONDITION',
      `volume "${volumeId}" is staged at "${record.stagingPath}" and not at "${stagingPath}"`,
    );
  if (mount) await refuseForeign(mount, record, host);
  if (mount && isTurnedReadonly(record, mount)) agent.memory.forget(volumeId);
  await refuseUsed(agent, record, mounts);
  await takeDown(agent, { ...record, stagingPath });
}

function refuseShared({ records }: Agent, { volumeId, attachment }: StageRequest): void {
  const holder = shareConnectorFor(attachment) ? undefined : records.holderOfDevice(attachment, volumeId);
  if (holder !== undefined) throw isOneDevice(volumeId, holder);
}

/**
 * Takes down what a failed call began. What is in use all the same, as after the records were lost, stays, and so does
 * what was found to be another volume's, so that nothing of it is recorded.
 */
async function dropUnused(agent: Agent, record: VolumeRecord): Promise<void> {
  const isRecorded = agent.records.get(record.volumeId) !== undefined;
  if (isRecorded && !(await isMounted(agent, record))) await takeDown(agent, record).catch(() => {});
}

async function isMounted({ host }: Agent, record: VolumeRecord): Promise<boolean> {
  for (const mount of await host.mounts()) if ((await judge(mount, record, host)) === 'own') return true;
  return false;
}

function toRecord({ attachment, ...request }: StageRequest, known: VolumeRecord | undefined): VolumeRecord {
  const { attachmentId } = attachment;
  const readonly = attachment.readonly || isReaderOnly(request.capability);
  const isSameAttachment = known?.attachment.attachmentId === attachmentId;
  return {
    ...request,
    attachment: { ...attachment, readonly },
    targets: isSameAttachment ? known.targets : [],
    ...(isSameAttachment && { formatting: known.formatting }),
  };
}

function factsOfStage({ attachment, stagingPath, capability }: VolumeRecord): Facts {
  return {
    attachment: attachment.attachmentId,
    readonly: String(attachment.readonly),
    'staging path': stagingPath,
    ...factsOf(capability),
  };
}

/** True when what the record says is still done, and not a leftover from before a reboot or another attachment. */
function isInEffect(known: VolumeRecord, asked: VolumeRecord, mounts: readonly Mount[]): boolean {
  if (known.isDown) return false;
  const paths = [known.stagingPath, ...known.targets.map(({ path }) => path)];
  if (paths.some(path => mountsAt(mounts, path).length > 0)) return true;
  return (
    known.capability.accessType === 'block' && known.attachment.attachmentId === asked.attachment.attachmentId
  );
}

type Adopting = { readonly mounts: readonly Mount[]; readonly secrets: Secrets | undefined };

/** Takes what is mounted at the staging path for staged, when it is the volume and as it was asked for. */
async function adopt(agent: Agent, record: VolumeRecord, { mounts, secrets }: Adopting): Promise<void> {
  const { host, records } = agent;
  const mount = topMount(mounts, record.stagingPath);
  if (!mount) throw new Problem('UNAVAILABLE', `"${record.stagingPath}" is no longer mounted`);
  const isOwn = (await judge(mount, record, host)) === 'own';
  if (!isOwn || record.capability.accessType === 'block') throw foreign(mount, record.volumeId);
  const isSame =
    mount.options.includes('ro') === isMountedReadonly(record) && hasContext(mount, record.capability);
  if (!records.get(record.volumeId) && !isSame)
    throw new Problem(
      'FAILED_PRECONDITION',
      `"${mount.path}" holds ${describe(mount)} with other options than asked`,
    );
  // From here on there may be data, so that no mark may allow an mkfs.
  const { formatting: _, ...unmarked } = record;
  const isShared = shareConnectorFor(record.attachment) !== undefined;
  if (isShared && records.get(record.volumeId) && !isAsAsked(mount, record)) {
    await refuseUsed(agent, record, mounts);
    await unmountAll(agent, record.stagingPath);
    await bringUp(agent, record, { isMissing: false, secrets });
    return;
  }
  await putChanged(agent, unmarked);
  if (isShared) return;
  // The device is recorded at the end of a stage: without it, whatever comes after the mount was not done.
  if (records.get(record.volumeId)?.device === undefined)
    await finishMounted(agent, unmarked, { type: mount.type, secrets });
}

function refuseUnusable({ kind, missingParent }: Place, what: string): void {
  if (missingParent !== undefined)
    throw new Problem('FAILED_PRECONDITION', `${what}: "${missingParent}" is not there`);
  if (kind !== 'nothing' && kind !== 'directory')
    throw new Problem('FAILED_PRECONDITION', `${what} is no directory`);
}

/** Writes the record unless the very same is on disk, as it is when a call is repeated. */
async function putChanged({ records }: Agent, record: VolumeRecord): Promise<void> {
  const known = records.get(record.volumeId);
  const { device: _, ...rest } = known ?? {};
  if (JSON.stringify(rest) !== JSON.stringify(record)) await records.put(record);
}

async function refuseUsed(agent: Agent, record: VolumeRecord, mounts: readonly Mount[]): Promise<void> {
  const { volumeId, stagingPath, targets } = record;
  const parts = partsOf(agent, record, mounts);
  for (const mount of mounts) {
    // A target that is recorded may hold another volume by now.
    const isTarget = mount.path !== stagingPath && targets.some(({ path }) => path === mount.path);
    if (parts.includes(mount) || (isTarget && (await judge(mount, record, agent.host)) !== 'foreign'))
      throw new Problem('FAILED_PRECONDITION', `volume "${volumeId}" is still published at "${mount.path}"`);
  }
}

async function takeDown(agent: Agent, record: VolumeRecord): Promise<void> {
  const { attachment, stagingPath } = record;
  const connector = shareConnectorFor(attachment) ? undefined : deviceConnectorFor(attachment);
  await unmountAll(agent, stagingPath, connector?.unmountOptions);
  await letGo(agent, record);
}

/** Disconnects a volume that is mounted nowhere, and forgets it; what another one has by now is that one's. */
async function letGo(agent: Agent, record: VolumeRecord): Promise<void> {
  const { host, records } = agent;
  const { attachment, volumeId } = record;
  const isTaken = record.isDown && (await isHeldByOther(agent, record));
  const connector = isTaken || shareConnectorFor(attachment) ? undefined : deviceConnectorFor(attachment);
  const others = () => records.othersThan(volumeId);
  records.setLeaving(volumeId, true);
  try {
    if (connector) await inPhase(agent, 'disconnect', () => connector.disconnect(attachment, host, others));
    agent.memory.forgetReadings(volumeId);
    // The mark outlives the staging: without it what an interrupted mkfs left could never be made again.
    if (record.formatting) await records.put({ ...record, isDown: true });
    else await records.remove(volumeId);
  } finally {
    records.setLeaving(volumeId, false);
  }
}

import {
  asProblem,
  preconditionProblem,
  Problem,
  problemTable,
  unavailableProblem,
} from '../../src/api/problem.ts';
import { topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import type { Secrets } from '../connector.ts';
import { requirePassphraseOfUse } from '../format/passphrases.ts';
import { describe, unmountAll } from '../host/mount.ts';
import { requireSelinux } from '../host/selinux.ts';
import { pathsOf, type VolumeRecord } from '../state/records.ts';
import type { Agent } from './agent.ts';
import { volumeOf, type Volume } from './carriers/index.ts';
import { findUses, foreignProblem, isAsAsked, isTurnedReadonly, requireNotForeign } from './mounts.ts';
import { isHeldByOther, requireOwnDevice, requireOwnReach, requireUnusedElsewhere } from './one-device.ts';
import { differencesOf, factsOf, isReaderOnly, type Facts } from './request-checks.ts';
import { inDirectory, inspectPath, requireUsable } from './target-path.ts';
import { requireTrusted } from './trust.ts';

/** A volume, how to reach it, and where and how it shall be staged. */
export type StageRequest = Pick<
  VolumeRecord,
  'volumeId' | 'stagingPath' | 'attachment' | 'capability' | 'formatOptions'
>;

/** What of a call is in no record: its secrets, whether the directory to mount at is missing, and the volume was not here. */
type Call = { readonly secrets: Secrets; readonly isMissing: boolean; readonly isFirst: boolean };

/**
 * Connects a volume and mounts it at its staging path; a block volume is connected alone. Run again after any failure or
 * crash it goes on where it stood. The secrets are for this call, and apart from what is recorded of it.
 */
export async function stage(agent: Agent, request: StageRequest, secrets: Secrets = {}): Promise<void> {
  const { host, records } = agent;
  requireTrusted(agent.trust, request.attachment);
  requirePassphraseOfUse(request.attachment, secrets);
  const known = records.get(request.volumeId);
  const record = toRecord(request, known);
  const volume = volumeOf(agent, record);
  volume.carrier.requireUsable();
  await requireSelinux(record.capability, host);
  const mounts = await host.mounts();
  const given = { field: 'staging_target_path', path: record.stagingPath };
  const state = await inspectPath(agent, given, mounts);
  requireOwnReach(volume);
  if (known) await replaceEarlier(volume, known, mounts);
  if (state.kind === 'mountpoint') await adopt(volume, mounts, secrets);
  else {
    requireUsable(state, 'directory');
    volume.carrier.lookAhead?.();
    await putChanged(agent, record);
    const isFirst = !known || known.isDown === true;
    const call = { secrets, isMissing: state.kind === 'nothing', isFirst };
    await bringUp(volume, call).catch(error => giveUp(volume, call, error));
  }
}

/** Undoes `stage`, however far it came: on return nothing is mounted at the path and no device is left. */
export async function unstage(
  agent: Agent,
  { volumeId, stagingPath }: Pick<StageRequest, 'volumeId' | 'stagingPath'>,
): Promise<void> {
  const { host, records } = agent;
  const mounts = await host.mounts();
  await inspectPath(agent, { field: 'staging_target_path', path: stagingPath }, mounts);
  const mount = topMount(mounts, stagingPath);
  const known = records.get(volumeId);
  if (!known) {
    if (mount) throw foreignProblem(mount, volumeId);
    // A write that failed may have left a file all the same.
    await records.remove(volumeId);
    return;
  }
  if (known.stagingPath !== stagingPath && !known.isDown)
    throw preconditionProblem(
      `volume "${volumeId}" is staged at "${known.stagingPath}" and not at "${stagingPath}"`,
    );
  const volume = volumeOf(agent, { ...known, stagingPath });
  if (mount) await requireNotForeign(volume.carrier, mount, volumeId);
  if (mount && isTurnedReadonly(known, mount)) agent.cache.full.delete(volumeId);
  await requireUnused({ ...volume, record: known }, mounts);
  await takeDown(volume, mounts);
}

/** What staging does with a recorded volume, in order; `takeDown` undoes it from the last to the first. */
async function bringUp(volume: Volume, { secrets, isMissing, isFirst }: Call): Promise<void> {
  const { agent, record, carrier } = volume;
  const { device: connected, prepare } = await carrier.connect(secrets);
  if (connected) await requireOwnDevice(volume, connected);
  if (connected && isFirst) await requireUnusedElsewhere(volume, connected);
  const { device, mount } = await prepare();
  if (mount && isMissing) await inDirectory(agent.host, record.stagingPath, agent.host.makeDirectory);
  await mount?.();
  await recordStaged(agent, { ...record, device });
}

async function takeDown(volume: Volume, mounts: readonly Mount[]): Promise<void> {
  const { agent, record, carrier } = volume;
  const { stagingPath, isDown } = record;
  const mayRelease = topMount(mounts, stagingPath) && !isDown && !agent.unmounting.isHung;
  // Side by side: two commands take little longer than one. What is not released is disconnected then.
  const [unmounted] = await Promise.allSettled([
    unmountAll(agent, stagingPath, mounts),
    mayRelease && carrier.releaseAfterUse?.(),
  ]);
  if (unmounted.status === 'rejected') throw unmounted.reason;
  await disconnect(volume);
}

/** Disconnects a volume that is mounted nowhere, and forgets it. */
async function disconnect(volume: Volume): Promise<void> {
  const { agent, record, carrier } = volume;
  const { records, cache } = agent;
  const { volumeId, formatting, isDown } = record;
  records.keep({ ...record, isLeaving: true });
  try {
    if (!isDown || !(await isHeldByOther(volume))) await carrier.disconnect();
    for (const learnt of [cache.usages, cache.faults]) learnt.delete(volumeId);
    // The mark outlives the staging: without it what an interrupted mkfs left could never be made again.
    if (formatting) await records.put({ ...record, isDown: true });
    else await records.remove(volumeId);
  } catch (error) {
    records.keep(record);
    throw error;
  }
}

/** After a final error the caller expects that nothing is left here, and no unstage follows: what a first call began is undone. */
async function giveUp(volume: Volume, { isFirst }: Call, error: unknown): Promise<never> {
  const { agent, record, carrier } = volume;
  const isRecorded = agent.records.get(record.volumeId) !== undefined;
  // What is in use all the same, as after the records were lost, stays.
  if (!isFirst || !problemTable[asProblem(error).code].final || !isRecorded) throw error;
  if (!(await isInUse(volume))) await takeDown(volume, await agent.host.mounts()).catch(() => {});
  // A disk that the machine connected, and that others use, was never the volume's here.
  if (carrier.isSelfConnecting && !topMount(await agent.host.mounts(), record.stagingPath))
    await agent.records.remove(record.volumeId);
  throw error;
}

async function isInUse({ agent, carrier }: Volume): Promise<boolean> {
  for (const mount of await agent.host.mounts()) if ((await carrier.judge(mount)) === 'own') return true;
  return false;
}

/** Disconnects what the volume was before, unless that is in effect: then what is asked for must be the same. */
async function replaceEarlier(
  { agent, record }: Volume,
  known: VolumeRecord,
  mounts: readonly Mount[],
): Promise<void> {
  const differences = differencesOf(factsOfStage(known), factsOfStage(record));
  if (differences.length === 0) return;
  const earlier = volumeOf(agent, known);
  const isMounted = pathsOf(known).some(path => topMount(mounts, path));
  const isSameAttachment = known.attachment.attachmentId === record.attachment.attachmentId;
  // Else it is a leftover from before a reboot, or of another attachment.
  if (!known.isDown && (isMounted || (!earlier.carrier.isMounted && isSameAttachment)))
    throw new Problem('ALREADY_EXISTS', `volume "${record.volumeId}" is staged: ${differences.join('; ')}`);
  await disconnect(earlier);
}

/** Takes what is mounted at the staging path for staged, when it is the volume and as it was asked for. */
async function adopt(volume: Volume, mounts: readonly Mount[], secrets: Secrets): Promise<void> {
  const { agent, record, carrier } = volume;
  const { volumeId, stagingPath } = record;
  const mount = topMount(mounts, stagingPath);
  if (!mount) throw unavailableProblem(`"${stagingPath}" is no longer mounted`);
  // A block volume is bound at its target paths alone: whoever mounted it here, the agent did not.
  if (!carrier.isMounted || (await carrier.judge(mount)) !== 'own') throw foreignProblem(mount, volumeId);
  const known = agent.records.get(volumeId);
  // From here on there may be data, so that no mark may allow an mkfs.
  const { formatting: _, ...unmarked } = record;
  if (isAsAsked(mount, record)) {
    await putChanged(agent, unmarked);
    // The device is recorded at the end of a stage: without it, whatever comes after the mount was not done.
    const device = known?.device === undefined ? await carrier.finish?.(mount, secrets) : undefined;
    if (device) agent.records.keep({ ...unmarked, device });
    return;
  }
  if (!known)
    throw preconditionProblem(`"${mount.path}" holds ${describe(mount)} with other options than asked`);
  await requireUnused(volume, mounts);
  await putChanged(agent, unmarked);
  await unmountAll(agent, stagingPath);
  await bringUp(volumeOf(agent, unmarked), { secrets, isMissing: false, isFirst: false });
}

/** FAILED_PRECONDITION while the volume is mounted at a target path, or shown anywhere below kubelet's directory. */
async function requireUnused({ agent, record, carrier }: Volume, mounts: readonly Mount[]): Promise<void> {
  const { volumeId, stagingPath, targets } = record;
  const uses = findUses(agent, record, mounts);
  for (const mount of mounts) {
    // A target that is recorded may hold another volume by now.
    const isTarget = mount.path !== stagingPath && targets.some(({ path }) => path === mount.path);
    if (uses.includes(mount) || (isTarget && (await carrier.judge(mount)) !== 'foreign'))
      throw preconditionProblem(`volume "${volumeId}" is still published at "${mount.path}"`);
  }
}

function toRecord(request: StageRequest, known: VolumeRecord | undefined): VolumeRecord {
  const { volumeId, stagingPath, capability, formatOptions, attachment } = request;
  const isSameAttachment = known?.attachment.attachmentId === attachment.attachmentId;
  return {
    volumeId,
    stagingPath,
    capability,
    formatOptions,
    attachment: { ...attachment, readonly: attachment.readonly || isReaderOnly(request.capability) },
    targets: isSameAttachment ? known.targets : [],
    ...(isSameAttachment && { formatting: known.formatting }),
  };
}

function factsOfStage({ attachment, stagingPath, capability }: VolumeRecord): Facts {
  return {
    attachment: attachment.attachmentId,
    encryption: attachment.encryption ?? 'none',
    readonly: String(attachment.readonly),
    'staging path': stagingPath,
    ...factsOf(capability),
  };
}

/** Writes the record unless the very same is on disk, as it is when a call is repeated. */
async function putChanged({ records }: Agent, record: VolumeRecord): Promise<void> {
  const { device: _, connection: __, ...known } = records.get(record.volumeId) ?? {};
  if (JSON.stringify(known) !== JSON.stringify(record)) await records.put(record);
}

/** What an mkfs left may not be made again once a workload can have written to the device. */
async function recordStaged({ records }: Agent, record: VolumeRecord): Promise<void> {
  const { formatting: _, ...unmarked } = record;
  if (records.get(record.volumeId)?.formatting) await records.put(unmarked);
  records.keep(unmarked);
}

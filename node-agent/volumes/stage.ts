import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import type { Secrets } from '../connector.ts';
import { requirePassphraseOfUse } from '../format/passphrases.ts';
import { describe, unmountAll } from '../host/mount.ts';
import { requireSelinux } from '../host/selinux.ts';
import { leaveCopy, readCopy, removeCopy } from './staging/copies.ts';
import { isStaged, withoutMarks, type VolumeRecord } from '../state/records.ts';
import { unrecordedProblem } from './abandoned.ts';
import type { Agent } from './agent.ts';
import { volumeOf, type Volume } from './carriers/index.ts';
import { findUses, foreignProblem, isAsRequested, isTurnedReadonly, requireNotForeign } from './mounts.ts';
import { isReaderOnly } from './request-checks.ts';
import { recordUnknown, replaceEarlier } from './staging/earlier-staging.ts';
import { requireOwnDevice, requireOwnReach, requireUnusedElsewhere } from './staging/one-device.ts';
import { putChanged, recordStaged } from './staging/staged-record.ts';
import { giveUp, requireUnused, takeDown } from './staging/take-down.ts';
import { inDirectory, inspectPath, requireUsable } from './target-path.ts';
import { requireTrusted } from './trust.ts';

export type StageRequest = Pick<
  VolumeRecord,
  'volumeId' | 'stagingPath' | 'attachment' | 'capability' | 'formatOptions'
>;

/** The parts of a call that are never recorded; `isMissing`: the staging directory does not exist yet. */
type StageCall = { readonly secrets: Secrets; readonly isMissing: boolean };

/**
 * Connects a volume and mounts it at its staging path; a block volume is only connected. Safe to run again after any failure
 * or crash: it continues where it stopped. The secrets are for this call only and are never recorded.
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
  const given = { field: 'staging_target_path', path: record.stagingPath };
  let mounts = await host.mounts();
  let state = await inspectPath(agent, given, mounts);
  requireOwnReach(volume);
  const earlier = known ?? (await recordUnknown(volume, mounts));
  const isReplaced = earlier !== undefined && (await replaceEarlier(volume, earlier, mounts));
  if (isReplaced) {
    mounts = await host.mounts();
    state = await inspectPath(agent, given, mounts);
  }
  if (state.kind === 'mountpoint') await adopt(volume, mounts, secrets);
  else {
    requireUsable(state, 'directory');
    const staging = isReplaced ? volumeOf(agent, { ...record, isUnfinished: true }) : volume;
    staging.carrier.lookAhead?.();
    await putChanged(agent, staging.record);
    if (!staging.carrier.isMounted) await leaveCopy(host, staging.record);
    const call = { secrets, isMissing: state.kind === 'nothing' };
    await bringUp(staging, call).catch(error => giveUp(staging, error));
  }
}

/** Undoes `stage`, complete or not: on return nothing is mounted at the path and no device is left. */
export async function unstage(
  agent: Agent,
  { volumeId, stagingPath }: Pick<StageRequest, 'volumeId' | 'stagingPath'>,
): Promise<void> {
  const { host, records } = agent;
  const mounts = await host.mounts();
  const state = await inspectPath(agent, { field: 'staging_target_path', path: stagingPath }, mounts);
  const mount = topMount(mounts, stagingPath);
  // A block volume has a copy of its record at its staging path, in case the record is lost.
  const copy = state.kind === 'directory' ? await readCopy(host, { volumeId, stagingPath }) : undefined;
  const known = records.get(volumeId) ?? copy;
  if (!known) {
    if (mount) throw await unrecordedProblem(agent, mount, volumeId);
    // A failed write may have left a record file, and the copy may be damaged.
    if (state.kind === 'directory') await removeCopy(host, { volumeId, stagingPath });
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

/** Stages a recorded volume step by step; `takeDown` undoes the steps in reverse. */
async function bringUp(volume: Volume, { secrets, isMissing }: StageCall): Promise<void> {
  const { agent, record, carrier } = volume;
  const { device: connected, prepare } = await carrier.connect(secrets);
  if (connected) await requireOwnDevice(volume, connected);
  if (connected && record.isUnfinished) await requireUnusedElsewhere(volume, connected);
  const { device, mount } = await prepare();
  if (mount && isMissing) await inDirectory(agent.host, record.stagingPath, agent.host.createDirectory);
  await mount?.();
  await recordStaged(agent, { ...record, device });
  agent.cache.unused.add(record.volumeId);
}

/**
 * Accepts the mount at the staging path as staged if it shows the volume as requested. A recorded volume that is mounted
 * otherwise is mounted again; one without a record is refused (FAILED_PRECONDITION).
 */
async function adopt(volume: Volume, mounts: readonly Mount[], secrets: Secrets): Promise<void> {
  const { agent, record, carrier } = volume;
  const { volumeId, stagingPath } = record;
  const mount = topMount(mounts, stagingPath);
  if (!mount) throw unavailableProblem(`"${stagingPath}" was unmounted during the call; try again`);
  // The agent binds a block volume at its target paths only, so another program mounted it here.
  if (!carrier.isMounted || (await carrier.judge(mount)) !== 'own') throw foreignProblem(mount, volumeId);
  const known = agent.records.get(volumeId);
  const unmarked = withoutMarks(record);
  if (isAsRequested(mount, record)) {
    // No pod uses the volume, so no running backup can have frozen it.
    if (findUses(agent, record, mounts).length === 0) await carrier.thaw?.();
    await putChanged(agent, unmarked);
    // The device is recorded as the last step of a stage: if it is missing, the steps after the mount are too.
    const device = known?.device === undefined ? await carrier.finish?.(mount, secrets) : undefined;
    if (device) agent.records.keep({ ...unmarked, device });
    return;
  }
  if (!known)
    throw preconditionProblem(
      `"${mount.path}" holds ${describe(mount)} with other options than the request has; unmount it by hand`,
    );
  await requireUnused(volume, mounts);
  await putChanged(agent, unmarked);
  await unmountAll(agent, stagingPath);
  await bringUp(volumeOf(agent, unmarked), { secrets, isMissing: false });
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
    ...((!known || !isStaged(known)) && { isUnfinished: true }),
  };
}

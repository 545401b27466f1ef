import { createHash } from 'node:crypto';
import { asProblem, Problem, problemTable } from '../../src/api/problem.ts';
import type { Agent } from './agent.ts';
import { checkCapability, checkFormat, differencesOf, factsOf } from './request-checks.ts';
import { deviceConnectorFor } from '../connectors/index.ts';
import { giveToGroup } from './mount-group.ts';
import { topMount } from '../../src/lib/linux/mountinfo.ts';
import { unmountAll } from '../host/mount.ts';
import { kindOfImage, removeImage, reserveImage } from './ephemeral-image.ts';
import { refuseUnusable, type EphemeralRequest } from './ephemeral-request.ts';
import { judge, refuseForeign } from './ownership.ts';
import { removeLeftover } from './leftover.ts';
import { lookAt } from './target-path.ts';
import { inPhase } from '../host/phases.ts';
import type { VolumeRecord } from '../state/records.ts';
import { stage } from './stage.ts';

/** Where the images of inline ephemeral volumes lie, and how many bytes they may have together; undefined: no bound. */
export type EphemeralPool = { readonly directory: string; readonly capacityBytes: number | undefined };

/**
 * Makes an image file with all of its room, and mounts a new filesystem on it at the target path. It is recorded before
 * the file is made, so that `unpublishEphemeral` finds all of it after a crash at any point; run again it goes on. After an
 * error that is final nothing is left of a volume that was never used.
 */
export async function publishEphemeral(agent: Agent, request: EphemeralRequest): Promise<void> {
  const { host, records } = agent;
  const { volumeId, targetPath } = request;
  refuseUnusable(request);
  const known = records.get(volumeId);
  const record = known ? requireSame(known, request) : await recordNew(agent, request);
  try {
    // Nothing is done to the image of a volume that is in use.
    if (!(await isMounted(agent, record))) {
      // The call that made the record may have failed to write it.
      if (known) await records.put(record);
      await reserveImage(host, record);
    }
    const { stagingPath, attachment, formatOptions } = record;
    await stage(agent, {
      volumeId,
      stagingPath,
      attachment,
      capability: request.capability,
      ...(formatOptions && { formatOptions }),
      ephemeral: true,
    });
    const { group } = request;
    if (group !== undefined) await giveToGroup(agent, record, { ...request, group });
    await recordUse(agent, request);
  } catch (error) {
    const isFinal = problemTable[asProblem(error).code].final;
    const isUsed = topMount(await host.mounts(), targetPath) !== undefined;
    if (isFinal && !isUsed && record.attachment.mayFormat) await takeDown(agent, record).catch(() => {});
    throw error;
  }
}

/** From here on the pod's data may be on it: it is not formatted again, and no failed publish removes it. */
async function recordUse({ records }: Agent, { volumeId, group }: EphemeralRequest): Promise<void> {
  const record = records.get(volumeId);
  if (!record || (!record.attachment.mayFormat && record.targets[0]?.group === group)) return;
  const targets = [{ path: record.stagingPath, readonly: false, ...(group !== undefined && { group }) }];
  await records.put({ ...record, attachment: { ...record.attachment, mayFormat: false }, targets });
}

/** Undoes `publishEphemeral`, however far it came: no mount, device, image or record is left. */
export async function unpublishEphemeral(
  agent: Agent,
  record: VolumeRecord,
  targetPath: string,
): Promise<void> {
  const { host, base } = agent;
  if (record.stagingPath !== targetPath)
    throw new Problem(
      'FAILED_PRECONDITION',
      `ephemeral volume "${record.volumeId}" is published at "${record.stagingPath}" and not at "${targetPath}"`,
    );
  const mounts = await host.mounts();
  await lookAt(targetPath, { host, base, mounts, field: 'target_path' });
  const mount = topMount(mounts, targetPath);
  if (mount) await refuseForeign(mount, record, host);
  await takeDown(agent, record);
}

function requireSame(
  known: VolumeRecord,
  { volumeId, targetPath, sizeBytes, capability, group }: EphemeralRequest,
): VolumeRecord {
  if (!known.ephemeral)
    throw new Problem('FAILED_PRECONDITION', `volume "${volumeId}" is staged, and no ephemeral volume`);
  if (known.stagingPath !== targetPath)
    throw new Problem(
      'FAILED_PRECONDITION',
      `ephemeral volume "${volumeId}" is published at "${known.stagingPath}"`,
    );
  if (known.attachment.sizeBytes !== sizeBytes)
    throw new Problem(
      'ALREADY_EXISTS',
      `ephemeral volume "${volumeId}" has ${known.attachment.sizeBytes} bytes, and other than the ${sizeBytes} asked for`,
    );
  const given = known.targets[0]?.group ?? group;
  const differences = [
    ...differencesOf(factsOf(known.capability), factsOf(capability)),
    ...(group === undefined || given === group ? [] : [`volume_mount_group is ${given} and not ${group}`]),
  ];
  if (differences.length > 0)
    throw new Problem('ALREADY_EXISTS', `ephemeral volume "${volumeId}" is there: ${differences.join('; ')}`);
  return known;
}

/** Records the volume while no other can take the same room; a file that is there already is nobody's to take. */
async function recordNew(agent: Agent, request: EphemeralRequest): Promise<VolumeRecord> {
  const { host, records, ephemeral: pool } = agent;
  const { volumeId, targetPath, capability, formatOptions, sizeBytes } = request;
  if (!pool)
    throw new Problem(
      'FAILED_PRECONDITION',
      'ephemeral volumes are not set up on this node (setting ephemeral-dir)',
    );
  const path = `${pool.directory}/${nameOf(volumeId)}.img`;
  if ((await kindOfImage(path, host)) !== 'nothing')
    throw new Problem('FAILED_PRECONDITION', `"${path}" is there, but not recorded for volume "${volumeId}"`);
  const record: VolumeRecord = {
    volumeId,
    stagingPath: targetPath,
    attachment: {
      protocol: 'loop',
      path,
      attachmentId: 'ephemeral',
      sizeBytes,
      readonly: false,
      mayFormat: true,
    },
    capability,
    ...(formatOptions && { formatOptions }),
    ephemeral: true,
    targets: [],
  };
  checkCapability(capability, record.attachment);
  checkFormat(record);
  requireRoom(agent, pool, sizeBytes);
  records.keep(record);
  try {
    await records.put(record);
  } catch (error) {
    await records.remove(volumeId);
    throw error;
  }
  return record;
}

function requireRoom({ records }: Agent, { capacityBytes }: EphemeralPool, sizeBytes: number): void {
  if (capacityBytes === undefined) return;
  const others = records.all().filter(({ ephemeral }) => ephemeral);
  const takenBytes = others.reduce((sum, { attachment }) => sum + attachment.sizeBytes, 0);
  if (takenBytes + sizeBytes > capacityBytes)
    throw new Problem(
      'RESOURCE_EXHAUSTED',
      `${sizeBytes} bytes do not fit: ephemeral volumes have ${takenBytes} of the ${capacityBytes} that they may have on this node`,
    );
}

async function takeDown(agent: Agent, record: VolumeRecord): Promise<void> {
  const { host, records, base } = agent;
  const { attachment, stagingPath, volumeId } = record;
  const connector = deviceConnectorFor(attachment);
  await unmountAll(agent, stagingPath, connector.unmountOptions);
  await inPhase(agent, 'disconnect', () => connector.disconnect(attachment, host));
  const look = { host, base, mounts: await host.mounts(), field: 'target_path' };
  await removeLeftover(host, stagingPath, await lookAt(stagingPath, look));
  await removeImage(host, record);
  agent.memory.forget(volumeId);
  agent.memory.forgetReadings(volumeId);
  await records.remove(volumeId);
}

async function isMounted({ host }: Agent, record: VolumeRecord): Promise<boolean> {
  const mount = topMount(await host.mounts(), record.stagingPath);
  return mount !== undefined && (await judge(mount, record, host)) === 'own';
}

function nameOf(volumeId: string): string {
  return createHash('sha256').update(volumeId).digest('hex').slice(0, 32);
}

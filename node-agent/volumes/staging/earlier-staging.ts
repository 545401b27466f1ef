import { preconditionProblem, Problem } from '../../../src/api/problem.ts';
import { topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import { isOlder } from '../../state/attachment-age.ts';
import { pathsOf, withoutMarks, type VolumeRecord } from '../../state/records.ts';
import { volumeOf, type Volume } from '../carriers/index.ts';
import { findUses, requireNotForeign } from '../mounts.ts';
import { differencesOf, factsOf, type Facts } from '../request-checks.ts';
import { disconnect, requireUnused, takeDown } from './take-down.ts';

/**
 * Records a mount of the volume that has no record as a staging with an unknown attachment, so that `replaceEarlier` takes it
 * down: another node may have written to the volume since. Returns undefined and keeps the mount if a pod uses it, or if the
 * volume is encrypted, since the name of its mapping then tells its attachment.
 */
export async function recordUnknown(
  { agent, record, carrier }: Volume,
  mounts: readonly Mount[],
): Promise<VolumeRecord | undefined> {
  const mount = topMount(mounts, record.stagingPath);
  const isKnown = record.attachment.encryption !== undefined;
  if (!mount || isKnown || !carrier.isMounted || findUses(agent, record, mounts).length > 0) return undefined;
  if ((await carrier.judge(mount)) !== 'own') return undefined;
  // A writable mount may have data in memory that must not be written any more; `replaceEarlier` cuts it off.
  const readonly = mount.superOptions.includes('ro');
  const attachment = { ...record.attachment, attachmentId: 'unknown', readonly };
  const unknown = withoutMarks({ ...record, attachment });
  await agent.records.put(unknown);
  return unknown;
}

/**
 * Takes down the recorded staging of the volume if it differs from the requested one, and returns true if it did.
 * ALREADY_EXISTS if the volume is staged differently with the same attachment.
 */
export async function replaceEarlier(
  { agent, record }: Volume,
  known: VolumeRecord,
  mounts: readonly Mount[],
): Promise<boolean> {
  const differences = differencesOf(factsOfStage(known), factsOfStage(record));
  if (differences.length === 0) return false;
  const earlier = volumeOf(agent, known);
  const { attachmentId } = record.attachment;
  if (!known.isDown && known.attachment.attachmentId !== attachmentId) {
    await takeDownForgotten(earlier, attachmentId, mounts);
    return true;
  }
  const isMounted = pathsOf(known).some(path => topMount(mounts, path));
  // A filesystem or share that is not mounted is left over from before a reboot.
  if (!known.isDown && (isMounted || !earlier.carrier.isMounted))
    throw new Problem(
      'ALREADY_EXISTS',
      `volume "${record.volumeId}" is staged differently: ${differences.join('; ')}; unstage it first`,
    );
  await disconnect(earlier);
  return true;
}

/**
 * Takes down a staging that kubelet never unstaged: the volume has been detached and attached again since, and another node
 * may have written to it. Cuts the volume off first, because data in memory here would overwrite the other node's.
 */
async function takeDownForgotten(
  forgotten: Volume,
  attachmentId: string,
  mounts: readonly Mount[],
): Promise<void> {
  const { agent, record, carrier } = forgotten;
  const { volumeId, stagingPath } = record;
  const staged = record.attachment.attachmentId;
  if (isOlder(attachmentId, staged))
    throw preconditionProblem(
      `volume "${volumeId}" is staged with attachment "${staged}", and "${attachmentId}" is older`,
    );
  await requireUnused(forgotten, mounts, ` with attachment "${staged}"; unpublish it there first`);
  const mount = topMount(mounts, stagingPath);
  if (mount) await requireNotForeign(carrier, mount, volumeId);
  // A read-only mount has no data in memory to write, and not every device can be cut off.
  if (!record.attachment.readonly) await carrier.cutOff(mounts);
  await takeDown(forgotten, await agent.host.mounts());
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

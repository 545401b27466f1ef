import { asProblem, preconditionProblem, problemTable } from '../../../src/api/problem.ts';
import { topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import { isDeviceNode, unmountAll } from '../../host/mount.ts';
import { removeCopy } from './copies.ts';
import type { Volume } from '../carriers/index.ts';
import { findUses, mayBeOwn } from '../mounts.ts';
import { isHeldByOther } from './one-device.ts';
import { forget } from './staged-record.ts';

export async function takeDown(volume: Volume, mounts: readonly Mount[]): Promise<void> {
  const { agent, record, carrier } = volume;
  const { stagingPath, isDown } = record;
  const mayRelease = topMount(mounts, stagingPath) && !isDown && !agent.unmounting.isHung;
  // Side by side, since two commands take little longer than one. `disconnect` releases the device if this fails.
  const [unmounted] = await Promise.allSettled([
    unmountAll(agent, stagingPath, mounts),
    mayRelease && carrier.releaseAfterUse?.(),
  ]);
  if (unmounted.status === 'rejected') throw unmounted.reason;
  await disconnect(volume);
}

/** Disconnects a volume that is mounted nowhere, and removes its record. */
export async function disconnect(volume: Volume): Promise<void> {
  const { agent, record, carrier } = volume;
  const { records, cache } = agent;
  const { volumeId, formatting, isDown } = record;
  const known = records.get(volumeId);
  records.keep({ ...record, isLeaving: true });
  try {
    // The device of a volume that is down, or known only by its copy, may belong to another volume by now.
    const isHolder = known !== undefined && !isDown;
    if (isHolder || !(await isHeldByOther(volume))) await carrier.disconnect();
    const { usages, faults, frozen, writes, unused, rootRefused } = cache;
    for (const entries of [usages, faults, frozen, writes, unused, rootRefused]) entries.delete(volumeId);
    // A volume that is down may be unstaged from another path than the one that has its copy.
    if (!carrier.isMounted) await removeCopy(agent.host, known ?? record);
    // The mark outlives the staging: without the mark, no later stage could finish an interrupted mkfs.
    if (formatting) await records.put({ ...record, isDown: true });
    else await records.remove(volumeId);
  } catch (error) {
    records.keep(record);
    throw error;
  }
}

/**
 * Undoes a stage that failed, then throws its error. After a final error no unstage follows, so this also undoes earlier
 * stages that failed. Other errors leave everything in place for the next try.
 */
export async function giveUp(volume: Volume, error: unknown): Promise<never> {
  const { agent, record, carrier } = volume;
  const { isUnfinished, volumeId } = record;
  // A filesystem or share that is not mounted now can be undone even if an earlier stage succeeded.
  const mayUndo = isUnfinished || carrier.isMounted;
  if (!mayUndo || !agent.records.get(volumeId) || !problemTable[asProblem(error).code].final) throw error;
  // A device in use stays: it may be a disk of the machine itself, or a volume whose record was lost.
  const isUsed = await isInUse(volume);
  const isUndone = !isUsed && (await tryTakeDown(volume));
  // A device in use that this node never finished staging was never the volume's here.
  const isOthers = isUnfinished && (isUsed || carrier.isSelfConnecting);
  if (!isUndone && isOthers && !topMount(await agent.host.mounts(), record.stagingPath)) await forget(volume);
  throw error;
}

async function tryTakeDown(volume: Volume): Promise<boolean> {
  return takeDown(volume, await volume.agent.host.mounts()).then(
    () => true,
    () => false,
  );
}

async function isInUse({ agent, carrier }: Volume): Promise<boolean> {
  for (const mount of await agent.host.mounts()) if ((await carrier.judge(mount)) === 'own') return true;
  return false;
}

/** FAILED_PRECONDITION while the volume is mounted at a target path, or anywhere else below kubelet's directory. */
export async function requireUnused(
  { agent, record, carrier }: Volume,
  mounts: readonly Mount[],
  more = '',
): Promise<void> {
  const { volumeId, stagingPath, targets } = record;
  const uses = findUses(agent, record, mounts);
  // A mount of a block volume's device node is no part of the staged mount, and may be missing from the records.
  const mayShowDevice = (mount: Mount): boolean =>
    !carrier.isMounted && isDeviceNode(mount) && mayBeOwn(agent, volumeId, mount);
  for (const mount of mounts) {
    // Another volume may be mounted at a recorded target by now.
    const isTarget = mount.path !== stagingPath && targets.some(({ path }) => path === mount.path);
    const judgement = isTarget || mayShowDevice(mount) ? await carrier.judge(mount) : 'foreign';
    if (uses.includes(mount) || judgement === 'own' || (isTarget && judgement === 'stale'))
      throw preconditionProblem(`volume "${volumeId}" is still published at "${mount.path}"${more}`);
  }
}

import { preconditionProblem, type Problem } from '../../src/api/problem.ts';
import type { Mount } from '../../src/lib/linux/mountinfo.ts';
import { isLoopOver } from '../connectors/index.ts';
import { describe, isDeviceNode } from '../host/mount.ts';
import { readBacking } from '../host/sysfs.ts';
import type { Agent } from './agent.ts';
import { carrierOf } from './carriers/index.ts';
import { findShown } from './carriers/read-only-views.ts';
import { foreignProblem } from './mounts.ts';
import { isBelowRoot } from './trust.ts';

/**
 * FAILED_PRECONDITION unless a mount at a path of an unrecorded volume can be removed without loss: it shows the loop device
 * of a file below a local root that no record names, or a device node of no recorded volume. The loop device must still be
 * over that file, or the file deleted, because the path alone may belong to another mount namespace. While records are
 * damaged every mount is refused, since a damaged record may name it.
 */
export async function requireAbandoned(agent: Agent, mount: Mount, volumeId: string): Promise<void> {
  const { host, records, trust } = agent;
  if (records.damagedCount > 0)
    throw preconditionProblem(
      `"${mount.path}" may hold another volume than "${volumeId}": ${records.damagedCount} records of volumes on this node are damaged; repair them first (docs/nodes.md)`,
    );
  const number = await findShown(mount, host);
  const backing = await readBacking(`/sys/dev/block/${number}`, host);
  const path = backing?.replace(/ \(deleted\)$/, '') ?? '';
  const isRecorded = records.all().some(({ attachment }) => 'path' in attachment && attachment.path === path);
  const mayBeAbandoned = !isRecorded && number !== undefined && isBelowRoot(trust, path);
  if (mayBeAbandoned && (await isLoopOver(path, number, host))) return;
  // The mount is only a name of the device: processes that have the device open keep it.
  if (isDeviceNode(mount) && !(await isRecordedMount(agent, mount))) return;
  throw await unrecordedProblem(agent, mount, volumeId);
}

/** Makes the problem that a path of an unrecorded volume holds another volume or an unknown mount. */
export async function unrecordedProblem(agent: Agent, mount: Mount, volumeId: string): Promise<Problem> {
  if (await isRecordedMount(agent, mount)) return foreignProblem(mount, volumeId);
  return preconditionProblem(
    `"${mount.path}" holds ${describe(mount)}, and this node has no record of volume "${volumeId}" to compare it with; if it is the volume, stage it again or unmount it by hand`,
  );
}

async function isRecordedMount(agent: Agent, mount: Mount): Promise<boolean> {
  for (const record of agent.records.here())
    if ((await carrierOf(agent, record).judge(mount)) === 'own') return true;
  return false;
}

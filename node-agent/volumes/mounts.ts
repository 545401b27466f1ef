import { preconditionProblem, type Problem } from '../../src/api/problem.ts';
import { isAtOrBelow, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import { describe } from '../host/mount.ts';
import { hasContext } from '../host/selinux.ts';
import type { VolumeRecord } from '../state/records.ts';
import type { Agent } from './agent.ts';
import type { Carrier } from './carrier.ts';
import { isMountedReadonly } from './request-checks.ts';

/** FAILED_PRECONDITION if a mount is neither the volume nor a leftover of it. */
export async function requireNotForeign(carrier: Carrier, mount: Mount, volumeId: string): Promise<void> {
  if ((await carrier.judge(mount)) === 'foreign') throw foreignProblem(mount, volumeId);
}

export function foreignProblem(mount: Mount, volumeId: string): Problem {
  return preconditionProblem(`"${mount.path}" holds ${describe(mount)}, which is not volume "${volumeId}"`);
}

/** True if the kernel turned a writable filesystem read-only after an error: `ro`, or `emergency_ro` of newer ext4. */
export function isTurnedReadonly(record: VolumeRecord, { superOptions }: Mount): boolean {
  const isTurned = superOptions.includes('ro') || superOptions.includes('emergency_ro');
  return isTurned && !isMountedReadonly(record);
}

/** Mount flags that mountinfo shows exactly as they were given. */
const visibleFlags: ReadonlySet<string> = new Set(['nosuid', 'nodev', 'noexec', 'noatime', 'nodiratime']);

/** True if a mount has the SELinux context and the flags of the record; after an interrupted bind they may be missing. */
export function isAsRequested(mount: Mount, record: VolumeRecord): boolean {
  const { options } = mount;
  const wanted = (record.capability.mountFlags ?? []).filter(flag => visibleFlags.has(flag));
  return (
    hasContext(mount, record.capability) &&
    wanted.every(flag => options.includes(flag)) &&
    options.includes('ro') === isMountedReadonly(record)
  );
}

/** True for a mount below kubelet's directory that no record of another volume holds. */
export function mayBeOwn({ base, records }: Agent, volumeId: string, { path }: Mount): boolean {
  return isAtOrBelow(path, base.real) && records.holderOf(path, volumeId) === undefined;
}

/**
 * Lists the mounts below kubelet's directory that show the staged volume or a part of it. Returns none if another volume may
 * own them, as with two volumes of one share or inside each other: mountinfo cannot tell them apart.
 */
export function findUses(
  { base, records }: Agent,
  { volumeId, stagingPath }: VolumeRecord,
  mounts: readonly Mount[],
): readonly Mount[] {
  const staged = topMount(mounts, stagingPath);
  if (!staged) return [];
  const isOthers = ({ path }: Mount): boolean => records.holderOf(path, volumeId) !== undefined;
  const isElsewhere = ({ path }: Mount): boolean => path !== stagingPath && isAtOrBelow(path, base.real);
  const elsewhere = mounts.filter(isElsewhere);
  if (elsewhere.some(mount => (isPartOf(mount, staged) || isPartOf(staged, mount)) && isOthers(mount)))
    return [];
  return elsewhere.filter(mount => isPartOf(mount, staged));
}

/** True if the first mount shows the same tree as the second, or a part of that tree. */
function isPartOf(mount: Mount, { device, root, source }: Mount): boolean {
  if (mount.device !== device) return false;
  const isSameSource = mount.source === source || mount.source.startsWith(`${source}/`);
  return isSameSource && isAtOrBelow(mount.root, root);
}

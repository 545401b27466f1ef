import { preconditionProblem, type Problem } from '../../src/api/problem.ts';
import { isAtOrBelow, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import { describe } from '../host/mount.ts';
import { hasContext } from '../host/selinux.ts';
import type { VolumeRecord } from '../state/records.ts';
import type { Agent } from './agent.ts';
import type { Carrier } from './carrier.ts';
import { isMountedReadonly } from './request-checks.ts';

/** FAILED_PRECONDITION for a mount of something else than the volume; what is left of the volume is no such thing. */
export async function requireNotForeign(carrier: Carrier, mount: Mount, volumeId: string): Promise<void> {
  if ((await carrier.judge(mount)) === 'foreign') throw foreignProblem(mount, volumeId);
}

/** The problem that a path holds something else than the volume. */
export function foreignProblem(mount: Mount, volumeId: string): Problem {
  return preconditionProblem(`"${mount.path}" holds ${describe(mount)}, which is not volume "${volumeId}"`);
}

/** True when the kernel turned a writable filesystem read-only after an error: `ro`, or `emergency_ro` of a later ext4. */
export function isTurnedReadonly(record: VolumeRecord, { superOptions }: Mount): boolean {
  const isTurned = superOptions.includes('ro') || superOptions.includes('emergency_ro');
  return isTurned && !isMountedReadonly(record);
}

/** Flags that mountinfo shows for a mount as they were given. */
const visibleFlags: ReadonlySet<string> = new Set(['nosuid', 'nodev', 'noexec', 'noatime', 'nodiratime']);

/** True when a mount has the context and the flags that the record asks for: a bind that was interrupted may lack them. */
export function isAsAsked(mount: Mount, record: VolumeRecord): boolean {
  const { options } = mount;
  const wanted = (record.capability.mountFlags ?? []).filter(flag => visibleFlags.has(flag));
  return (
    hasContext(mount, record.capability) &&
    wanted.every(flag => options.includes(flag)) &&
    options.includes('ro') === isMountedReadonly(record)
  );
}

/**
 * The mounts below kubelet's directory that show what is staged, or a part of it; none where another volume may be theirs,
 * as with volumes that are one share or lie in one another: mountinfo does not tell whose such a mount is.
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
  if (elsewhere.some(mount => isOthers(mount) && (isPartOf(mount, staged) || isPartOf(staged, mount))))
    return [];
  return elsewhere.filter(mount => isPartOf(mount, staged));
}

/** True when the mount shows a part of what the other one shows, or all of it. */
function isPartOf(mount: Mount, { device, root, source }: Mount): boolean {
  const isSameSource = mount.source === source || mount.source.startsWith(`${source}/`);
  return mount.device === device && isSameSource && isAtOrBelow(mount.root, root);
}

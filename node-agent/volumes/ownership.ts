import { Problem } from '../../src/api/problem.ts';
import type { Agent } from './agent.ts';
import { isMountedReadonly } from './request-checks.ts';
import type { Judgement } from '../connector.ts';
import { deviceConnectorFor, shareConnectorFor } from '../connectors/index.ts';
import type { Host } from '../host.ts';
import { isAtOrBelow, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import { deviceNumberOf, describe } from '../host/mount.ts';
import type { VolumeRecord } from '../state/records.ts';

/** The number of the device of a volume that has one, when the mount shows it, or undefined when it shows anything else. */
export async function ownNumber(
  mount: Mount,
  { attachment }: Pick<VolumeRecord, 'attachment'>,
  host: Host,
): Promise<string | undefined> {
  const number = await deviceNumberOf(mount, host);
  if (number === undefined) return undefined;
  return (await deviceConnectorFor(attachment).owns(attachment, number, host)) ? number : undefined;
}

/** What a mount shows: the volume, something else, or a device or directory that is gone, which is a leftover. */
export async function judge(mount: Mount, record: VolumeRecord, host: Host): Promise<Judgement> {
  const sharing = shareConnectorFor(record.attachment);
  if (sharing) return sharing.judge(record.attachment, mount, host);
  if ((await ownNumber(mount, record, host)) !== undefined) return 'own';
  const number = await deviceNumberOf(mount, host);
  const isThere = number === undefined || (await host.readText(`/sys/dev/block/${number}/dev`)) !== undefined;
  return isThere ? 'foreign' : 'gone';
}

/** True when the mount shows a part of what the other one shows, or all of it. */
function isPartOf(mount: Mount, { device, root, source }: Mount): boolean {
  const isSameSource = mount.source === source || mount.source.startsWith(`${source}/`);
  return mount.device === device && isSameSource && isAtOrBelow(mount.root, root);
}

/**
 * The mounts below kubelet's directory, beside the staged one, that show what that shows or a part of it; not what is
 * another volume's. Several volumes may be one share, or lie in one another: whose such a mount is, mountinfo does not
 * tell then, and none is returned.
 */
export function partsOf(
  { base, records }: Pick<Agent, 'base' | 'records'>,
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

/** Refuses a mount of something else than the volume; a leftover is not refused. */
export async function refuseForeign(mount: Mount, record: VolumeRecord, host: Host): Promise<void> {
  if ((await judge(mount, record, host)) === 'foreign') throw foreign(mount, record.volumeId);
}

/**
 * True when the kernel made the filesystem read-only that was mounted writable, as it does after an error: shown as
 * `ro`, and for an ext4 of later kernels as `emergency_ro`.
 */
export function isTurnedReadonly(record: VolumeRecord, { superOptions }: Mount): boolean {
  const isTurned = superOptions.includes('ro') || superOptions.includes('emergency_ro');
  return isTurned && !isMountedReadonly(record);
}

/** The problem that a path holds something else than the volume. */
export function foreign(mount: Mount, volumeId: string): Problem {
  return new Problem(
    'FAILED_PRECONDITION',
    `"${mount.path}" holds ${describe(mount)}, which is not volume "${volumeId}"`,
  );
}

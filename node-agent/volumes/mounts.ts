import { Problem } from '../../src/api/problem.ts';
import type { Mount } from '../../src/lib/linux/mountinfo.ts';
import { describe } from '../host/mount.ts';
import type { VolumeRecord } from '../state/records.ts';
import type { Carrier } from './carrier.ts';
import { isMountedReadonly } from './request-checks.ts';

/** FAILED_PRECONDITION for a mount of something else than the volume; what is left of the volume is no such thing. */
export async function requireNotForeign(carrier: Carrier, mount: Mount, volumeId: string): Promise<void> {
  if ((await carrier.judge(mount)) === 'foreign') throw foreignProblem(mount, volumeId);
}

/** The problem that a path holds something else than the volume. */
export function foreignProblem(mount: Mount, volumeId: string): Problem {
  return new Problem(
    'FAILED_PRECONDITION',
    `"${mount.path}" holds ${describe(mount)}, which is not volume "${volumeId}"`,
  );
}

/**
 * True when the kernel made the filesystem read-only that was mounted writable, as it does after an error: shown as
 * `ro`, and for an ext4 of later kernels as `emergency_ro`.
 */
export function isTurnedReadonly(record: VolumeRecord, { superOptions }: Mount): boolean {
  const isTurned = superOptions.includes('ro') || superOptions.includes('emergency_ro');
  return isTurned && !isMountedReadonly(record);
}

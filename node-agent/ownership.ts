import { Problem } from '../src/api/problem.ts';
import { isMountedReadonly } from './capability.ts';
import { connectorFor } from './connectors/index.ts';
import type { Host } from './host.ts';
import type { Mount } from './mountinfo.ts';
import { deviceNumberOf, describe } from './mounting.ts';
import type { VolumeRecord } from './records.ts';

/** The number of the volume's device when the mount shows it, or undefined when it shows anything else. */
export async function ownNumber(
  mount: Mount,
  { attachment }: Pick<VolumeRecord, 'attachment'>,
  host: Host,
): Promise<string | undefined> {
  const number = await deviceNumberOf(mount, host);
  if (number === undefined) return undefined;
  return (await connectorFor(attachment).owns(attachment, number, host)) ? number : undefined;
}

/** Refuses a mount of something else than the volume. A mount whose device is gone is a leftover, and not refused. */
export async function refuseForeign(mount: Mount, record: VolumeRecord, host: Host): Promise<void> {
  if ((await ownNumber(mount, record, host)) !== undefined) return;
  const number = await deviceNumberOf(mount, host);
  const isThere = number === undefined || (await host.readText(`/sys/dev/block/${number}/dev`)) !== undefined;
  if (isThere) throw foreign(mount, record.volumeId);
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

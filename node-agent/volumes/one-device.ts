import { basename } from 'node:path';
import { hasSeveralNames, isSameReach } from '../../src/api/attachment.ts';
import { preconditionProblem, type Problem } from '../../src/api/problem.ts';
import { isAtOrBelow } from '../../src/lib/linux/mountinfo.ts';
import type { Device } from '../connector.ts';
import { findUser } from '../host/disk-use.ts';
import type { VolumeRecord } from '../state/records.ts';
import { volumeOf, type Volume } from './carriers/index.ts';

/** FAILED_PRECONDITION when another volume here is the very same device: both would format, grow and disconnect it. */
export function requireOwnReach(volume: Volume): void {
  const holder = volume.carrier.ownsDevice && findSameReach(volume);
  if (holder) throw sharedProblem(volume.record, holder);
}

/**
 * FAILED_PRECONDITION when a device that was connected is another volume's as well, by what it says of itself, since one of
 * the two names it in another way; then nothing of the volume is recorded.
 */
export async function requireOwnDevice({ agent, record }: Volume, { number }: Device): Promise<void> {
  const { records } = agent;
  if (connectedNumber(records.get(record.volumeId)?.device) === number) return;
  for (const other of records.othersThan(record.volumeId)) {
    const known = connectedNumber(other.device ?? other.connection);
    const mayBeOne =
      known === undefined
        ? [record, other].some(({ attachment }) => hasSeveralNames(attachment))
        : known === number;
    if (!mayBeOne) continue;
    if (!(await volumeOf(agent, other).carrier.ownsDevice?.(number))) continue;
    await records.remove(record.volumeId);
    throw sharedProblem(record, other);
  }
}

/**
 * FAILED_PRECONDITION when a device that was not the volume's before is in use outside kubelet's directory, as a disk of the
 * machine itself is.
 */
export async function requireUnusedElsewhere({ agent, record }: Volume, device: Device): Promise<void> {
  const { path, number } = device;
  const disk = { name: basename(path), number };
  const user = await findUser(disk, agent.host, mount => isAtOrBelow(mount.path, agent.base.real));
  if (user === undefined) return;
  throw preconditionProblem(`the device "${path}" of volume "${record.volumeId}" is in use by ${user}`);
}

/** True when the device of a volume that is down is another volume's by now, under whatever name. */
export async function isHeldByOther(volume: Volume): Promise<boolean> {
  const { agent, record, carrier } = volume;
  if (findSameReach(volume)) return true;
  for (const { device, isDown } of agent.records.othersThan(record.volumeId)) {
    const number = connectedNumber(device);
    if (!isDown && number !== undefined && (await carrier.ownsDevice?.(number))) return true;
  }
  return false;
}

/** The number of a volume's device as it is connected, below what decrypts it. */
function connectedNumber(device: Partial<Pick<Device, 'number' | 'below'>> = {}): string | undefined {
  return device.below ?? device.number;
}

function findSameReach({ agent, record }: Volume): VolumeRecord | undefined {
  const others = agent.records.othersThan(record.volumeId);
  return others.find(({ attachment }) => isSameReach(attachment, record.attachment));
}

function sharedProblem({ volumeId }: VolumeRecord, holder: VolumeRecord): Problem {
  return preconditionProblem(
    `the device of volume "${volumeId}" is the one of volume "${holder.volumeId}", which is staged here`,
  );
}

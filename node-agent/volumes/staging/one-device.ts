import { basename } from 'node:path';
import { hasSeveralNames, isSameReach } from '../../../src/api/attachment.ts';
import { preconditionProblem, type Problem } from '../../../src/api/problem.ts';
import { isAtOrBelow, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import type { Device } from '../../connector.ts';
import { findDecrypted } from '../../format/mapping.ts';
import { findUser } from '../../host/disk-use.ts';
import type { VolumeRecord } from '../../state/records.ts';
import { volumeOf, type Volume } from '../carriers/index.ts';
import { forget } from './staged-record.ts';

/** FAILED_PRECONDITION if another volume on this node is the same device: both would format, grow and disconnect it. */
export function requireOwnReach(volume: Volume): void {
  const holder = volume.carrier.ownsDevice && findSameReach(volume);
  if (holder) throw sharedProblem(volume.record, holder);
}

/**
 * FAILED_PRECONDITION if a connected device also belongs to another volume. Their attachments may name it differently, so the
 * device itself is asked. On failure the volume's record is removed.
 */
export async function requireOwnDevice(volume: Volume, { number }: Device): Promise<void> {
  const { agent, record } = volume;
  const { records } = agent;
  if (connectedNumber(records.get(record.volumeId)?.device) === number) return;
  for (const other of records.othersThan(record.volumeId)) {
    const known = connectedNumber(other.device ?? other.connection);
    const mayBeSame =
      known === undefined
        ? [record, other].some(({ attachment }) => hasSeveralNames(attachment))
        : known === number;
    if (!mayBeSame) continue;
    if (!(await volumeOf(agent, other).carrier.ownsDevice?.(number))) continue;
    await forget(volume);
    throw sharedProblem(record, other);
  }
}

/**
 * FAILED_PRECONDITION if a device that is new to the volume is in use outside kubelet's directory, as a disk of the machine
 * itself is. On failure the volume's record is removed. A mapping that an earlier try opened does not count as a use.
 */
export async function requireUnusedElsewhere(volume: Volume, { path, number }: Device): Promise<void> {
  const { agent, record } = volume;
  const { host, base } = agent;
  const isMount = (mount: Mount): boolean => isAtOrBelow(mount.path, base.real);
  const { attachment } = record;
  const opened = attachment.encryption && (await findDecrypted(attachment, number, host));
  const disk = { name: basename(path), number };
  const user =
    (await findUser(disk, host, { isMount, holder: opened?.name })) ??
    (opened && (await findUser(opened, host, { isMount })));
  if (user === undefined) return;
  await forget(volume);
  throw preconditionProblem(`the device "${path}" of volume "${record.volumeId}" is in use by ${user}`);
}

/** True if the device belongs to another volume by now, even under another name. */
export async function isHeldByOther(volume: Volume): Promise<boolean> {
  const { agent, record, carrier } = volume;
  if (findSameReach(volume)) return true;
  for (const { device, isDown } of agent.records.othersThan(record.volumeId)) {
    const number = connectedNumber(device);
    if (!isDown && number !== undefined && (await carrier.ownsDevice?.(number))) return true;
  }
  return false;
}

/** Returns the number of a volume's connected device; for an encrypted volume the one below the mapping. */
function connectedNumber(device: Partial<Pick<Device, 'number' | 'below'>> = {}): string | undefined {
  return device.below ?? device.number;
}

function findSameReach({ agent, record }: Volume): VolumeRecord | undefined {
  const others = agent.records.othersThan(record.volumeId);
  return others.find(({ attachment }) => isSameReach(attachment, record.attachment));
}

function sharedProblem({ volumeId }: VolumeRecord, holder: VolumeRecord): Problem {
  return preconditionProblem(
    `the device of volume "${volumeId}" is also that of volume "${holder.volumeId}", which is staged on this node; unstage that one first, or correct the attachment`,
  );
}

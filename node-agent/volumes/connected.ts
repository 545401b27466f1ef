import { hasSeveralNames, type Attachment } from '../../src/api/attachment.ts';
import type { Agent } from './agent.ts';
import { deviceConnectorFor, shareConnectorFor } from '../connectors/index.ts';
import type { Device } from '../connector.ts';
import type { Host } from '../host.ts';
import { holdsDevice, type VolumeRecord } from '../state/records.ts';
import type { Secrets } from './secrets.ts';

/** Connects a volume's device, with the secrets of the call that asks, and notes which use of its device number this is. */
export async function connectDevice(
  attachment: Attachment,
  host: Host,
  secrets: Secrets = {},
): Promise<Device> {
  const device = await deviceConnectorFor(attachment).connect(attachment, host, secrets);
  const diskseq = await readDiskseq(device.number, host);
  return { ...device, ...(diskseq !== undefined && { diskseq }) };
}

/**
 * True when the device is the volume's, and has been without a break since it was connected: another disk that takes
 * the number in between leaves another sequence number behind, even when it is gone again.
 */
export async function isStillConnected(attachment: Attachment, device: Device, host: Host): Promise<boolean> {
  if (!(await deviceConnectorFor(attachment).owns(attachment, device.number, host))) return false;
  return device.diskseq === undefined || (await readDiskseq(device.number, host)) === device.diskseq;
}

/**
 * The other volume whose device this is, too, by what the device says of itself: one of the two names it in another way.
 * A record that is known to be of another device, or of what has one name only, is not compared.
 */
export async function findHolder(
  { host, records }: Agent,
  { volumeId, attachment, device }: VolumeRecord & { readonly device: Device },
): Promise<string | undefined> {
  for (const other of records.all()) {
    if (other.volumeId === volumeId || shareConnectorFor(other.attachment) || !holdsDevice(other)) continue;
    const protocols = [attachment.protocol, other.attachment.protocol];
    const mayBeOne = other.device === undefined || other.device.number === device.number;
    if (!mayBeOne || !protocols.some(hasSeveralNames)) continue;
    if (await deviceConnectorFor(other.attachment).owns(other.attachment, device.number, host))
      return other.volumeId;
  }
  return undefined;
}

/** True when the device of a volume that is down is another volume's by now, under whatever name. */
export async function isHeldByOther(
  { host, records }: Agent,
  { volumeId, attachment }: VolumeRecord,
): Promise<boolean> {
  if (shareConnectorFor(attachment)) return false;
  if (records.holderOfDevice(attachment, volumeId) !== undefined) return true;
  const { owns } = deviceConnectorFor(attachment);
  for (const { volumeId: other, device } of records.here())
    if (other !== volumeId && device && (await owns(attachment, device.number, host))) return true;
  return false;
}

/** Kernels before 5.15 have none, and neither have partitions. */
async function readDiskseq(number: string, host: Host): Promise<string | undefined> {
  return (await host.readText(`/sys/dev/block/${number}/diskseq`))?.trim();
}

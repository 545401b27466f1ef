import type { Attachment } from '../src/api/attachment.ts';
import { deviceConnectorFor } from './connectors/index.ts';
import type { Device } from './connector.ts';
import type { Host } from './host.ts';

/** Connects a volume's device, and notes which use of its device number this is. */
export async function connectDevice(attachment: Attachment, host: Host): Promise<Device> {
  const device = await deviceConnectorFor(attachment).connect(attachment, host);
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

/** Kernels before 5.15 have none, and neither have partitions. */
async function readDiskseq(number: string, host: Host): Promise<string | undefined> {
  return (await host.readText(`/sys/dev/block/${number}/diskseq`))?.trim();
}

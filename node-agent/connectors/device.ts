import type { AttachmentOf } from '../../src/api/attachment.ts';
import { Problem } from '../../src/api/problem.ts';
import { runWell, tell } from '../commands.ts';
import type { Device, DeviceConnector } from '../connector.ts';
import { fitDisk, isDisk, nameOf, readDisk, refuseNameless, refuseUsedDisk, waitFor } from '../disk.ts';
import type { Host } from '../host.ts';

type DeviceAttachment = AttachmentOf<'device'>;

/**
 * A disk that the cloud plugs in and takes away by itself, found by what it says of itself. Disconnecting it leaves it
 * where it is, unused and as writable as the cloud made it.
 */
export const device: DeviceConnector<'device'> = {
  kind: 'device',
  protocol: 'device',
  connect,
  disconnect,
  rescan,
  owns: (attachment, number, host) => isDisk(`/sys/dev/block/${number}`, attachment, host),
};

async function connect(attachment: DeviceAttachment, host: Host): Promise<Device> {
  refuseNameless(attachment);
  const name = await waitFor(() => findOne(attachment, host));
  if (name === undefined)
    throw new Problem('UNAVAILABLE', `no disk of this node says that it is "${nameOf(attachment)}"`);
  if (!attachment.readonly) await makeWritable(name, host);
  return fitDisk(
    name,
    { volume: attachment, identity: nameOf(attachment), rescan: () => lookAnew(name, host) },
    host,
  );
}

async function disconnect(attachment: DeviceAttachment, host: Host): Promise<void> {
  for (const name of await findAll(attachment, host)) {
    const disk = await readDisk(name, host);
    if (disk) await refuseUsedDisk(disk, host);
    await makeWritable(name, host);
  }
}

async function rescan(attachment: DeviceAttachment, host: Host): Promise<void> {
  for (const name of await findAll(attachment, host)) await lookAnew(name, host);
}

/** SCSI and NVMe disks are looked at when asked to; virtio tells by itself. */
async function lookAnew(name: string, host: Host): Promise<void> {
  for (const attribute of ['rescan', 'rescan_controller']) {
    const path = `/sys/block/${name}/device/${attribute}`;
    if ((await host.kindOf(path)) !== 'nothing') await tell(host, path, '1');
  }
}

/** Undoes what a read-only attachment did; a disk that the cloud made read-only stays so. */
async function makeWritable(name: string, host: Host): Promise<void> {
  if ((await readDisk(name, host))?.readonly)
    await runWell(host, { command: 'blockdev', args: ['--setrw', `/dev/${name}`] });
}

async function findOne(attachment: DeviceAttachment, host: Host): Promise<string | undefined> {
  const names = await findAll(attachment, host);
  if (names.length > 1)
    throw new Problem(
      'FAILED_PRECONDITION',
      `more than one disk says that it is "${nameOf(attachment)}": ${names.join(', ')}`,
    );
  return names[0];
}

async function findAll(attachment: DeviceAttachment, host: Host): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await host.list('/sys/block')) {
    // Path devices of NVMe's own multipath are hidden, and have no node below /dev.
    const isHidden = (await host.readText(`/sys/block/${name}/hidden`))?.trim() === '1';
    if (!isHidden && (await isDisk(`/sys/block/${name}`, attachment, host))) found.push(name);
  }
  return found;
}

import type { AttachmentOf } from '../../src/api/attachment.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import type { Device, DeviceConnector } from '../connector.ts';
import { cutOffDisk, undoCutOff, settleDisk } from '../host/disk-use.ts';
import { fitDisk, isDisk, allowWrites, nameOf, onlyDisk, readDisk, requireIdentity } from '../host/disk.ts';
import type { Host } from '../host.ts';
import { filterAsync, readLine, waitFor, writeLine } from '../host/sysfs.ts';

type DeviceAttachment = AttachmentOf<'device'>;

/** Finds disks that the cloud plugs in. Disconnecting leaves a disk in place, unused and as writable as the cloud made it. */
export const device: DeviceConnector<'device'> = {
  kind: 'device',
  isSelfConnecting: true,
  connect,
  disconnect,
  cutOff,
  rescan,
  owns,
};

async function connect(attachment: DeviceAttachment, host: Host): Promise<Device> {
  requireIdentity(attachment);
  const name = await waitFor(() => findOne(attachment, host));
  if (name === undefined)
    throw unavailableProblem(
      `no disk of this node reports "${nameOf(attachment)}"; check that the cloud has plugged it in`,
    );
  if (isScsi(name)) await undoCutOff(name, host);
  // Only the kernel's own read-only flag is cleared; a disk that the cloud made read-only stays read-only.
  if (!attachment.readonly) await allowWrites(name, host);
  return fitDisk(name, { attachment, identity: nameOf(attachment), rescan }, host);
}

/**
 * Settles the volume's disk, which must be unused. If several disks report the identity, it cannot tell which is the volume's,
 * and changes none of them.
 */
async function disconnect(attachment: DeviceAttachment, host: Host): Promise<void> {
  const names = await findAll(attachment, host);
  if ((await findAmbiguous(names, attachment, host)).length > 0) return;
  for (const name of names) {
    const disk = await readDisk(name, host);
    if (disk) await settleDisk(disk, host);
  }
  const [name, ...others] = names;
  if (name !== undefined && others.length === 0) await allowWrites(name, host);
}

/** Sets a SCSI disk offline, so that its requests fail. Other disks cannot be cut off. */
async function cutOff(attachment: DeviceAttachment, host: Host): Promise<void> {
  const name = await findOne(attachment, host);
  if (name === undefined) return;
  if (!isScsi(name))
    throw preconditionProblem(
      `disk "/dev/${name}" cannot be cut off from its storage while it is mounted: unplug it from this machine and plug it in again, or restart the machine`,
    );
  await cutOffDisk(name, host);
}

function isScsi(name: string): boolean {
  return name.startsWith('sd');
}

/** Makes SCSI and NVMe disks read their size again; virtio disks report a new size by themselves. */
async function rescan(attachment: DeviceAttachment, host: Host): Promise<void> {
  for (const name of await findAll(attachment, host))
    for (const attribute of ['rescan', 'rescan_controller']) {
      const path = `/sys/block/${name}/device/${attribute}`;
      if ((await host.kindOf(path)) !== 'nothing') await writeLine(path, '1', host);
    }
}

async function owns(attachment: DeviceAttachment, number: string, host: Host): Promise<boolean> {
  const path = `/sys/dev/block/${number}`;
  return (await isDisk(path, attachment, host)) && !(await isAmbiguous(path, attachment, host));
}

async function findOne(attachment: DeviceAttachment, host: Host): Promise<string | undefined> {
  const names = await findAll(attachment, host);
  const [ambiguous] = await findAmbiguous(names, attachment, host);
  if (ambiguous !== undefined)
    throw preconditionProblem(
      `"${nameOf(attachment)}" belongs to an NVMe controller with several disks, such as ${ambiguous}; give the attachment a wwid`,
    );
  return onlyDisk(names, nameOf(attachment));
}

async function findAll(attachment: DeviceAttachment, host: Host): Promise<readonly string[]> {
  return filterAsync(await host.list('/sys/block'), async name => {
    // The path devices of NVMe multipath are hidden and have no node below /dev.
    const isHidden = (await readLine(`/sys/block/${name}/hidden`, host)) === '1';
    return !isHidden && isDisk(`/sys/block/${name}`, attachment, host);
  });
}

function findAmbiguous(names: readonly string[], attachment: DeviceAttachment, host: Host) {
  return filterAsync(names, name => isAmbiguous(`/sys/block/${name}`, attachment, host));
}

/** True for all but the first disk of an NVMe controller: the serial number is the controller's and names only the first. */
async function isAmbiguous(path: string, { wwid }: DeviceAttachment, host: Host): Promise<boolean> {
  const namespace = wwid === undefined ? await readLine(`${path}/nsid`, host) : undefined;
  return namespace !== undefined && namespace !== '1';
}

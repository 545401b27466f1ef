import type { AttachmentOf } from '../../src/api/attachment.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import type { Device, DeviceConnector } from '../connector.ts';
import { settleDisk } from '../host/disk-use.ts';
import { fitDisk, isDisk, nameOf, onlyDisk, readDisk, requireIdentity, setReadonly } from '../host/disk.ts';
import type { Host } from '../host.ts';
import { filterAsync, readLine, waitFor, writeLine } from '../host/sysfs.ts';

type DeviceAttachment = AttachmentOf<'device'>;

/** A disk that the cloud plugs in; disconnecting leaves it where it is, unused and as writable as the cloud made it. */
export const device: DeviceConnector<'device'> = {
  kind: 'device',
  isSelfConnecting: true,
  connect,
  disconnect,
  rescan,
  owns,
};

async function connect(attachment: DeviceAttachment, host: Host): Promise<Device> {
  requireIdentity(attachment);
  const name = await waitFor(() => findOne(attachment, host));
  if (name === undefined)
    throw unavailableProblem(`no disk of this node says that it is "${nameOf(attachment)}"`);
  if (!attachment.readonly) await makeWritable(name, host);
  return fitDisk(name, { attachment, identity: nameOf(attachment), rescan }, host);
}

/** Of several disks nothing says which is the volume's: they stay as they are, and must be unused where all are named. */
async function disconnect(attachment: DeviceAttachment, host: Host): Promise<void> {
  const names = await findAll(attachment, host);
  if ((await findAmbiguous(names, attachment, host)).length > 0) return;
  for (const name of names) {
    const disk = await readDisk(name, host);
    if (disk) await settleDisk(disk, host);
  }
  const [name, ...others] = names;
  if (name !== undefined && others.length === 0) await makeWritable(name, host);
}

/** SCSI and NVMe disks are asked to; virtio reports a new size by itself. */
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

/** Undoes what a read-only attachment did; a disk that the cloud made read-only stays so. */
async function makeWritable(name: string, host: Host): Promise<void> {
  const disk = await readDisk(name, host);
  if (disk?.readonly) await setReadonly(disk, false, host);
}

async function findOne(attachment: DeviceAttachment, host: Host): Promise<string | undefined> {
  const names = await findAll(attachment, host);
  const [ambiguous] = await findAmbiguous(names, attachment, host);
  if (ambiguous !== undefined)
    throw preconditionProblem(
      `"${nameOf(attachment)}" is that of an NVMe controller with several disks, such as ${ambiguous}: the volume needs a wwid`,
    );
  return onlyDisk(names, nameOf(attachment));
}

/** The disks that say what is asked for. */
async function findAll(attachment: DeviceAttachment, host: Host): Promise<readonly string[]> {
  return filterAsync(await host.list('/sys/block'), async name => {
    // Path devices of NVMe's own multipath are hidden, and have no node below /dev.
    const isHidden = (await readLine(`/sys/block/${name}/hidden`, host)) === '1';
    return !isHidden && isDisk(`/sys/block/${name}`, attachment, host);
  });
}

function findAmbiguous(names: readonly string[], attachment: DeviceAttachment, host: Host) {
  return filterAsync(names, name => isAmbiguous(`/sys/block/${name}`, attachment, host));
}

/** True for a further disk of an NVMe controller: a serial number is the controller's, and names its first disk alone. */
async function isAmbiguous(path: string, { wwid }: DeviceAttachment, host: Host): Promise<boolean> {
  const namespace = wwid === undefined ? await readLine(`${path}/nsid`, host) : undefined;
  return namespace !== undefined && namespace !== '1';
}

import type { AttachmentOf } from '../../src/api/attachment.ts';
import { Problem } from '../../src/api/problem.ts';
import { runWell } from '../host/commands.ts';
import type { Device, DeviceConnector } from '../connector.ts';
import { settleDisk } from '../host/disk-use.ts';
import { fitDisk, isDisk, nameOf, onlyDisk, readDisk, requireIdentity } from '../host/disk.ts';
import type { Host } from '../host.ts';
import { keepWhere, readLine, waitFor, writeLine } from '../host/sysfs.ts';

type DeviceAttachment = AttachmentOf<'device'>;

/**
 * A disk that the cloud plugs in and takes away by itself, found by what it says of itself. Disconnecting it leaves it
 * where it is, unused and as writable as the cloud made it.
 */
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
    throw new Problem('UNAVAILABLE', `no disk of this node says that it is "${nameOf(attachment)}"`);
  if (!attachment.readonly) await makeWritable(name, host);
  return fitDisk(name, { attachment, identity: nameOf(attachment), rescan }, host);
}

/** Which of two disks is the volume's nobody can tell: both stay as they are, and are still not to be in use. */
async function disconnect(attachment: DeviceAttachment, host: Host): Promise<void> {
  const { own } = await findAll(attachment, host);
  for (const name of own) {
    const disk = await readDisk(name, host);
    if (disk) await settleDisk(disk, host);
  }
  const [name, ...others] = own;
  if (name !== undefined && others.length === 0) await makeWritable(name, host);
}

async function rescan(attachment: DeviceAttachment, host: Host): Promise<void> {
  const { own, shared } = await findAll(attachment, host);
  for (const name of [...own, ...shared]) await lookAnew(name, host);
}

async function owns(attachment: DeviceAttachment, number: string, host: Host): Promise<boolean> {
  const place = `/sys/dev/block/${number}`;
  if (!(await isDisk(place, attachment, host))) return false;
  const namespace = await readLine(`${place}/nsid`, host);
  return attachment.wwid !== undefined || namespace === undefined || namespace === '1';
}

/** SCSI and NVMe disks are looked at when asked to; virtio tells by itself. */
async function lookAnew(name: string, host: Host): Promise<void> {
  for (const attribute of ['rescan', 'rescan_controller']) {
    const path = `/sys/block/${name}/device/${attribute}`;
    if ((await host.kindOf(path)) !== 'nothing') await writeLine(path, '1', host);
  }
}

/** Undoes what a read-only attachment did; a disk that the cloud made read-only stays so. */
async function makeWritable(name: string, host: Host): Promise<void> {
  if ((await readDisk(name, host))?.readonly)
    await runWell(host, { command: 'blockdev', args: ['--setrw', `/dev/${name}`] });
}

async function findOne(attachment: DeviceAttachment, host: Host): Promise<string | undefined> {
  const { own, shared } = await findAll(attachment, host);
  if (shared.length > 0)
    throw new Problem(
      'FAILED_PRECONDITION',
      `"${nameOf(attachment)}" is that of an NVMe controller with several disks, such as ${shared[0]}: the volume needs a wwid`,
    );
  return onlyDisk(own, nameOf(attachment));
}

/** The disks that say what is asked for; `shared` are those of which only an NVMe controller says it, of several. */
type Found = { readonly own: readonly string[]; readonly shared: readonly string[] };

async function findAll(attachment: DeviceAttachment, host: Host): Promise<Found> {
  const names = await keepWhere(await host.list('/sys/block'), async name => {
    // Path devices of NVMe's own multipath are hidden, and have no node below /dev.
    const isHidden = (await readLine(`/sys/block/${name}/hidden`, host)) === '1';
    return !isHidden && isDisk(`/sys/block/${name}`, attachment, host);
  });
  if (attachment.wwid !== undefined) return { own: names, shared: [] };
  const controllers = names.map(controllerOf);
  const shared = await keepWhere(names, async name => {
    const controller = controllerOf(name);
    if (controller === undefined) return false;
    const isAlone = controllers.filter(other => other === controller).length === 1;
    return !isAlone || (await readLine(`/sys/block/${name}/nsid`, host)) !== '1';
  });
  return { own: names.filter(name => !shared.includes(name)), shared };
}

/** An NVMe disk's controller, or its subsystem; undefined for other disks. */
function controllerOf(name: string): string | undefined {
  return /^(nvme\d+)n\d+$/.exec(name)?.[1];
}

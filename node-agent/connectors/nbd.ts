import type { AttachmentOf } from '../../src/api/attachment.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { requireModule } from '../host/commands.ts';
import type { Device, DeviceConnector } from '../connector.ts';
import { findUser, requireUnused, settleDisk } from '../host/disk-use.ts';
import { fitDisk, onlyDisk, readDisk } from '../host/disk.ts';
import { removeWith } from '../host/sysfs.ts';
import type { Host } from '../host.ts';
import { endLink, identityOf, readBackend, readDevices, runLink } from './nbd/exports.ts';
import { createRepair, hasConnection } from './nbd/repair.ts';

type NbdAttachment = AttachmentOf<'nbd'>;

/** How the numbers of all its devices begin (admin-guide/devices.txt of the kernel). */
const nbdMajor = '43:';

/**
 * An export of an NBD server, which the kernel shows: that is the device's identity. Where the connection is lost, I/O waits
 * for ten minutes, and a repair or connect brings a new one. A device in use grows when it is next staged.
 */
export const nbd: DeviceConnector<'nbd'> = {
  kind: 'device',
  connect,
  disconnect,
  rescan,
  repair: createRepair(),
  owns: async (attachment, number, host) =>
    (await readBackend(`/sys/dev/block/${number}`, host)) === identityOf(attachment),
  isLeftover: (_, number, host) => isUnconnected(number, host),
};

/** True for a device of nbd's that leads nowhere, as after somebody ended its connection: it stays, and so do mounts of its node. */
async function isUnconnected(number: string, host: Host): Promise<boolean> {
  const path = `/sys/dev/block/${number}`;
  const isOfNbd = number.startsWith(nbdMajor) && (await readBackend(path, host)) === undefined;
  return isOfNbd && (await host.readText(`${path}/pid`)) === undefined;
}

async function connect(attachment: NbdAttachment, host: Host): Promise<Device> {
  await requireModule(host, 'nbd');
  const known = await findOne(attachment, host);
  if (known === undefined) await connectNew(attachment, host);
  else await runLink('reconnect', { attachment, host, name: known });
  const identity = identityOf(attachment);
  const name = await findOne(attachment, host);
  if (name === undefined) throw unavailableProblem(`no device shows "${identity}" after it was connected`);
  return fitDisk(name, { attachment, identity, rescan }, host);
}

/** A kernel that shows no name of a connection could not distinguish it from others: it is ended at once. */
async function connectNew(attachment: NbdAttachment, host: Host): Promise<void> {
  const name = `nbd${await runLink('connect', { attachment, host })}`;
  const path = `/sys/block/${name}`;
  if ((await readBackend(path, host)) !== undefined) return;
  if ((await host.readText(`${path}/pid`)) === undefined) return;
  await endLink(name, host);
  throw preconditionProblem(
    'the kernel of this node does not show which NBD export a device leads to: Linux 5.14 or later does',
  );
}

async function disconnect(attachment: NbdAttachment, host: Host): Promise<void> {
  for (const name of await findAll(attachment, host)) await end(name, attachment, host);
}

/** Takes the size of the export where it is larger by now: an unused device is connected anew under its name. */
async function rescan(attachment: NbdAttachment, host: Host): Promise<void> {
  const name = await findOne(attachment, host);
  const disk = name === undefined ? undefined : await readDisk(name, host);
  if (!disk || Number(await runLink('size', { attachment, host })) <= disk.sizeBytes) return;
  const user = await findUser(disk, host);
  if (user !== undefined)
    throw preconditionProblem(
      `device "/dev/${disk.name}" is in use by ${user}; a volume over nbd grows when it is next staged`,
    );
  await end(disk.name, attachment, host);
  await runLink('connect', { attachment, host, name: disk.name });
}

/** Ends the connection of an unused device. One that has lost its server is not flushed: even to open it could hang. */
async function end(name: string, attachment: NbdAttachment, host: Host): Promise<void> {
  const disk = await readDisk(name, host);
  if (disk && (await hasConnection(attachment, host))) await settleDisk(disk, host);
  else if (disk) await requireUnused(disk, host);
  const isThere = async () => (await readBackend(`/sys/block/${name}`, host)) === identityOf(attachment);
  await removeWith(() => endLink(name, host), `the connection of device "/dev/${name}"`, isThere);
}

async function findOne(attachment: NbdAttachment, host: Host): Promise<string | undefined> {
  return onlyDisk(await findAll(attachment, host), identityOf(attachment));
}

async function findAll(attachment: NbdAttachment, host: Host): Promise<readonly string[]> {
  return (await readDevices(host)).get(identityOf(attachment)) ?? [];
}

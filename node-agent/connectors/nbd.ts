import type { AttachmentOf } from '../../src/api/attachment.ts';
import { Problem } from '../../src/api/problem.ts';
import { requireModule } from '../host/commands.ts';
import type { Device, DeviceConnector } from '../connector.ts';
import { findUser, requireUnused, settleDisk } from '../host/disk-use.ts';
import { fitDisk, onlyDisk, readDisk, type Disk } from '../host/disk.ts';
import { waitUntilGone } from '../host/sysfs.ts';
import type { Host } from '../host.ts';
import { addressOf, readPeers, type Peer } from './nbd/peers.ts';
import { endLink, identityOf, indexOf, readBackend, readDevices, runLink } from './nbd/exports.ts';
import { createRepair } from './nbd/repair.ts';

type NbdAttachment = AttachmentOf<'nbd'>;

/**
 * An export of an NBD server. The kernel has the connection, so that nothing of the agent needs to live for it, and
 * keeps with it which export it leads to: that is the device's identity. Where the connection is lost, I/O waits for
 * ten minutes, and the next repair or connect brings a new one. A server tells a size once per connection, so that
 * a device in use keeps its size until the volume is next staged.
 */
export const nbd: DeviceConnector<'nbd'> = {
  kind: 'device',
  protocol: 'nbd',
  connect,
  disconnect,
  rescan,
  repair: createRepair(),
  owns: async (attachment, number, host) =>
    (await readBackend(`/sys/dev/block/${number}`, host)) === identityOf(attachment),
};

async function connect(attachment: NbdAttachment, host: Host): Promise<Device> {
  await requireModule(host, 'nbd');
  const known = await findOne(attachment, host);
  if (known === undefined) await connectNew(attachment, host);
  else await runLink('reconnect', attachment, host, indexOf(known));
  const name = await findOne(attachment, host);
  if (name === undefined)
    throw new Problem('UNAVAILABLE', `no device shows "${identityOf(attachment)}" after it was connected`);
  const fitting = {
    volume: attachment,
    identity: identityOf(attachment),
    rescan: () => rescan(attachment, host),
  };
  return fitDisk(name, fitting, host);
}

/** A kernel that shows no name of a connection could not tell it from others: it is ended at once. */
async function connectNew(attachment: NbdAttachment, host: Host): Promise<void> {
  const index = await runLink('connect', attachment, host);
  const place = `/sys/block/nbd${index}`;
  if ((await readBackend(place, host)) !== undefined) return;
  if ((await host.readText(`${place}/pid`)) === undefined) return;
  await endLink(index, host);
  throw new Problem(
    'FAILED_PRECONDITION',
    'the kernel of this node does not show which NBD export a device leads to: Linux 5.14 or later does',
  );
}

async function disconnect(attachment: NbdAttachment, host: Host): Promise<void> {
  for (const name of await findAll(attachment, host)) {
    const disk = await readDisk(name, host);
    if (disk) await settle(disk, attachment, host);
    await end(name, attachment, host);
  }
}

/** Takes the size of the export where it is larger by now: an unused device is connected anew under its name. */
async function rescan(attachment: NbdAttachment, host: Host): Promise<void> {
  const name = await findOne(attachment, host);
  const disk = name === undefined ? undefined : await readDisk(name, host);
  if (!disk || Number(await runLink('size', attachment, host)) <= disk.sizeBytes) return;
  const user = await findUser(disk, host);
  if (user !== undefined)
    throw new Problem(
      'FAILED_PRECONDITION',
      `device "/dev/${disk.name}" is in use by ${user}; a volume over nbd grows when it is next staged`,
    );
  await settle(disk, attachment, host);
  await end(disk.name, attachment, host);
  await runLink('connect', attachment, host, indexOf(disk.name));
}

/** What has lost its server takes nothing any more, and already to open it may take until the I/O is given up. */
async function settle(disk: Disk, { server, port }: NbdAttachment, host: Host): Promise<void> {
  const address = addressOf(server);
  const isTo = (peer: Peer): boolean =>
    peer.port === port && (address === undefined || peer.address === address);
  await ((await readPeers(host)).some(isTo) ? settleDisk(disk, host) : requireUnused(disk, host));
}

async function end(name: string, attachment: NbdAttachment, host: Host): Promise<void> {
  await endLink(indexOf(name), host);
  const isThere = async () => (await readBackend(`/sys/block/${name}`, host)) === identityOf(attachment);
  await waitUntilGone(`the connection of device "/dev/${name}"`, isThere);
}

async function findOne(attachment: NbdAttachment, host: Host): Promise<string | undefined> {
  return onlyDisk(await findAll(attachment, host), identityOf(attachment));
}

async function findAll(attachment: NbdAttachment, host: Host): Promise<readonly string[]> {
  return (await readDevices(host)).get(identityOf(attachment)) ?? [];
}

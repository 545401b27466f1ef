import type { AttachmentOf } from '../../src/api/attachment.ts';
import { invalidProblem, preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { requireModule, runWell } from '../host/commands.ts';
import type { Device, DeviceConnector, Others, Secrets } from '../connector.ts';
import { connectMissing, withPort, type Connection } from '../host/connections.ts';
import { findUser, settleDisk } from '../host/disk-use.ts';
import { fitDisk, onlyDisk, readDisk } from '../host/disk.ts';
import { filterAsync, readLine, removeWith, waitFor, writeLine } from '../host/sysfs.ts';
import type { Host } from '../host.ts';
import { createKeyedQueue } from '../../src/lib/concurrency.ts';
import { hostPort } from '../../src/lib/parsers.ts';
import { connectWithKeys, hideKeys, readKeys, type Keys } from './nvme-tcp/authentication.ts';

type NvmeAttachment = AttachmentOf<'nvme-tcp'>;

/** A controller, one way to a subsystem, by its name such as `nvme3`. */
type Controller = Connection & { readonly name: string };

const subsystemPattern = /^nqn\.[A-Za-z0-9.:_-]{1,219}$/;
/** What the kernel makes of a serial number, a model and a namespace's number would name the next volume there, too. */
const wwidPattern = /^(uuid\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|eui\.([0-9a-f]{16}|[0-9a-f]{32}))$/i;

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * For how long, and how often, a controller tries to get a lost connection back; I/O waits meanwhile unless another path
 * takes it. With the last controller the device is removed: I/O fails, and the volume needs to be staged anew.
 */
const [lossSeconds, reconnectSeconds, keepAliveSeconds] = [600, 2, 5];
const connectTimeoutMs = 20_000;

/**
 * A namespace of an NVMe subsystem over TCP. The kernel has the connections, which outlive the agent, and makes one
 * device of several paths (native multipath). With secrets both ends, or the node alone, prove who they are.
 */
export const nvmeTcp = createNvmeTcp();

function createNvmeTcp(): DeviceConnector<'nvme-tcp'> {
  // Volumes of one subsystem share its controllers, so that one comes or goes at a time.
  const inTurn = createKeyedQueue();
  return {
    kind: 'device',
    connect: (attachment, host, secrets = {}) =>
      inTurn(attachment.subsystem, () => connect(attachment, host, secrets)),
    disconnect: (attachment, host, others = () => []) =>
      inTurn(attachment.subsystem, () => disconnect(attachment, host, others)),
    rescan,
    owns: ({ wwid }, number, host) => isNamespace(`/sys/dev/block/${number}`, wwid, host),
  };
}

async function connect(attachment: NvmeAttachment, host: Host, secrets: Secrets): Promise<Device> {
  requireNames(attachment);
  const keys = readKeys(secrets);
  await requireModule(host, 'nvme_tcp');
  await requireMultipath(attachment, host);
  const { wwid, subsystem, addresses } = attachment;
  const own = readHost(attachment);
  // What a crash left open between connecting and hiding.
  if (keys.length > 0) await hideKeys(await readControllers(subsystem, host), host);
  await connectMissing({
    addresses,
    read: () => readControllers(subsystem, host),
    connect: address => connectTo(address, { subsystem, own, keys, host }),
    what: `controller of subsystem "${subsystem}"`,
  });
  // The kernel looks by itself, but for a namespace that was added since, of which the notice may be lost.
  if ((await findNamespaces(attachment, host)).length === 0) await rescan(attachment, host);
  const name = await waitFor(async () => onlyDisk(await findNamespaces(attachment, host), wwid));
  if (name === undefined)
    throw unavailableProblem(`no namespace of subsystem "${subsystem}" says that it is "${wwid}" yet`);
  return fitDisk(name, { attachment, identity: wwid, rescan }, host);
}

/** How this node calls itself, and proves who it is. */
type To = { readonly subsystem: string; readonly own: Keys; readonly keys: Keys; readonly host: Host };

async function connectTo(address: string, { subsystem, own, keys, host }: To): Promise<void> {
  const { host: ip, port } = hostPort(address);
  const options = [
    ['transport', 'tcp'],
    ['traddr', ip],
    ['trsvcid', String(port)],
    ['nqn', subsystem],
    ['ctrl_loss_tmo', String(lossSeconds)],
    ['reconnect_delay', String(reconnectSeconds)],
    ['keep_alive_tmo', String(keepAliveSeconds)],
    ...own,
  ] as const;
  if (keys.length === 0) {
    const args = options.map(([name, value]) => `--${name.replaceAll('_', '-')}=${value}`);
    await runWell(host, { command: 'nvme', args: ['connect', ...args], timeoutMs: connectTimeoutMs });
    return;
  }
  try {
    await connectWithKeys([...options, ...keys], connectTimeoutMs, host);
  } finally {
    await hideKeys(await readControllers(subsystem, host), host);
  }
}

function requireNames({ subsystem, wwid }: NvmeAttachment): void {
  if (!subsystemPattern.test(subsystem)) throw invalidProblem(`nvme subsystem "${subsystem}" is no NQN`);
  if (!wwidPattern.test(wwid))
    throw invalidProblem(
      `nvme namespace "${wwid}" is neither "uuid." and a UUID nor "eui." and 16 or 32 hexadecimal digits`,
    );
}

/** The name that the attachment has for this node; without it the node's own counts. */
function readHost({ hostNqn, hostId }: NvmeAttachment): Keys {
  if (hostNqn === undefined) return [];
  if (!subsystemPattern.test(hostNqn)) throw invalidProblem(`nvme host "${hostNqn}" is no NQN`);
  if (hostId === undefined || !uuidPattern.test(hostId))
    throw invalidProblem(`nvme host id "${hostId ?? ''}" is no UUID`);
  return [
    ['hostnqn', hostNqn],
    ['hostid', hostId],
  ];
}

async function requireMultipath({ addresses }: NvmeAttachment, host: Host): Promise<void> {
  const setting = await readLine('/sys/module/nvme_core/parameters/multipath', host);
  if (addresses.length > 1 && setting !== 'Y')
    throw preconditionProblem(
      'the volume has more than one address, and the kernel of this node has multipath for NVMe turned off (nvme_core.multipath)',
    );
}

async function disconnect(attachment: NvmeAttachment, host: Host, others: Others): Promise<void> {
  const { subsystem, addresses } = attachment;
  for (const name of await findNamespaces(attachment, host)) {
    const disk = await readDisk(name, host);
    if (!disk) continue;
    await settleDisk(disk, host);
    if (disk.readonly) await runWell(host, { command: 'blockdev', args: ['--setrw', `/dev/${name}`] });
  }
  if (await isUsed(subsystem, host)) return;
  const needed = others().flatMap(other =>
    other.protocol === 'nvme-tcp' && other.subsystem === subsystem ? other.addresses : [],
  );
  const unneeded = new Set(addresses).difference(new Set(needed));
  for (const controller of await readControllers(subsystem, host))
    if (unneeded.has(controller.address)) await remove(controller, subsystem, host);
}

/** True when a namespace of the subsystem is in use, be it another volume's. */
async function isUsed(subsystem: string, host: Host): Promise<boolean> {
  for (const name of await readNamespaces(subsystem, host)) {
    const disk = await readDisk(name, host);
    if (disk && (await findUser(disk, host)) !== undefined) return true;
  }
  return false;
}

async function remove({ name, address }: Controller, subsystem: string, host: Host): Promise<void> {
  const giveUp = () => writeLine(`/sys/class/nvme/${name}/delete_controller`, '1', host);
  await removeWith(giveUp, `controller "${name}" to ${address}`, async () => {
    const left = await readControllers(subsystem, host);
    return left.some(controller => controller.name === name);
  });
}

/** Controllers report namespaces that come, go and grow; where that is lost, the live ones are asked. */
async function rescan({ subsystem }: NvmeAttachment, host: Host): Promise<void> {
  for (const { name, isUp } of await readControllers(subsystem, host))
    if (isUp) await writeLine(`/sys/class/nvme/${name}/rescan_controller`, '1', host);
}

async function findNamespaces({ subsystem, wwid }: NvmeAttachment, host: Host): Promise<readonly string[]> {
  const names = await readNamespaces(subsystem, host);
  return filterAsync(names, name => isNamespace(`/sys/block/${name}`, wwid, host));
}

/** The controllers of a subsystem over TCP, whoever connected them. */
async function readControllers(subsystem: string, host: Host): Promise<readonly Controller[]> {
  const names = await host.list('/sys/class/nvme');
  const controllers = await Promise.all(names.map(name => readController(name, subsystem, host)));
  return controllers.filter(controller => controller !== undefined);
}

async function readController(name: string, subsystem: string, host: Host): Promise<Controller | undefined> {
  const [nqn, transport, address = '', state] = await Promise.all(
    ['subsysnqn', 'transport', 'address', 'state'].map(file =>
      readLine(`/sys/class/nvme/${name}/${file}`, host),
    ),
  );
  if (nqn !== subsystem || transport !== 'tcp') return undefined;
  const parts = new Map(address.split(',').map(part => part.split('=') as [string, string]));
  return {
    name,
    address: withPort(parts.get('traddr') ?? '', parts.get('trsvcid')),
    isUp: state === 'live',
  };
}

/** The disks of a subsystem's namespaces: with multipath one per namespace, whatever the number of controllers. */
async function readNamespaces(subsystem: string, host: Host): Promise<readonly string[]> {
  const names = (await host.list('/sys/block')).filter(name => /^nvme\d+n\d+$/.test(name));
  return filterAsync(
    names,
    async name => (await readLine(`/sys/block/${name}/device/subsysnqn`, host)) === subsystem,
  );
}

/** True when the device at a path in sysfs is a namespace that says this of itself, by any of its identifiers. */
async function isNamespace(path: string, wwid: string, host: Host): Promise<boolean> {
  const [partition, shown, nguid, eui] = await Promise.all(
    ['partition', 'wwid', 'nguid', 'eui'].map(file => readLine(`${path}/${file}`, host)),
  );
  if (partition !== undefined) return false;
  const all = [shown, nguid && `eui.${nguid.replaceAll('-', '')}`, eui && `eui.${eui.replaceAll(' ', '')}`];
  return all.includes(wwid.toLowerCase());
}

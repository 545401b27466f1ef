import { canonicalAddress } from '../../src/api/attachments/addresses.ts';
import type { AttachmentOf } from '../../src/api/attachment.ts';
import { invalidProblem, preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { requireModule, runWell } from '../host/commands.ts';
import {
  undoRefused,
  type Device,
  type DeviceConnector,
  type OtherAttachments,
  type Secrets,
} from '../connector.ts';
import { connectMissing, withPort, type Connection } from '../host/connections.ts';
import { findUser, settleDisk } from '../host/disk-use.ts';
import { fitDisk, onlyDisk, readDisk } from '../host/disk.ts';
import { filterAsync, readLine, removeWith, waitFor, writeLine } from '../host/sysfs.ts';
import type { Host } from '../host.ts';
import { createKeyedQueue } from '../../src/lib/concurrency.ts';
import { hostPort } from '../../src/lib/parsers.ts';
import { connectWithKeys, hideKeys, readKeys, type Keys } from './nvme-tcp/authentication.ts';

type NvmeAttachment = AttachmentOf<'nvme-tcp'>;

/** A controller, which is one path to a subsystem, by its name such as `nvme3`. */
type Controller = Connection & { readonly name: string };

const subsystemPattern = /^nqn\.[A-Za-z0-9.:_-]{1,219}$/;
/** Accepts only globally unique names. A wwid that the kernel builds from serial number, model and namespace is reused. */
const wwidPattern = /^(uuid\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|eui\.([0-9a-f]{16}|[0-9a-f]{32}))$/i;

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The time that a controller keeps reconnecting, the interval of its tries, and the keep-alive interval. I/O waits meanwhile
 * unless there is another path. When the last controller gives up, the kernel removes the device, I/O fails, and the volume
 * must be staged again.
 */
const [lossSeconds, reconnectSeconds, keepAliveSeconds] = [600, 2, 5];
const connectTimeoutMs = 20_000;
/** The port that the kernel uses, and does not show, if none is given. */
const defaultPort = '4420';

/**
 * Connects namespaces of an NVMe subsystem over TCP. The kernel keeps the connections, which outlive the agent, and combines
 * several paths into one device (native multipath). Secrets authenticate the node, or both ends.
 */
export const nvmeTcp = createNvmeTcp();

function createNvmeTcp(): DeviceConnector<'nvme-tcp'> {
  // Volumes of one subsystem share its controllers, so they are connected and disconnected one at a time.
  const enqueue = createKeyedQueue();
  return {
    kind: 'device',
    connect: (attachment, host, secrets = {}) =>
      enqueue(attachment.subsystem, () => connect(attachment, host, secrets)),
    disconnect: (attachment, host, others = () => []) =>
      enqueue(attachment.subsystem, () => disconnect(attachment, host, others)),
    cutOff: (attachment, host, others = () => []) =>
      enqueue(attachment.subsystem, () => cutOff(attachment, host, others)),
    rescan,
    owns: ({ wwid }, number, host) => isNamespace(`/sys/dev/block/${number}`, wwid, host),
  };
}

async function connect(attachment: NvmeAttachment, host: Host, secrets: Secrets): Promise<Device> {
  requireNames(attachment);
  const keys = readKeys(secrets);
  await requireModule(host, 'nvme_tcp');
  await requireMultipath(attachment, host);
  const { subsystem } = attachment;
  const own = readHost(attachment);
  const before = await readControllers(subsystem, host);
  // An agent that crashed after connecting may not have hidden the keys.
  if (keys.length > 0) await hideKeys(before, host);
  const known = new Set(before.map(({ name }) => name));
  return undoRefused(
    () => connectNamespace(attachment, { subsystem, own, keys, host }),
    () => takeBack(known, subsystem, host),
  );
}

async function connectNamespace(attachment: NvmeAttachment, options: ConnectOptions): Promise<Device> {
  const { wwid, subsystem, addresses } = attachment;
  const { host } = options;
  await connectMissing({
    addresses,
    read: () => readControllers(subsystem, host),
    connect: address => connectTo(address, options),
    what: `controller of subsystem "${subsystem}"`,
  });
  // The kernel may have missed the notice of a namespace that was added after connecting.
  if ((await findNamespaces(attachment, host)).length === 0) await rescan(attachment, host);
  const name =
    (await waitFor(async () => onlyDisk(await findNamespaces(attachment, host), wwid))) ??
    (await explainMissing(attachment, host));
  return fitDisk(name, { attachment, identity: wwid, rescan }, host);
}

/** FAILED_PRECONDITION if the subsystem shows only other namespaces; UNAVAILABLE if none, since it may still appear. */
async function explainMissing({ subsystem, wwid }: NvmeAttachment, host: Host): Promise<never> {
  const [other] = await readNamespaces(subsystem, host);
  const found = other === undefined ? undefined : await readLine(`/sys/block/${other}/wwid`, host);
  if (found === undefined)
    throw unavailableProblem(`subsystem "${subsystem}" does not show namespace "${wwid}" yet; try again`);
  throw preconditionProblem(
    `subsystem "${subsystem}" shows namespace "${found}" but not "${wwid}"; check the subsystem's namespaces`,
  );
}

/** Removes the controllers that are not among the known ones, unless a namespace needs them. */
async function takeBack(known: ReadonlySet<string>, subsystem: string, host: Host): Promise<void> {
  if (known.size === 0 && (await isUsed(subsystem, host))) return;
  for (const controller of await readControllers(subsystem, host))
    if (!known.has(controller.name)) await remove(controller, subsystem, host);
}

/** The parameters of a new connection: `own` are this node's names, `keys` its authentication. */
type ConnectOptions = {
  readonly subsystem: string;
  readonly own: Keys;
  readonly keys: Keys;
  readonly host: Host;
};

async function connectTo(address: string, { subsystem, own, keys, host }: ConnectOptions): Promise<void> {
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
  if (!subsystemPattern.test(subsystem))
    throw invalidProblem(`nvme subsystem "${subsystem}" is not a valid NQN`);
  if (!wwidPattern.test(wwid))
    throw invalidProblem(
      `nvme namespace "${wwid}" is neither "uuid." and a UUID nor "eui." and 16 or 32 hexadecimal digits`,
    );
}

/** Returns the attachment's name for this node, or none if the node's own name is used. */
function readHost({ hostNqn, hostId }: NvmeAttachment): Keys {
  if (hostNqn === undefined) return [];
  if (!subsystemPattern.test(hostNqn)) throw invalidProblem(`nvme host "${hostNqn}" is not a valid NQN`);
  if (hostId === undefined || !uuidPattern.test(hostId))
    throw invalidProblem(`nvme host id "${hostId ?? ''}" is not a UUID`);
  return [
    ['hostnqn', hostNqn],
    ['hostid', hostId],
  ];
}

async function requireMultipath({ addresses }: NvmeAttachment, host: Host): Promise<void> {
  const setting = await readLine('/sys/module/nvme_core/parameters/multipath', host);
  if (addresses.length > 1 && setting !== 'Y')
    throw preconditionProblem(
      'the volume has more than one address, but NVMe multipath is off in the kernel of this node; set nvme_core.multipath=Y',
    );
}

async function disconnect(attachment: NvmeAttachment, host: Host, others: OtherAttachments): Promise<void> {
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
  const unneeded = new Set(addresses.map(canonicalAddress)).difference(new Set(needed.map(canonicalAddress)));
  for (const controller of await readControllers(subsystem, host))
    if (unneeded.has(controller.address)) await remove(controller, subsystem, host);
}

/** Deletes the controllers, so that all their requests fail. The kernel cannot cut off a single namespace. */
async function cutOff(attachment: NvmeAttachment, host: Host, others: OtherAttachments): Promise<void> {
  const { subsystem } = attachment;
  const own = await findNamespaces(attachment, host);
  if (own.length === 0) return;
  const isShared = others().some(other => other.protocol === 'nvme-tcp' && other.subsystem === subsystem);
  if (isShared || (await isUsed(subsystem, host, own)))
    throw preconditionProblem(
      `nvme namespace "${attachment.wwid}" cannot be cut off alone: another volume on this node is in subsystem "${subsystem}" too; unpublish and unstage that volume first`,
    );
  for (const controller of await readControllers(subsystem, host)) await remove(controller, subsystem, host);
}

/** True if a namespace of the subsystem, except the given ones, is in use, even by another volume. */
async function isUsed(subsystem: string, host: Host, except: readonly string[] = []): Promise<boolean> {
  for (const name of await readNamespaces(subsystem, host)) {
    if (except.includes(name)) continue;
    const disk = await readDisk(name, host);
    if (disk && (await findUser(disk, host)) !== undefined) return true;
  }
  return false;
}

async function remove({ name, address }: Controller, subsystem: string, host: Host): Promise<void> {
  const giveUp = () => writeLine(`/sys/class/nvme/${name}/delete_controller`, '1', host);
  const isThere = async () => {
    const left = await readControllers(subsystem, host);
    return left.some(controller => controller.name === name);
  };
  await removeWith(giveUp, { what: `controller "${name}" to ${address}`, isThere });
}

/** Makes the live controllers list their namespaces again, since a notice of a changed namespace may be lost. */
async function rescan({ subsystem }: NvmeAttachment, host: Host): Promise<void> {
  for (const { name, isUp } of await readControllers(subsystem, host))
    if (isUp) await writeLine(`/sys/class/nvme/${name}/rescan_controller`, '1', host);
}

async function findNamespaces({ subsystem, wwid }: NvmeAttachment, host: Host): Promise<readonly string[]> {
  const names = await readNamespaces(subsystem, host);
  return filterAsync(names, name => isNamespace(`/sys/block/${name}`, wwid, host));
}

/** Lists all controllers of a subsystem over TCP, even if the agent did not connect them. */
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
    address: canonicalAddress(withPort(parts.get('traddr') ?? '', parts.get('trsvcid') ?? defaultPort)),
    isUp: state === 'live',
  };
}

/** Lists the disks of a subsystem's namespaces. With multipath there is one per namespace, for any number of controllers. */
async function readNamespaces(subsystem: string, host: Host): Promise<readonly string[]> {
  const names = (await host.list('/sys/block')).filter(name => /^nvme\d+n\d+$/.test(name));
  return filterAsync(
    names,
    async name => (await readLine(`/sys/block/${name}/device/subsysnqn`, host)) === subsystem,
  );
}

/** True if the device at a path in sysfs is a namespace and one of its identifiers is the wwid. */
async function isNamespace(path: string, wwid: string, host: Host): Promise<boolean> {
  const [partition, shown, nguid, eui] = await Promise.all(
    ['partition', 'wwid', 'nguid', 'eui'].map(file => readLine(`${path}/${file}`, host)),
  );
  if (partition !== undefined) return false;
  const all = [shown, nguid && `eui.${nguid.replaceAll('-', '')}`, eui && `eui.${eui.replaceAll(' ', '')}`];
  return all.includes(wwid.toLowerCase());
}

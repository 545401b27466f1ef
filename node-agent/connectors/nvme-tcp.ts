import type { AttachmentOf } from '../../src/api/attachment.ts';
import { Problem } from '../../src/api/problem.ts';
import { requireModule, runWell } from '../host/commands.ts';
import type { Device, DeviceConnector, Others, Secrets } from '../connector.ts';
import { findUser, settleDisk } from '../host/disk-use.ts';
import { fitDisk, onlyDisk, readDisk } from '../host/disk.ts';
import { keepWhere, readLine, waitFor, waitUntilGone, writeLine } from '../host/sysfs.ts';
import type { Host } from '../host.ts';
import { createKeyedQueue } from '../../src/lib/concurrency.ts';
import {
  connectWithKeys,
  hideKeys,
  requireAuthentication,
  readKeys,
  type Keys,
} from './nvme-tcp/authentication.ts';
import { isNamespace, readControllers, readNamespaces, type Controller } from './nvme-tcp/controllers.ts';

type NvmeAttachment = AttachmentOf<'nvme-tcp'>;

const subsystemPattern = /^nqn\.[A-Za-z0-9.:_-]{1,219}$/;
/** What is made of a serial number, a model and a place among the namespaces would name the next volume there, too. */
const wwidPattern = /^(uuid\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|eui\.([0-9a-f]{16}|[0-9a-f]{32}))$/i;

/**
 * How long a controller that has lost its connection tries to get it back, in seconds, and how often; I/O waits
 * meanwhile unless another path takes it. Then the controller is removed, and with the last one the device: I/O
 * fails, and the volume needs to be staged anew.
 */
const lossSeconds = 600;
const reconnectSeconds = 2;
const keepAliveSeconds = 5;
/** A portal that does not answer is given up after this long. */
const connectTimeoutMs = 20_000;

/** Volumes of one subsystem share its controllers, so that one comes or goes at a time. */
const inTurn = createKeyedQueue();

/**
 * A namespace of an NVMe subsystem over TCP. The kernel keeps the connections, which outlive the agent, and makes one
 * device of several paths (native multipath). An address that does not answer is left out while another does, and is
 * added by the next connect. With secrets both ends, or the node alone, prove who they are (DH-HMAC-CHAP).
 */
export const nvmeTcp: DeviceConnector<'nvme-tcp'> = {
  kind: 'device',
  connect: (attachment, host, secrets = {}) =>
    inTurn(attachment.subsystem, () => connect(attachment, host, secrets)),
  disconnect: (attachment, host, others = () => []) =>
    inTurn(attachment.subsystem, () => disconnect(attachment, host, others)),
  rescan,
  owns: ({ wwid }, number, host) => isNamespace(`/sys/dev/block/${number}`, wwid, host),
};

async function connect(attachment: NvmeAttachment, host: Host, secrets: Secrets): Promise<Device> {
  requireNames(attachment);
  const keys = readKeys(secrets);
  await requireModule(host, 'nvme_tcp');
  await requireMultipath(attachment, host);
  const isOld = await bringControllers(attachment, host, keys);
  // A namespace that was added to the subsystem since is usually told, and seen a little later.
  if (isOld && (await findNamespaces(attachment, host)).length === 0) await rescan(attachment, host);
  const { wwid, subsystem } = attachment;
  const name = await waitFor(async () => onlyDisk(await findNamespaces(attachment, host), wwid));
  if (name === undefined)
    throw new Problem(
      'UNAVAILABLE',
      `no namespace of subsystem "${subsystem}" says that it is "${wwid}" yet`,
    );
  return fitDisk(name, { attachment, identity: wwid, rescan }, host);
}

/** Connects every address that has no controller; throws when none is live then, and tells if one was before. */
async function bringControllers(attachment: NvmeAttachment, host: Host, keys: Keys): Promise<boolean> {
  const { subsystem, addresses } = attachment;
  const before = await readControllers(subsystem, host);
  const missing = addresses.filter(address => !before.some(known => known.address === address));
  if (keys.length > 0 && missing.length > 0) await requireAuthentication(host);
  const hide = async (): Promise<void> => {
    if (keys.length > 0) await hideKeys(subsystem, host);
  };
  // Each as soon as it is there: another may be silent for long.
  const results = await Promise.allSettled(
    missing.map(address => connectTo(address, { subsystem, keys, host }).finally(hide)),
  );
  if (missing.length === 0) await hide();
  const failed = results.find(result => result.status === 'rejected');
  const isLive = await waitFor(async () => {
    const known = (await readControllers(subsystem, host)).filter(({ address }) =>
      addresses.includes(address),
    );
    const isDone = known.some(controller => controller.isLive) || known.length === 0;
    return isDone ? known.length > 0 : undefined;
  });
  if (failed && (!isLive || !(failed.reason instanceof Problem))) throw failed.reason;
  if (!isLive)
    throw new Problem(
      'UNAVAILABLE',
      `no controller of subsystem "${subsystem}" is live; the kernel tries on`,
    );
  return before.length > 0;
}

type Connection = { readonly subsystem: string; readonly keys: Keys; readonly host: Host };

async function connectTo(address: string, { subsystem, keys, host }: Connection): Promise<void> {
  const colon = address.lastIndexOf(':');
  const options = [
    ['transport', 'tcp'],
    ['traddr', address.slice(0, colon).replaceAll(/[[\]]/g, '')],
    ['trsvcid', address.slice(colon + 1)],
    ['nqn', subsystem],
    ['ctrl_loss_tmo', String(lossSeconds)],
    ['reconnect_delay', String(reconnectSeconds)],
    ['keep_alive_tmo', String(keepAliveSeconds)],
  ] as const;
  if (keys.length > 0) {
    await connectWithKeys([...options, ...keys], { host, timeoutMs: connectTimeoutMs });
    return;
  }
  const args = options.map(([name, value]) => `--${name.replaceAll('_', '-')}=${value}`);
  await runWell(host, { command: 'nvme', args: ['connect', ...args], timeoutMs: connectTimeoutMs });
}

function requireNames({ subsystem, wwid }: NvmeAttachment): void {
  if (!subsystemPattern.test(subsystem))
    throw new Problem('INVALID_ARGUMENT', `nvme subsystem "${subsystem}" is no NQN`);
  if (!wwidPattern.test(wwid))
    throw new Problem(
      'INVALID_ARGUMENT',
      `nvme namespace "${wwid}" is neither "uuid." and a UUID nor "eui." and 16 or 32 hexadecimal digits`,
    );
}

async function requireMultipath({ addresses }: NvmeAttachment, host: Host): Promise<void> {
  const setting = await readLine('/sys/module/nvme_core/parameters/multipath', host);
  if (addresses.length > 1 && setting !== 'Y')
    throw new Problem(
      'FAILED_PRECONDITION',
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
  const needed = new Set(
    others().flatMap(other =>
      other.protocol === 'nvme-tcp' && other.subsystem === subsystem ? other.addresses : [],
    ),
  );
  for (const controller of await readControllers(subsystem, host))
    if (addresses.includes(controller.address) && !needed.has(controller.address))
      await remove(controller, subsystem, host);
}

/** True when a namespace of the subsystem is in use, by whomever. */
async function isUsed(subsystem: string, host: Host): Promise<boolean> {
  for (const name of await readNamespaces(subsystem, host)) {
    const disk = await readDisk(name, host);
    if (disk && (await findUser(disk, host)) !== undefined) return true;
  }
  return false;
}

async function remove({ name, address }: Controller, subsystem: string, host: Host): Promise<void> {
  await writeLine(`/sys/class/nvme/${name}/delete_controller`, '1', host);
  await waitUntilGone(`controller "${name}" to ${address}`, async () => {
    const left = await readControllers(subsystem, host);
    return left.some(controller => controller.name === name);
  });
}

/** Namespaces that come, go and grow are told of; where that is lost, the live controllers are asked. */
async function rescan({ subsystem }: NvmeAttachment, host: Host): Promise<void> {
  for (const { name, isLive } of await readControllers(subsystem, host))
    if (isLive) await writeLine(`/sys/class/nvme/${name}/rescan_controller`, '1', host);
}

async function findNamespaces({ subsystem, wwid }: NvmeAttachment, host: Host): Promise<readonly string[]> {
  const names = await readNamespaces(subsystem, host);
  return keepWhere(names, name => isNamespace(`/sys/block/${name}`, wwid, host));
}

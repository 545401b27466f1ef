import { fileURLToPath } from 'node:url';
import type { AttachmentOf } from '../../src/api/attachment.ts';
import { Problem } from '../../src/api/problem.ts';
import { needModule, runWell } from '../commands.ts';
import type { Device, DeviceConnector } from '../connector.ts';
import { findUser, fitDisk, readDisk, refuseUsedDisk, waitFor } from '../disk.ts';
import type { CommandLine } from '../filesystem.ts';
import type { Host } from '../host.ts';

type NbdAttachment = AttachmentOf<'nbd'>;

const link = fileURLToPath(new URL('nbd/link.ts', import.meta.url));
const linkTimeoutMs = 30_000;

/**
 * An export of an NBD server. The kernel has the connection, so that nothing of the agent needs to live for it, and
 * keeps with it which export it leads to: that is the device's identity. Where the connection is lost, I/O waits for
 * ten minutes, and the next repair or connect brings a new one. A server tells a size once per connection: what has grown is
 * seen when it is connected anew, which needs the volume to be unused.
 */
export const nbd: DeviceConnector<'nbd'> = {
  kind: 'device',
  protocol: 'nbd',
  connect,
  disconnect,
  rescan,
  repair,
  owns: async (attachment, number, host) =>
    (await readBackend(`/sys/dev/block/${number}`, host)) === identityOf(attachment),
};

async function connect(attachment: NbdAttachment, host: Host): Promise<Device> {
  await needModule(host, 'nbd');
  const known = await findOne(attachment, host);
  if (known === undefined) await runLink('connect', attachment, host);
  else await runLink('reconnect', attachment, host, indexOf(known));
  const name = await waitFor(() => findOne(attachment, host));
  if (name === undefined)
    throw new Problem('UNAVAILABLE', `no device shows "${identityOf(attachment)}" after it was connected`);
  const fitting = {
    volume: attachment,
    identity: identityOf(attachment),
    rescan: () => rescan(attachment, host),
  };
  return fitDisk(name, fitting, host);
}

async function disconnect(attachment: NbdAttachment, host: Host): Promise<void> {
  for (const name of await findAll(attachment, host)) {
    const disk = await readDisk(name, host);
    if (disk) await refuseUsedDisk(disk, host);
    await letGo(name, attachment, host);
  }
}

/** Connects an unused device anew, under its name, where the server has a larger export by now. */
async function rescan(attachment: NbdAttachment, host: Host): Promise<void> {
  const name = await findOne(attachment, host);
  const disk = name === undefined ? undefined : await readDisk(name, host);
  if (!disk || Number(await runLink('size', attachment, host)) <= disk.sizeBytes) return;
  const user = await findUser(disk, host);
  if (user !== undefined)
    throw new Problem(
      'FAILED_PRECONDITION',
      `device "/dev/${disk.name}" has the size of its export when it is next connected, and is in use by ${user}`,
    );
  await letGo(disk.name, attachment, host);
  await runLink('connect', attachment, host, indexOf(disk.name));
}

/** The kernel tells nobody that a connection is lost; it then has fewer of them than devices. */
async function repair(attachments: readonly NbdAttachment[], host: Host): Promise<void> {
  const connected: NbdAttachment[] = [];
  for (const attachment of attachments)
    if ((await findAll(attachment, host)).length === 1) connected.push(attachment);
  for (const port of new Set(connected.map(attachment => attachment.port))) {
    const own = connected.filter(attachment => attachment.port === port);
    if ((await countConnections(port, host)) >= own.length) continue;
    const results = await Promise.allSettled(
      own.map(async attachment => {
        const name = await findOne(attachment, host);
        if (name !== undefined) await runLink('reconnect', attachment, host, indexOf(name));
      }),
    );
    const failed = results.find(result => result.status === 'rejected');
    if (failed) throw failed.reason;
  }
}

/** How many connections to other machines' port are established: state 01, in the fourth column (proc(5)). */
async function countConnections(port: number, host: Host): Promise<number> {
  const texts = await Promise.all(['tcp', 'tcp6'].map(name => host.readText(`/proc/net/${name}`)));
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = texts.flatMap(text => (text ?? '').split('\n').map(line => line.trim().split(/\s+/)));
  return lines.filter(([, , remote, state]) => state === '01' && remote?.endsWith(end)).length;
}

async function letGo(name: string, attachment: NbdAttachment, host: Host): Promise<void> {
  await runWell(host, linkLine(['disconnect', indexOf(name)]));
  const isGone = await waitFor(async () =>
    (await readBackend(`/sys/block/${name}`, host)) === identityOf(attachment) ? undefined : true,
  );
  if (!isGone)
    throw new Problem('UNAVAILABLE', `device "/dev/${name}" is still connected after it was let go`);
}

type Operation = 'size' | 'connect' | 'reconnect';

async function runLink(
  operation: Operation,
  attachment: NbdAttachment,
  ...[host, index]: [host: Host, index?: string]
): Promise<string> {
  const { server, port, export: name, readonly } = attachment;
  const mode = readonly ? 'ro' : 'rw';
  const place = index === undefined ? [] : [index];
  const args = [operation, server, String(port), name, identityOf(attachment), mode, ...place];
  return (await runWell(host, linkLine(args))).stdout.trim();
}

function linkLine(args: readonly string[]): CommandLine {
  const options = ['--disable-warning=ExperimentalWarning', link];
  return { command: process.execPath, args: [...options, ...args], timeoutMs: linkTimeoutMs };
}

/** What the kernel is told of the connection, and shows of the device. */
function identityOf({ server, port, export: name }: NbdAttachment): string {
  const host = server.includes(':') ? `[${server}]` : server;
  return `nbd://${host}:${port}/${encodeURIComponent(name)}`;
}

function indexOf(name: string): string {
  return name.slice('nbd'.length);
}

async function findOne(attachment: NbdAttachment, host: Host): Promise<string | undefined> {
  const names = await findAll(attachment, host);
  if (names.length > 1)
    throw new Problem(
      'FAILED_PRECONDITION',
      `"${identityOf(attachment)}" is connected more than once: ${names.join(', ')}`,
    );
  return names[0];
}

async function findAll(attachment: NbdAttachment, host: Host): Promise<readonly string[]> {
  const names = (await host.list('/sys/block')).filter(name => /^nbd\d+$/.test(name));
  const backends = await Promise.all(names.map(name => readBackend(`/sys/block/${name}`, host)));
  return names.filter((_, index) => backends[index] === identityOf(attachment));
}

async function readBackend(place: string, host: Host): Promise<string | undefined> {
  return (await host.readText(`${place}/backend`))?.trim();
}

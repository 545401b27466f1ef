import type { AttachmentOf } from '../../src/api/attachment.ts';
import { invalidProblem, unavailableProblem } from '../../src/api/problem.ts';
import {
  requireKnownSecrets,
  secretProblem,
  type Device,
  type DeviceConnector,
  type Secrets,
} from '../connector.ts';
import { requireModule, runWell } from '../host/commands.ts';
import { settleDisk } from '../host/disk-use.ts';
import { fitDisk, onlyDisk, readDisk } from '../host/disk.ts';
import type { Host } from '../host.ts';
import { filterAsync, readLine, removeWith, waitFor, writeLine } from '../host/sysfs.ts';

type RbdAttachment = AttachmentOf<'rbd'>;

const bus = '/sys/bus/rbd';
const keyName = 'rbd-key';
/** CephX writes a key in Base64. */
const keyPattern = /^[A-Za-z0-9+/]{16,128}={0,2}$/;
/** Nothing that would end a name, or begin an option, in what the kernel reads. */
const wordPattern = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;
const modes: ReadonlySet<string> = new Set(['legacy', 'crc', 'secure']);
/** What another machine held last is given up by Ceph after half a minute. */
const mapTimeoutMs = 90_000;

/**
 * An image of a Ceph cluster, mapped by the kernel: nothing of Ceph is installed on the node. Whoever may write holds the image's
 * lock for as long as it is mapped, so that the cluster knows whom to shut out.
 */
export const rbd: DeviceConnector<'rbd'> = {
  kind: 'device',
  connect,
  disconnect,
  rescan,
  owns: (attachment, number, host) => isImage(`/sys/dev/block/${number}`, attachment, host),
};

async function connect(attachment: RbdAttachment, host: Host, secrets: Secrets = {}): Promise<Device> {
  requireWords(attachment);
  const key = readKey(secrets);
  await requireModule(host, 'rbd');
  const identity = identityOf(attachment);
  if ((await findDisks(attachment, host)).length === 0) await map(attachment, key, host);
  const name = await waitFor(async () => onlyDisk(await findDisks(attachment, host), identity));
  if (name === undefined) throw unavailableProblem(`no device says that it is image "${identity}" yet`);
  return fitDisk(name, { attachment, identity, rescan }, host);
}

/** The key is in no argument; the kernel shows root alone what it was given. */
async function map(attachment: RbdAttachment, key: string | undefined, host: Host): Promise<void> {
  if (key === undefined) throw secretProblem(keyName, 'is missing');
  const { monitors, user, pool, namespace, image, mode, readonly } = attachment;
  const options = [
    `name=${user}`,
    `secret=${key}`,
    `_pool_ns=${namespace}`,
    ...(mode === 'legacy' ? [] : [`ms_mode=${mode}`]),
    ...(readonly ? [] : ['lock_on_read']),
  ];
  await runWell(host, {
    command: 'tee',
    args: ['--', `${bus}/add_single_major`],
    input: `${monitors.join(',')} ${options.join(',')} ${pool} ${image} -`,
    timeoutMs: mapTimeoutMs,
    mute: true,
  });
}

function requireWords({ fsid, pool, namespace, image, imageId, user, mode }: RbdAttachment): void {
  for (const [name, value] of Object.entries({ fsid, pool, namespace, image, imageId, user }))
    if (!wordPattern.test(value)) throw invalidProblem(`rbd ${name} "${value}" is no name`);
  if (!modes.has(mode)) throw invalidProblem(`rbd mode "${mode}" is none of ${[...modes].join(', ')}`);
}

function readKey(secrets: Secrets): string | undefined {
  requireKnownSecrets(secrets, { [keyName]: [] });
  const key = secrets[keyName];
  if (key !== undefined && !keyPattern.test(key)) throw secretProblem(keyName, 'is no key of CephX');
  return key;
}

async function disconnect(attachment: RbdAttachment, host: Host): Promise<void> {
  for (const name of await findDisks(attachment, host)) {
    const disk = await readDisk(name, host);
    if (disk) await settleDisk(disk, host);
    const remove = () => writeLine(`${bus}/remove_single_major`, name.slice('rbd'.length), host);
    await removeWith(remove, `device "/dev/${name}"`, async () =>
      (await findDisks(attachment, host)).includes(name),
    );
  }
}

/** The cluster tells of a new size by itself; where that is lost, it is asked. */
async function rescan(attachment: RbdAttachment, host: Host): Promise<void> {
  for (const name of await findDisks(attachment, host))
    await writeLine(`/sys/block/${name}/device/refresh`, '1', host);
}

async function findDisks(attachment: RbdAttachment, host: Host): Promise<readonly string[]> {
  const names = (await host.list('/sys/block')).filter(name => /^rbd\d+$/.test(name));
  return filterAsync(names, name => isImage(`/sys/block/${name}`, attachment, host));
}

/** True for a whole device of the image, by the identifiers that no other image of any cluster has. */
async function isImage(path: string, attachment: RbdAttachment, host: Host): Promise<boolean> {
  if ((await host.readText(`${path}/partition`)) !== undefined) return false;
  const files = ['cluster_fsid', 'pool', 'image_id', 'current_snap'];
  const [fsid, pool, imageId, snapshot] = await Promise.all(
    files.map(file => readLine(`${path}/device/${file}`, host)),
  );
  return (
    fsid === attachment.fsid && pool === attachment.pool && imageId === attachment.imageId && snapshot === '-'
  );
}

function identityOf({ fsid, pool, imageId }: RbdAttachment): string {
  return `${fsid}/${pool}/${imageId}`;
}

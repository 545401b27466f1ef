import type { AttachmentOf } from '../../src/api/attachment.ts';
import { invalidProblem, preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import {
  requireKnownSecrets,
  secretProblem,
  undoRefused,
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
/** The pattern of a CephX key, in Base64. */
const keyPattern = /^[A-Za-z0-9+/]{16,128}={0,2}$/;
/** The pattern of a name, without characters that end a name or start an option in the kernel's parser. */
const wordPattern = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;
const modes: ReadonlySet<string> = new Set(['legacy', 'crc', 'secure']);
/** Timeout of mapping an image: Ceph releases the lock of a dead machine only after half a minute. */
const mapTimeoutMs = 90_000;

/**
 * Connects images of a Ceph cluster. The kernel maps them, so the node needs no Ceph packages. A writer holds the image's lock
 * while the image is mapped, so the cluster knows which client to fence.
 */
export const rbd: DeviceConnector<'rbd'> = {
  kind: 'device',
  connect,
  disconnect,
  cutOff,
  rescan,
  owns: (attachment, number, host) => isImage(`/sys/dev/block/${number}`, attachment, host),
};

async function connect(attachment: RbdAttachment, host: Host, secrets: Secrets = {}): Promise<Device> {
  requireWords(attachment);
  const key = readKey(secrets);
  await requireModule(host, 'rbd');
  const known = new Set(await findNamesakes(attachment, host));
  return undoRefused(
    () => connectImage(attachment, key, host),
    async () => {
      for (const name of new Set(await findNamesakes(attachment, host)).difference(known))
        await unmap(name, host);
    },
  );
}

async function connectImage(attachment: RbdAttachment, key: string | undefined, host: Host): Promise<Device> {
  const identity = identityOf(attachment);
  if ((await findDisks(attachment, host)).length === 0) await map(attachment, key, host);
  const name = await waitFor(async () => onlyDisk(await findDisks(attachment, host), identity));
  if (name !== undefined) return fitDisk(name, { attachment, identity, rescan }, host);
  const [other] = await findNamesakes(attachment, host);
  if (other === undefined)
    throw unavailableProblem(`no device of this node shows image "${identity}" yet; try again`);
  const { pool, image, imageId } = attachment;
  const found = await readLine(`/sys/block/${other}/device/image_id`, host);
  throw preconditionProblem(`image "${image}" of pool "${pool}" has the id "${found}" and not "${imageId}"`);
}

/** Maps the image. The key is not an argument of a command, and the kernel shows the options to root only. */
async function map(attachment: RbdAttachment, key: string | undefined, host: Host): Promise<void> {
  if (key === undefined) throw secretProblem(keyName, 'is missing; add it');
  const { monitors, user, pool, namespace, image, mode, readonly } = attachment;
  const options = [
    `name=${user}`,
    `secret=${key}`,
    ...(namespace === undefined ? [] : [`_pool_ns=${namespace}`]),
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
    if (value !== undefined && !wordPattern.test(value))
      throw invalidProblem(`rbd ${name} "${value}" is not a valid name`);
  if (!modes.has(mode)) throw invalidProblem(`rbd mode "${mode}" is not one of ${[...modes].join(', ')}`);
}

function readKey(secrets: Secrets): string | undefined {
  requireKnownSecrets(secrets, { [keyName]: [] });
  const key = secrets[keyName];
  if (key !== undefined && !keyPattern.test(key))
    throw secretProblem(keyName, 'is not a CephX key; copy the one that "ceph auth get-key" prints');
  return key;
}

async function disconnect(attachment: RbdAttachment, host: Host): Promise<void> {
  for (const name of await findDisks(attachment, host)) {
    const disk = await readDisk(name, host);
    if (disk) await settleDisk(disk, host);
    await unmap(name, host);
  }
}

async function cutOff(attachment: RbdAttachment, host: Host): Promise<void> {
  for (const name of await findDisks(attachment, host)) await unmap(name, host, ' force');
}

/** Removes a device. The kernel refuses that for an open device unless forced; then the device's requests fail. */
async function unmap(name: string, host: Host, force: '' | ' force' = ''): Promise<void> {
  const use = await readUse(name, host);
  if (use === undefined) return;
  const remove = () => writeLine(`${bus}/remove_single_major`, `${name.slice('rbd'.length)}${force}`, host);
  const isThere = async () => (await readUse(name, host)) === use;
  await removeWith(remove, { what: `device "/dev/${name}"`, isThere });
}

/** Reads the id of a device's image; undefined if there is no device of that name. */
async function readUse(name: string, host: Host): Promise<string | undefined> {
  return host.readText(`/sys/block/${name}/device/image_id`);
}

/** Makes the kernel ask the cluster for the size, since the cluster's notice of a new size may be lost. */
async function rescan(attachment: RbdAttachment, host: Host): Promise<void> {
  for (const name of await findDisks(attachment, host))
    await writeLine(`/sys/block/${name}/device/refresh`, '1', host);
}

async function findDisks(attachment: RbdAttachment, host: Host): Promise<readonly string[]> {
  return filterAsync(await listDisks(host), name => isImage(`/sys/block/${name}`, attachment, host));
}

/** Finds the devices of the volume's image and of any other image that has its name in its pool. */
async function findNamesakes(attachment: RbdAttachment, host: Host): Promise<readonly string[]> {
  const { pool, namespace, image } = attachment;
  const wanted = { pool, pool_ns: namespace ?? '', name: image, current_snap: '-' };
  return filterAsync(await listDisks(host), async name => {
    if (await isImage(`/sys/block/${name}`, attachment, host)) return true;
    const files = Object.entries(wanted).map(
      async ([file, value]) => (await readLine(`/sys/block/${name}/device/${file}`, host)) === value,
    );
    return (await Promise.all(files)).every(Boolean);
  });
}

async function listDisks(host: Host): Promise<readonly string[]> {
  return (await host.list('/sys/block')).filter(name => /^rbd\d+$/.test(name));
}

/** True for a whole device of the image, by identifiers that are unique across all clusters. */
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

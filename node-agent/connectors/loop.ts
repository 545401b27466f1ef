import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AttachmentOf } from '../../src/api/attachment.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { describeFailure, runIfInstalled, runToEnd, runWell } from '../host/commands.ts';
import { undoRefused, type Device, type DeviceConnector } from '../connector.ts';
import { findUser } from '../host/disk-use.ts';
import { fitDisk, allowWrites, onlyDisk, readDisk } from '../host/disk.ts';
import type { Host } from '../host.ts';
import { filterAsync, namesWithFile, readBacking, readLine } from '../host/sysfs.ts';
import { detach, runDetach } from './loop/devices.ts';
import {
  readProof,
  readSequenceNumber,
  readSequenceNumbers,
  setProof,
  withoutProvedOthers,
} from './loop/proofs.ts';
import { hasNoBlocks } from './loop/unwritten.ts';
import { maxOf } from '../../src/lib/numbers.ts';

type LoopAttachment = AttachmentOf<'loop'>;

const cutOffProgram = fileURLToPath(new URL('loop/cut-off.ts', import.meta.url));

/**
 * Connects files of this machine through loop devices. A device's file is identified by device and inode: the path in
 * sysfs belongs to the mount namespace that opened the file, such as a container's, and changes when that namespace
 * ends.
 */
export const loop: DeviceConnector<'loop'> = {
  kind: 'device',
  contentPath: ({ path }) => path,
  isUnwritten: ({ path }, device, host) => hasNoBlocks(path, device, host),
  connect,
  disconnect,
  cutOff,
  rescan,
  owns,
  release: ({ path }, host) => detach(basename(path), host),
  // The kernel marks a device in use and detaches it with its last user.
  releaseAfterUse: async ({ path }, host) => void (await runDetach(basename(path), host)),
  // The file has its path still, so it is neither replaced nor deleted.
  async recall({ path }, { number }, host) {
    if ((await readBacking(`/sys/dev/block/${number}`, host)) === path) await setProof(number, path, host);
  },
  isLeftover: async ({ path }, number, host) =>
    (await readBacking(`/sys/dev/block/${number}`, host)) === deleted(path),
};

async function connect(attachment: LoopAttachment, host: Host): Promise<Device> {
  const { path } = attachment;
  const before = await readSequenceNumbers(await namesWithFile(host), host);
  const areOthers = before.size > 0;
  const name = await attach(attachment, areOthers, host);
  // If a symbolic link led to another volume's file, the file may have had that volume's device before. A device with the
  // name of an earlier one, which lost its file during the call, is new.
  const isNew = before.get(name) !== (await readSequenceNumber(name, host));
  await requireNoLink(path, { name, isNew }, host);
  // A device that was made read-only stays read-only with its next file.
  if (isNew && !attachment.readonly) await allowWrites(name, host);
  if (!isNew && attachment.readonly && (await isLeftWritable(name, host))) {
    await detach(name, host);
    return connect(attachment, host);
  }
  const after = areOthers ? [] : await namesWithFile(host);
  if (!isNew || after.length > 1) onlyDisk(await devicesOf(path, host), path);
  const device = await undoRefused(
    () => fitDisk(name, { attachment, identity: path, rescan }, host),
    async () => isNew && detach(name, host),
  );
  if (isNew) await setProof(device.number, path, host);
  return device;
}

/**
 * True for a writable, unused device. The caller connects it again as read-only: if it were only made read-only, the device's
 * next file could not be written. FAILED_PRECONDITION for a device in use.
 */
async function isLeftWritable(name: string, host: Host): Promise<boolean> {
  const disk = await readDisk(name, host);
  if (!disk || disk.readonly) return false;
  const user = await findUser(disk, host);
  if (user !== undefined) throw preconditionProblem(`device "/dev/${name}" is in use by ${user}`);
  return true;
}

/** Returns the file's loop device, or attaches one; `areOthers`: other loop devices exist, and one may be the file's. */
async function attach({ path, readonly }: LoopAttachment, areOthers: boolean, host: Host): Promise<string> {
  // `--nooverlap` makes losetup look at all loop devices, with or without a file, so it is used only if there are any.
  const options = [...(areOthers ? ['--nooverlap'] : []), ...(readonly ? ['--read-only'] : [])];
  const line = { command: 'losetup', args: ['--find', '--show', ...options, '--', path] };
  const result = await runToEnd(host, line);
  if (result.status === 0) return basename(result.stdout.trim());
  // losetup fails if the file has a device that does not fit; the caller then checks that device.
  const [known] = await devicesOf(path, host);
  if (known !== undefined) return known;
  const { status } = await runToEnd(host, { command: 'test', args: ['-e', path] });
  if (status === 1) throw preconditionProblem(`loop file "${path}" does not exist`);
  throw unavailableProblem(describeFailure(line, result));
}

/** FAILED_PRECONDITION for a path with a symbolic link in it, since it could lead to another volume's file. */
async function requireNoLink(
  path: string,
  { name, isNew }: { readonly name: string; readonly isNew: boolean },
  host: Host,
): Promise<void> {
  const backing = await readBacking(`/sys/block/${name}`, host);
  if (backing === path) return;
  if (backing === undefined)
    throw unavailableProblem(`loop device "/dev/${name}" was removed during the call; try again`);
  const real = await readReal(path, host);
  if (real === path && !isNew) return;
  if (isNew) await host.run('losetup', ['--detach', `/dev/${name}`]);
  throw real === path
    ? unavailableProblem(`loop file "${path}" was replaced while it was being connected; try again`)
    : preconditionProblem(
        `loop file "${path}" has a symbolic link in it and leads to "${real}"; use that path`,
      );
}

async function disconnect({ path }: LoopAttachment, host: Host): Promise<void> {
  const names = await withoutProvedOthers(await namesWithFile(host), path, host);
  for (const name of await findAll(path, host, names)) await detach(name, host);
}

/**
 * Cuts the loop devices of the file off while they are mounted. Linux cannot detach a device in use, so the device is shrunk
 * to its first sector. Before that, Linux writes the device's page cache: metadata that the journal of an ext4 already holds.
 * A device that lost its last user during the call may have another volume's file by then; it is left alone.
 */
async function cutOff({ path }: LoopAttachment, host: Host): Promise<void> {
  const all = await namesWithFile(host);
  const sequenceNumbers = await readSequenceNumbers(all, host);
  for (const name of await findAll(path, host, all)) {
    const sequenceNumber = sequenceNumbers.get(name) ?? '';
    const args = ['--disable-warning=ExperimentalWarning', cutOffProgram, `/dev/${name}`, sequenceNumber];
    await runWell(host, { command: process.execPath, args }).catch(async (error: unknown) => {
      const isThere = (await readBacking(`/sys/block/${name}`, host)) !== undefined;
      if (isThere && (await readSequenceNumber(name, host)) === sequenceNumber) throw error;
    });
  }
}

/** Finds the devices of the file among `all`, and devices of a deleted file that had the same path. */
async function findAll(path: string, host: Host, all: readonly string[]): Promise<ReadonlySet<string>> {
  const names = await devicesOf(path, host, all);
  const isDeleted = async (name: string) => (await readBacking(`/sys/block/${name}`, host)) === deleted(path);
  return new Set([...names, ...(await filterAsync(all, isDeleted))]);
}

async function rescan({ path }: LoopAttachment, host: Host): Promise<void> {
  for (const name of await devicesOf(path, host))
    await runWell(host, { command: 'losetup', args: ['--set-capacity', `/dev/${name}`] });
}

async function owns({ path }: LoopAttachment, number: string, host: Host): Promise<boolean> {
  const device = `/sys/dev/block/${number}`;
  const proof = await readProof(device, host);
  if (!proof) return false;
  if (proof.path !== undefined) return proof.path === path;
  const names = await devicesOf(path, host);
  const hasNumber = async (name: string) => (await readLine(`/sys/block/${name}/dev`, host)) === number;
  const isOwn = (await filterAsync(names, hasNumber)).length > 0;
  if (isOwn && names.length === 1) await setProof(number, path, host);
  return isOwn;
}

/** Finds the loop devices of this file, by device and inode; `all` are the devices with a file, if the caller knows them. */
async function devicesOf(path: string, host: Host, all?: readonly string[]): Promise<readonly string[]> {
  const read = async (name: string) => {
    const proof = await readProof(`/sys/block/${name}`, host);
    return proof ? [{ name, ...proof }] : [];
  };
  // At the end of a staging its device may be losing its file just now.
  const devices = (await Promise.all((all ?? (await namesWithFile(host))).map(read))).flat();
  const proved = devices.filter(device => device.path === path);
  const newest = maxOf(proved.map(({ diskseq }) => diskseq));
  // An unproved device older than the newest proof has another file: at the proof, the file had only one device.
  const isOther = (device: (typeof devices)[number]) => device.path !== undefined || device.diskseq < newest;
  if (devices.every(isOther)) return proved.map(({ name }) => name);
  // If the file is missing, losetup compares paths instead. The prefix "/." prevents that, since no path in sysfs has it.
  const line = {
    command: 'losetup',
    args: ['--list', '--noheadings', '--output', 'NAME', '--associated', `/.${path}`],
  };
  const result = await runIfInstalled(host, line);
  if (!result) return [];
  if (result.status !== 0) throw unavailableProblem(describeFailure(line, result));
  const found = [...result.stdout.matchAll(/^\/dev\/(\S+)/gm)].map(([, name = '']) => name);
  // losetup follows symbolic links, which may lead to another volume's file.
  for (const name of found)
    if ((await readBacking(`/sys/block/${name}`, host)) !== path && (await readReal(path, host)) !== path)
      return [];
  return found;
}

/** Resolves symbolic links in a path; returns an empty text if the path does not exist. */
async function readReal(path: string, host: Host): Promise<string> {
  const line = { command: 'realpath', args: ['--canonicalize-existing', '--', path] };
  return (await runToEnd(host, line)).stdout.replace(/\n$/, '');
}

/** Returns the path that sysfs shows for a deleted file. */
function deleted(path: string): string {
  return `${path} (deleted)`;
}

import { basename } from 'node:path';
import type { AttachmentOf } from '../../src/api/attachment.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { describeFailure, runIfInstalled, runToEnd, runWell } from '../host/commands.ts';
import type { Device, DeviceConnector } from '../connector.ts';
import { fitDisk, onlyDisk } from '../host/disk.ts';
import type { Host } from '../host.ts';
import { filterAsync, readLine, removeWith } from '../host/sysfs.ts';

type LoopAttachment = AttachmentOf<'loop'>;

/**
 * A file on this machine, through a loop device. Which file a device has is known by device and inode: the path in sysfs is
 * that of the mount namespace in which it was opened, such as a container's, and changes when that goes.
 */
export const loop: DeviceConnector<'loop'> = {
  kind: 'device',
  contentPath: ({ path }) => path,
  connect,
  disconnect,
  rescan,
  owns,
  release: ({ path }, host) => detach(basename(path), host),
  // The kernel marks a device in use, and frees it when that ends.
  releaseAfterUse: async ({ path }, host) => void (await runDetach(basename(path), host)),
  isLeftover: async ({ path }, number, host) =>
    (await readBacking(`/sys/dev/block/${number}`, host)) === deleted(path),
};

async function connect(attachment: LoopAttachment, host: Host): Promise<Device> {
  const { path } = attachment;
  const before = await namesWithFile(host);
  const areOthers = before.length > 0;
  const name = await attach(attachment, areOthers, host);
  // What a link led to may have had a device before, which is its owner's.
  const isNew = !before.includes(name);
  await requireNoLink(path, { name, isNew }, host);
  const after = areOthers ? [] : await namesWithFile(host);
  if (!isNew || after.length > 1) onlyDisk(await devicesOf(path, host), path);
  const device = await fitDisk(name, { attachment, identity: path, rescan }, host);
  if (isNew) await setProof(device.number, path, host);
  return device;
}

/** Returns the name of the loop device that the file has, by its inode, or else gets; `areOthers` says that one may have it. */
async function attach({ path, readonly }: LoopAttachment, areOthers: boolean, host: Host): Promise<string> {
  // To find the file's own device losetup looks at every one that there is, with or without a file.
  const how = [...(areOthers ? ['--nooverlap'] : []), ...(readonly ? ['--read-only'] : [])];
  const line = { command: 'losetup', args: ['--find', '--show', ...how, '--', path] };
  const result = await runToEnd(host, line);
  if (result.status === 0) return basename(result.stdout.trim());
  // One that is there and fits is given back; one that does not is told of as it is.
  const [known] = await devicesOf(path, host);
  if (known !== undefined) return known;
  const { status } = await runToEnd(host, { command: 'test', args: ['-e', path] });
  if (status === 1) throw preconditionProblem(`loop file "${path}" is not there`);
  throw unavailableProblem(describeFailure(line, result));
}

/** FAILED_PRECONDITION for a path with a symbolic link in it, under which another volume's file could be reached. */
async function requireNoLink(
  path: string,
  { name, isNew }: { readonly name: string; readonly isNew: boolean },
  host: Host,
): Promise<void> {
  const backing = await readBacking(`/sys/block/${name}`, host);
  if (backing === path) return;
  if (backing === undefined) throw unavailableProblem(`loop device "/dev/${name}" was removed meanwhile`);
  const real = await readReal(path, host);
  if (real === path && !isNew) return;
  if (isNew) await host.run('losetup', ['--detach', `/dev/${name}`]);
  throw real === path
    ? unavailableProblem(`loop file "${path}" was replaced while it was connected`)
    : preconditionProblem(`loop file "${path}" is really "${real}"; its path must hold no symbolic link`);
}

async function disconnect({ path }: LoopAttachment, host: Host): Promise<void> {
  const all = await namesWithFile(host);
  const names = await devicesOf(path, host, all);
  const isDeleted = async (name: string) => (await readBacking(`/sys/block/${name}`, host)) === deleted(path);
  const left = await filterAsync(all, isDeleted);
  for (const name of new Set([...names, ...left])) await detach(name, host);
}

/** Detaches a device, and returns once it has another file, or none. */
async function detach(name: string, host: Host): Promise<void> {
  const readUse = async () => {
    const backing = await readBacking(`/sys/block/${name}`, host);
    return backing && `${await readLine(`/sys/block/${name}/diskseq`, host)}`;
  };
  const use = await readUse();
  if (use === undefined) return;
  const isThere = async () => (await readUse()) === use;
  const remove = async () => {
    const failure = await runDetach(name, host);
    if (failure !== undefined) throw unavailableProblem(failure);
  };
  // A device in use is only marked: it goes with its last user, which may be a short-lived one such as udev.
  await removeWith(remove, `"/dev/${name}"`, isThere);
}

/**
 * Returns how it failed, where it did. A device that is to go with its last user already is left to that: it may go at any
 * moment, and by the time of the command another file may have its name.
 */
async function runDetach(name: string, host: Host): Promise<string | undefined> {
  if ((await readLine(`/sys/block/${name}/loop/autoclear`, host)) === '1') return undefined;
  const line = { command: 'losetup', args: ['--detach', `/dev/${name}`], mute: true };
  const result = await runToEnd(host, line);
  return result.status === 0 ? undefined : describeFailure(line, result);
}

async function rescan({ path }: LoopAttachment, host: Host): Promise<void> {
  for (const name of await devicesOf(path, host))
    await runWell(host, { command: 'losetup', args: ['--set-capacity', `/dev/${name}`] });
}

/**
 * The file that had a device alone, and how sysfs spelled it then, by the device's sequence number, which no other ever has,
 * nor the same device with another file.
 */
const proofs = new Map<number, { readonly path: string; readonly backing: string }>();
const mostProofs = 4_096;

/** A device keeps its file. Only when sysfs spells it anew was the file moved or deleted, or the namespace that it was opened in is gone. */
async function owns({ path }: LoopAttachment, number: string, host: Host): Promise<boolean> {
  const device = `/sys/dev/block/${number}`;
  const proved = await readProof(device, host);
  if (proved.path !== undefined) return proved.path === path;
  if ((await readBacking(device, host)) === undefined) return false;
  const names = await devicesOf(path, host);
  const isIt = async (name: string) => (await readLine(`/sys/block/${name}/dev`, host)) === number;
  const isOwn = (await filterAsync(names, isIt)).length > 0;
  if (isOwn && names.length === 1) await setProof(number, path, host);
  return isOwn;
}

async function setProof(number: string, path: string, host: Host): Promise<void> {
  const device = `/sys/dev/block/${number}`;
  const { diskseq } = await readProof(device, host);
  const backing = await readBacking(device, host);
  if (Number.isNaN(diskseq) || backing === undefined) return;
  if (proofs.size >= mostProofs) proofs.clear();
  proofs.set(diskseq, { path, backing });
}

/** Which use of it this is, NaN before Linux 5.15, and the path that it was proved for, while sysfs spells its file as then. */
async function readProof(device: string, host: Host) {
  const diskseq = Number((await readLine(`${device}/diskseq`, host)) ?? Number.NaN);
  const proof = proofs.get(diskseq);
  const holds = proof && (await readBacking(device, host)) === proof.backing;
  return { diskseq, path: holds ? proof.path : undefined };
}

/** The loop devices that have this very file, by its device and inode, of `all` that have one. */
async function devicesOf(path: string, host: Host, all?: readonly string[]): Promise<readonly string[]> {
  const read = async (name: string) => ({ name, ...(await readProof(`/sys/block/${name}`, host)) });
  const devices = await Promise.all((all ?? (await namesWithFile(host))).map(read));
  const proved = devices.filter(device => device.path === path);
  const newest = Math.max(...proved.map(({ diskseq }) => diskseq));
  // Of the others an older one has another file: the proof was that of the file's only device.
  const isOther = (device: (typeof devices)[number]) => device.path !== undefined || device.diskseq < newest;
  if (devices.every(isOther)) return proved.map(({ name }) => name);
  // For a file that is missing losetup compares paths: none in sysfs begins with "/.".
  const line = {
    command: 'losetup',
    args: ['--list', '--noheadings', '--output', 'NAME', '--associated', `/.${path}`],
  };
  const result = await runIfInstalled(host, line);
  if (!result) return [];
  if (result.status !== 0) throw unavailableProblem(describeFailure(line, result));
  const found = [...result.stdout.matchAll(/^\/dev\/(\S+)/gm)].map(([, name = '']) => name);
  // losetup follows links: what one leads to is another's.
  for (const name of found)
    if ((await readBacking(`/sys/block/${name}`, host)) !== path && (await readReal(path, host)) !== path)
      return [];
  return found;
}

/** The path without symbolic links; empty where nothing is there. */
async function readReal(path: string, host: Host): Promise<string> {
  const line = { command: 'realpath', args: ['--canonicalize-existing', '--', path] };
  return (await runToEnd(host, line)).stdout.replace(/\n$/, '');
}

/** Only a device that has a file has a size: asking each of the others too would cost more than all else here. */
async function namesWithFile(host: Host): Promise<readonly string[]> {
  const sized = (await host.readText('/proc/partitions')) ?? '';
  return [...sized.matchAll(/ (loop\d+)$/gm)].map(([, name = '']) => name);
}

/** The file behind a device as sysfs spells it, for people and to see that it changed. */
async function readBacking(device: string, host: Host): Promise<string | undefined> {
  return (await host.readText(`${device}/loop/backing_file`))?.replace(/\n$/, '');
}

/** How sysfs spells a file that was deleted. */
function deleted(path: string): string {
  return `${path} (deleted)`;
}

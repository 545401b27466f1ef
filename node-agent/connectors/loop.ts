import { basename } from 'node:path';
import type { AttachmentOf } from '../../src/api/attachment.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { describeFailure, runToEnd, runWell } from '../host/commands.ts';
import type { Device, DeviceConnector } from '../connector.ts';
import { fitDisk, onlyDisk } from '../host/disk.ts';
import type { Host } from '../host.ts';
import { keepWhere, waitUntilGone } from '../host/sysfs.ts';

type LoopAttachment = AttachmentOf<'loop'>;

/** A file on this machine, through a loop device. What a device is backed by is read from sysfs, never from its name. */
export const loop: DeviceConnector<'loop'> = {
  kind: 'device',
  unmountOptions: ['--detach-loop'],
  connect,
  disconnect,
  rescan,
  owns: ({ path }, number, host) => isBackedBy(`/sys/dev/block/${number}`, [path], host),
};

async function connect(attachment: LoopAttachment, host: Host): Promise<Device> {
  const { path } = attachment;
  const attached = await attach(attachment, host);
  const name = onlyDisk(await namesBackedBy([path], host), path) ?? attached;
  return fitDisk(name, { attachment, identity: path, rescan }, host);
}

/** Gives the file a loop device where it has none, and returns the device's name. */
async function attach({ path, readonly }: LoopAttachment, host: Host): Promise<string> {
  // --nooverlap gives back the loop device that this file, by its inode, has already.
  const line = {
    command: 'losetup',
    args: ['--find', '--show', '--nooverlap', ...(readonly ? ['--read-only'] : []), '--', path],
  };
  const result = await runToEnd(host, line);
  if (result.status !== 0) {
    const { status } = await runToEnd(host, { command: 'test', args: ['-e', path] });
    if (status === 1) throw preconditionProblem(`loop file "${path}" is not there`);
    throw unavailableProblem(describeFailure(line, result));
  }
  const name = basename(result.stdout.trim());
  const backing = await readBacking(`/sys/block/${name}`, host);
  if (backing === path) return name;
  if (backing === undefined) throw unavailableProblem(`loop device "/dev/${name}" was there and is gone`);
  await host.run('losetup', ['--detach', `/dev/${name}`]);
  throw preconditionProblem(
    `loop file "${path}" is really "${backing}"; its path must hold no symbolic link`,
  );
}

async function disconnect({ path }: LoopAttachment, host: Host): Promise<void> {
  const files = [path, `${path} (deleted)`];
  for (const name of await namesBackedBy(files, host)) {
    const isThere = () => isBackedBy(`/sys/block/${name}`, files, host);
    const line = { command: 'losetup', args: ['--detach', `/dev/${name}`] };
    const result = await runToEnd(host, line);
    // One that goes by itself meanwhile, with its last user after `umount --detach-loop`, is no failure.
    if (result.status !== 0 && (await isThere())) throw unavailableProblem(describeFailure(line, result));
    // A device in use is only marked: it goes with its last user, which may be a short-lived one such as udev.
    await waitUntilGone(`"/dev/${name}"`, isThere);
  }
}

async function rescan({ path }: LoopAttachment, host: Host): Promise<void> {
  for (const name of await namesBackedBy([path], host))
    await runWell(host, { command: 'losetup', args: ['--set-capacity', `/dev/${name}`] });
}

/** Only a device that has a file has a size: asking each of the others too would cost more than all else here. */
async function namesBackedBy(files: readonly string[], host: Host): Promise<readonly string[]> {
  const sized = (await host.readText('/proc/partitions')) ?? '';
  const names = [...sized.matchAll(/ (loop\d+)$/gm)].map(([, name = '']) => name);
  return keepWhere(names, name => isBackedBy(`/sys/block/${name}`, files, host));
}

async function isBackedBy(device: string, files: readonly string[], host: Host): Promise<boolean> {
  return files.includes((await readBacking(device, host)) ?? '');
}

/** The file behind a device in sysfs. */
async function readBacking(device: string, host: Host): Promise<string | undefined> {
  return (await host.readText(`${device}/loop/backing_file`))?.replace(/\n$/, '');
}

import { basename } from 'node:path';
import type { AttachmentOf } from '../../src/api/attachment.ts';
import { Problem } from '../../src/api/problem.ts';
import { describeFailure, runToEnd, runWell } from '../host/commands.ts';
import type { Device, DeviceConnector } from '../connector.ts';
import { onlyDisk, readDisk } from '../host/disk.ts';
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
  owns,
};

async function connect(attachment: LoopAttachment, host: Host): Promise<Device> {
  const attached = await attach(attachment, host);
  const device =
    attached.sizeBytes < attachment.sizeBytes ? await lookAnew(attachment, attached, host) : attached;
  requireFit(device, attachment);
  onlyDisk(await namesBackedBy([attachment.path], host), attachment.path);
  return device;
}

/** A device that was there before its file grew shows the old size. */
async function lookAnew(attachment: LoopAttachment, { path }: Device, host: Host): Promise<Device> {
  await rescan(attachment, host);
  return readDevice(path, host);
}

async function attach({ path, readonly }: LoopAttachment, host: Host): Promise<Device> {
  // --nooverlap gives back the loop device that this file, by its inode, has already.
  const line = {
    command: 'losetup',
    args: ['--find', '--show', '--nooverlap', ...(readonly ? ['--read-only'] : []), '--', path],
  };
  const result = await runToEnd(host, line);
  if (result.status !== 0) {
    await requireFile(path, host);
    throw new Problem('UNAVAILABLE', describeFailure(line, result));
  }
  const device = await readDevice(result.stdout.trim(), host);
  if (device.identity === path) return device;
  await host.run('losetup', ['--detach', device.path]);
  throw new Problem(
    'FAILED_PRECONDITION',
    `loop file "${path}" is really "${device.identity}"; its path must hold no symbolic link`,
  );
}

function requireFit(device: Device, { path, readonly, sizeBytes }: LoopAttachment): void {
  if (device.readonly !== readonly)
    throw new Problem(
      'FAILED_PRECONDITION',
      `loop file "${path}" is connected ${device.readonly ? 'read-only' : 'writable'} as "${device.path}" already`,
    );
  if (device.sizeBytes < sizeBytes)
    throw new Problem(
      'FAILED_PRECONDITION',
      `loop file "${path}" has ${device.sizeBytes} bytes, less than the volume's ${sizeBytes}`,
    );
}

async function disconnect({ path }: LoopAttachment, host: Host): Promise<void> {
  const deleted = `${path} (deleted)`;
  const names = await namesBackedBy([path, deleted], host);
  for (const name of names) await detach(name, [path, deleted], host);
  for (const name of names) await waitUntilDetached(name, [path, deleted], host);
}

/** One that goes by itself meanwhile, with its last user after `umount --detach-loop`, is no failure. */
async function detach(name: string, paths: readonly string[], host: Host): Promise<void> {
  const line = { command: 'losetup', args: ['--detach', `/dev/${name}`] };
  const result = await runToEnd(host, line);
  if (result.status === 0) return;
  const backing = await readBacking(`/sys/block/${name}`, host);
  if (backing !== undefined && paths.includes(backing))
    throw new Problem('UNAVAILABLE', describeFailure(line, result));
}

/**
 * Detaching a device in use succeeds and only marks it: the device then goes with its last user, which may be a
 * short-lived one such as udev.
 */
function waitUntilDetached(name: string, paths: readonly string[], host: Host): Promise<void> {
  return waitUntilGone(`"/dev/${name}"`, async () => {
    const backing = await readBacking(`/sys/block/${name}`, host);
    return backing !== undefined && paths.includes(backing);
  });
}

async function rescan({ path }: LoopAttachment, host: Host): Promise<void> {
  for (const name of await namesBackedBy([path], host))
    await runWell(host, { command: 'losetup', args: ['--set-capacity', `/dev/${name}`] });
}

async function owns({ path }: LoopAttachment, number: string, host: Host): Promise<boolean> {
  return (await readBacking(`/sys/dev/block/${number}`, host)) === path;
}

async function requireFile(path: string, host: Host): Promise<void> {
  const { status } = await runToEnd(host, { command: 'test', args: ['-e', path] });
  if (status === 1) throw new Problem('FAILED_PRECONDITION', `loop file "${path}" is not there`);
}

async function readDevice(path: string, host: Host): Promise<Device> {
  const name = basename(path);
  const disk = await readDisk(name, host);
  const identity = await readBacking(`/sys/block/${name}`, host);
  if (identity === undefined || !disk)
    throw new Problem('UNAVAILABLE', `loop device "${path}" was there and is gone`);
  const { number, sizeBytes, readonly } = disk;
  return { path, identity, number, sizeBytes, readonly };
}

/** Only a device that has a file has a size: asking each of the others too would cost more than all else here. */
async function namesBackedBy(paths: readonly string[], host: Host): Promise<readonly string[]> {
  const sized = (await host.readText('/proc/partitions')) ?? '';
  const names = [...sized.matchAll(/ (loop\d+)$/gm)].map(([, name = '']) => name);
  return keepWhere(names, async name =>
    paths.includes((await readBacking(`/sys/block/${name}`, host)) ?? ''),
  );
}

async function readBacking(place: string, host: Host): Promise<string | undefined> {
  const text = await host.readText(`${place}/loop/backing_file`);
  return text?.replace(/\n$/, '');
}

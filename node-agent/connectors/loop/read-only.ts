import { basename } from 'node:path';
import { unavailableProblem } from '../../../src/api/problem.ts';
import type { Device } from '../../connector.ts';
import { requireModule, runIfInstalled, runWell } from '../../host/commands.ts';
import { readDisk } from '../../host/disk.ts';
import type { Host } from '../../host.ts';
import { filterAsync, findMapped, namesWithFile, readBacking, readLine } from '../../host/sysfs.ts';
import { detach } from './devices.ts';

/** A read-only loop device over a block device. */
export type ReadonlyView = Pick<Device, 'path' | 'number'>;

/** Makes a new view of a device, as large as the device and with blocks of the same size. */
export async function openView({ path, number }: Pick<Device, 'path' | 'number'>, host: Host) {
  await requireModule(host, 'loop');
  const blockBytes = (await readLine(`/sys/dev/block/${number}/queue/logical_block_size`, host)) ?? '512';
  // Direct I/O, so that readers see writes that bypass the page cache, and no block is cached twice.
  const options = ['--find', '--show', '--read-only', '--direct-io=on', '--sector-size', blockBytes];
  const { stdout } = await runWell(host, { command: 'losetup', args: [...options, '--', path] });
  const name = basename(stdout.trim());
  const disk = await readDisk(name, host);
  if (disk?.readonly && (await findViewed(disk.number, host)) === number)
    return { path: `/dev/${name}`, number: disk.number };
  await detach(name, host);
  throw unavailableProblem(`the new "/dev/${name}" is not a read-only view of device "${path}"; try again`);
}

/**
 * The number of the block device that the loop device with this number shows read-only; undefined for any other device, and where
 * the device that it showed is missing. Sysfs only hints at that device: losetup compares the nodes themselves.
 */
export async function findViewed(number: string, host: Host): Promise<string | undefined> {
  const view = `/sys/dev/block/${number}`;
  const backing = await readBacking(view, host);
  if (backing === undefined || (await readLine(`${view}/ro`, host)) !== '1') return undefined;
  const name = basename(backing);
  // Without a link by udev, a device-mapper device has a node of its own below /dev/mapper.
  const isMapped = backing.endsWith(`/mapper/${name}`);
  const kernelName = isMapped ? await findMapped(name, host) : name;
  const viewed = await readLine(`/sys/class/block/${kernelName}/dev`, host);
  if (viewed === undefined) return undefined;
  const node = isMapped ? `/dev/mapper/${name}` : `/dev/${name}`;
  return (await isOver(number, node, host)) ? viewed : undefined;
}

/** True when the loop device with this number has this very node as its file. */
async function isOver(number: string, node: string, host: Host): Promise<boolean> {
  // As in `devicesOf` of the connector: a node that is missing is compared by a path that no device has.
  const args = ['--list', '--noheadings', '--output', 'NAME', '--associated', `/.${node}`];
  const result = await runIfInstalled(host, { command: 'losetup', args });
  const over = [...(result?.stdout ?? '').matchAll(/^\/dev\/(\S+)/gm)].map(([, found = '']) => found);
  const own = await filterAsync(
    over,
    async one => (await readLine(`/sys/block/${one}/dev`, host)) === number,
  );
  return own.length > 0;
}

export async function findViews(
  isOwn: (number: string) => Promise<boolean>,
  host: Host,
): Promise<readonly ReadonlyView[]> {
  const views: ReadonlyView[] = [];
  for (const name of await namesWithFile(host)) {
    const number = await readLine(`/sys/block/${name}/dev`, host);
    const viewed = number === undefined ? undefined : await findViewed(number, host);
    if (number !== undefined && viewed !== undefined && (await isOwn(viewed)))
      views.push({ path: `/dev/${name}`, number });
  }
  return views;
}

export async function growView({ path }: ReadonlyView, host: Host): Promise<void> {
  await runWell(host, { command: 'losetup', args: ['--set-capacity', path] });
}

/** Removes a view and returns once it is gone; UNAVAILABLE while it is open. */
export function closeView({ path }: ReadonlyView, host: Host): Promise<void> {
  return detach(basename(path), host);
}

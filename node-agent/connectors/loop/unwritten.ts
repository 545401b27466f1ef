import { runWell } from '../../host/commands.ts';
import type { Host } from '../../host.ts';
import { readBacking } from '../../host/sysfs.ts';

/**
 * Magic numbers of ext4, XFS and btrfs (statfs(2)). Once a file is synced, each counts all of its data as blocks, also data
 * that it stores in the inode.
 */
const counting: ReadonlySet<string> = new Set(['ef53', '58465342', '9123683e']);

/**
 * True if the regular file of the loop device with this path and number has no blocks. Data in the device's own page cache
 * and in delayed allocation is written first.
 */
export async function hasNoBlocks(
  file: string,
  device: { readonly path: string; readonly number: string },
  host: Host,
): Promise<boolean> {
  const stat = async (...args: readonly string[]): Promise<string> =>
    (await runWell(host, { command: 'stat', args: [...args, '--', file] })).stdout.trim();
  if (!counting.has(await stat('--file-system', '--format', '%t'))) return false;
  await runWell(host, { command: 'sync', args: ['--', device.path, file] });
  if ((await stat('--format', '%F, %b')) !== 'regular file, 0') return false;
  // Another file at the path would say nothing about the device.
  return (await readBacking(`/sys/dev/block/${device.number}`, host)) === file;
}

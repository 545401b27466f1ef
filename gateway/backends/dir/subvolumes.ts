import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { exec } from '../../../src/lib/exec.ts';
import { look } from './paths.ts';

/** btrfs in statfs, and the inode number of the root of each of its subvolumes. */
const btrfsType = 0x9123683e;
const subvolumeInode = 256;
const commandTimeoutMs = 60_000;

/** True where new volumes are made as subvolumes, which are copied at one instant: btrfs, its command, and root. */
export async function makesSubvolumes(root: string): Promise<boolean> {
  if (!(await isBtrfs(root)) || process.geteuid?.() !== 0) return false;
  return (await exec('btrfs', ['--version'], { timeoutMs: commandTimeoutMs })).status === 0;
}

/** True for the root of a subvolume. */
export async function isSubvolume(path: string): Promise<boolean> {
  return (await look(path))?.ino === subvolumeInode && (await isBtrfs(path));
}

/** True when other subvolumes lie in it: a copy at one instant would hold empty directories in their place. */
export async function hasInnerSubvolumes(path: string): Promise<boolean> {
  return (await run(['subvolume', 'list', '-o', '--', path])).trim() !== '';
}

/** Makes an empty subvolume, durable. */
export async function createSubvolume(path: string): Promise<void> {
  await run(['subvolume', 'create', '--', path]);
}

/** Makes `target` hold what `source` holds at one instant, durable, while it is written too. */
export async function copySubvolume(
  source: string,
  target: string,
  { readonly }: { readonly readonly: boolean },
): Promise<void> {
  await run(['subvolume', 'snapshot', ...(readonly ? ['-r'] : []), '--', source, target]);
}

/**
 * Deletes the subvolumes that a tree to be removed is, or that lie in it; it need not have any. What it could not
 * delete is left for whoever removes the tree to tell.
 */
export async function deleteSubvolumes(path: string, timeoutMs: number): Promise<void> {
  for (const top of [path, join(path, treeName)]) {
    if (!(await isSubvolume(top))) continue;
    const { status } = await exec('btrfs', ['subvolume', 'delete', '--', top], { timeoutMs });
    if (status === 0) continue;
    // Some lie in it, and those within come first.
    const chosen = ['-inum', String(subvolumeInode), '-type', 'd'];
    const action = ['-exec', 'btrfs', 'subvolume', 'delete', '--', '{}', ';'];
    await exec('find', [top, '-depth', ...chosen, ...action], { timeoutMs });
  }
}

/** The name of what was copied, within a draft and within a snapshot. */
export const treeName = 'tree';

async function isBtrfs(path: string): Promise<boolean> {
  return (await statfs(path)).type === btrfsType;
}

async function run(args: readonly string[]): Promise<string> {
  const { status, stdout, timedOut, missing, stderr } = await exec('btrfs', args, {
    timeoutMs: commandTimeoutMs,
  });
  if (status === 0) return stdout;
  const why = missing ? 'it is not installed' : timedOut ? 'it did not end in time' : stderr.trim();
  throw new Problem('UNAVAILABLE', `"btrfs ${args[0]} ${args[1]}" failed: ${why.split('\n', 1)[0]}`);
}

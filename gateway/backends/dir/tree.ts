import { statfs } from 'node:fs/promises';
import { Problem } from '../../../src/api/problem.ts';
import { describeFailure, runCopying } from '../files/copying.ts';
import { survey } from './survey.ts';

/**
 * Copies a tree, entry by entry: contents with their holes, owners, modes, ACLs, extended attributes, times, hard
 * links, symbolic links as links, special files. It shares blocks where the filesystem can. It is durable on return.
 * RESOURCE_EXHAUSTED when the filesystem has no room for it. What it leaves then is for the caller to remove.
 */
export async function copyTree(source: string, target: string, heldBytes: number): Promise<void> {
  const keep = '--preserve=mode,ownership,timestamps,links,xattr';
  const how = ['--recursive', '--no-dereference', keep, '--sparse=auto', '--reflink=auto'];
  const copied = await runCopying('cp', [...how, '--no-target-directory', '--', source, target], heldBytes);
  if (copied.status !== 0) {
    await requireRoom(target, heldBytes);
    throw new Problem('UNAVAILABLE', `cannot copy "${source}": "cp" ${describeFailure(copied)}`);
  }
  const synced = await runCopying('sync', ['--file-system', '--', target], heldBytes);
  if (synced.status !== 0)
    throw new Problem('UNAVAILABLE', `cannot make a copy durable: "sync" ${describeFailure(synced)}`);
}

/** Fails when what is left of a copy that failed would not have found room. */
async function requireRoom(target: string, heldBytes: number): Promise<void> {
  const { bavail, bsize, ffree, files } = await statfs(target);
  const copiedBytes = (await survey(target)).heldBytes;
  if (bavail * bsize < heldBytes - copiedBytes || (files > 0 && ffree === 0))
    throw new Problem(
      'RESOURCE_EXHAUSTED',
      `the filesystem of the volumes has ${bavail * bsize} bytes free, and the copy takes ${heldBytes - copiedBytes} more`,
    );
}

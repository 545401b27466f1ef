import { constants } from 'node:fs';
import { copyFile, open, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../../src/api/problem.ts';
import { describeFailure, runCopying } from '../files/copying.ts';
import { ignoreMissing } from './problems.ts';

/** Filesystems that take a file's content at one instant, with writes kept out meanwhile, by their number in statfs. */
const atomicFilesystems: Readonly<Record<number, string>> = { 0x58465342: 'xfs', 0x9123683e: 'btrfs' };

/** What the system says when a filesystem, or these two files on it, cannot share blocks. */
const cannotShare = new Set(['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'ENOTTY', 'EINVAL', 'EXDEV', 'EPERM']);

/** How long a copy runs on between two times that it is written back, in milliseconds. */
const writeBackMs = 50;

/** True where sharing blocks is known to be one cut, even while the file is written. */
export async function sharesAtomically(directory: string): Promise<boolean> {
  return (await statfs(directory)).type in atomicFilesystems;
}

/** Makes `target` share all blocks of `source`; false, and no target, where the filesystem cannot. */
export async function copyByReference(source: string, target: string): Promise<boolean> {
  try {
    await copyFile(source, target, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if (cannotShare.has((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/**
 * Copies what is allocated; holes stay holes. The copy takes time, so that the source must not be written meanwhile.
 * RESOURCE_EXHAUSTED when the filesystem has no room for it. What it leaves then is for the caller to remove.
 */
export async function copySparsely(source: string, target: string): Promise<void> {
  const neededBytes = await allocatedBytes(source);
  await requireRoom(target, neededBytes);
  const args = ['--reflink=never', '--sparse=auto', '--', source, target];
  const copying = runCopying('cp', args, neededBytes);
  const [result] = await Promise.all([copying, writeBackWhile(copying, target)]);
  if (result.status === 0) return;
  await requireRoom(target, neededBytes - (await allocatedBytes(target)));
  throw new Problem('UNAVAILABLE', `cannot copy "${source}": "cp" ${describeFailure(result)}`);
}

/**
 * Writes a file back while it is still copied, so that little is left to be made durable at the end. An error is not
 * kept to itself: the kernel tells each only once.
 */
async function writeBackWhile(copying: Promise<unknown>, target: string): Promise<void> {
  let isOver = false;
  const over = copying.then(() => (isOver = true));
  for (;;) {
    await Promise.race([over, sleep(writeBackMs)]);
    if (isOver) return;
    const file = await open(target, 'r').catch(ignoreMissing);
    await file?.datasync().finally(() => file.close());
  }
}

/** The bytes that a file has on disk; none when it is not there. */
export async function allocatedBytes(path: string): Promise<number> {
  return ((await stat(path).catch(ignoreMissing))?.blocks ?? 0) * 512;
}

async function requireRoom(target: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(target));
  if (bavail * bsize < neededBytes)
    throw new Problem(
      'RESOURCE_EXHAUSTED',
      `the filesystem of the images has ${bavail * bsize} bytes free, and the copy takes ${neededBytes} more`,
    );
}

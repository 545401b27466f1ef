import { constants } from 'node:fs';
import { copyFile, open, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { withinTime } from '../../../src/lib/concurrency.ts';
import { exec, type ExecResult } from '../../../src/lib/exec.ts';
import { codeOf, commandProblem, ignore } from '../local/files.ts';
import { allocatedBytes } from './pool.ts';

/** Filesystems that take a file's content at one instant, with writes kept out meanwhile, by their number in statfs. */
const atomicFilesystems: Readonly<Record<number, string>> = { 0x58465342: 'xfs', 0x9123683e: 'btrfs' };

/** What the system says when a filesystem, or these two files on it, cannot share blocks. */
const cannotShare = new Set(['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'ENOTTY', 'EINVAL', 'EXDEV', 'EPERM']);

/** How often a file is written back while it is copied, in milliseconds. */
const writeBackMs = 50;

/** The slowest storage that a copy waits for, after a minute that every copy has. */
const slowestBytesPerMs = 4 * 1024;
const leastCopyMs = 60_000;

/** True where sharing blocks copies at one instant, even while the file is written. */
export async function sharesAtomically(directory: string): Promise<boolean> {
  return (await statfs(directory)).type in atomicFilesystems;
}

/** Makes `target` share all blocks of `source`; false, and no target, where the filesystem cannot. */
export async function copyByReference(source: string, target: string): Promise<boolean> {
  try {
    await copyFile(source, target, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if (cannotShare.has(codeOf(error))) return false;
    throw error;
  }
}

/**
 * Copies what is allocated; holes stay holes. The copy takes time, so that the source must not be written meanwhile.
 * RESOURCE_EXHAUSTED when the filesystem has no space for it. The caller removes what it leaves then.
 */
export async function copySparsely(source: string, target: string): Promise<void> {
  const neededBytes = await allocatedBytes(source);
  await requireFree(dirname(target), neededBytes);
  const args = ['--reflink=never', '--sparse=auto', '--', source, target];
  const copying = runCopy(args, neededBytes);
  const [result] = await Promise.all([copying, writeBackWhile(copying, target)]);
  if (result.status === 0) return;
  await requireFree(dirname(target), neededBytes - (await allocatedBytes(target)));
  throw commandProblem('cp', `copy "${source}"`, result);
}

/** RESOURCE_EXHAUSTED when the filesystem has fewer bytes free. */
export async function requireFree(directory: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  if (bavail * bsize < neededBytes)
    throw new Problem(
      'RESOURCE_EXHAUSTED',
      `the filesystem of the volumes has ${bavail * bsize} bytes free and needs ${neededBytes} more`,
    );
}

/** Copies with a deadline set by the bytes; ends with this process where setpriv is installed, however that ends. */
async function runCopy(args: readonly string[], neededBytes: number): Promise<ExecResult> {
  const timeoutMs = leastCopyMs + neededBytes / slowestBytesPerMs;
  const guarded = await exec('setpriv', ['--pdeathsig', 'KILL', '--', 'cp', ...args], { timeoutMs });
  return guarded.missing ? exec('cp', args, { timeoutMs }) : guarded;
}

/**
 * Writes a file back while it is still copied, so that little is left to be made durable at the end. An error is
 * thrown, because the kernel reports each only once.
 */
async function writeBackWhile(copying: Promise<unknown>, target: string): Promise<void> {
  while (!(await withinTime(copying, writeBackMs))) {
    const file = await open(target, 'r').catch(ignore('ENOENT'));
    await file?.datasync().finally(() => file.close());
  }
}

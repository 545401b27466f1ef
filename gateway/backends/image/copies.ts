import { constants, existsSync, linkSync } from 'node:fs';
import { copyFile, open, stat, statfs, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { preconditionProblem, Problem } from '../../../src/api/problem.ts';
import { withinTime } from '../../../src/lib/concurrency.ts';
import { exec, type ExecResult } from '../../../src/lib/exec.ts';
import type { KnownSnapshot, NewSnapshot } from '../../backend.ts';
import { requireWithinLimit } from '../../local/copies.ts';
import { writableLoopDevicesOf } from '../../local/loop-devices.ts';
import { codeOf, commandProblem, fileProblem, ignore } from '../../local/files.ts';
import { mark, requireMadeFor, requireNotForeign, unmark } from '../../local/marks.ts';
import { allocatedBytes, type ImagePool } from './pool.ts';

/** Filesystems that clone a file at one instant, with writes blocked meanwhile, by their type in statfs. */
const atomicFilesystems: Readonly<Record<number, string>> = { 0x58465342: 'xfs', 0x9123683e: 'btrfs' };

/** Error codes of a filesystem that cannot share blocks, in general or between these two files. */
const cannotShare = new Set(['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'ENOTTY', 'EINVAL', 'EXDEV', 'EPERM']);

/** The interval between two write-backs of a file that is being copied, in milliseconds. */
const writeBackMs = 50;

/** A copy's deadline: a minute, and the time for its bytes at this rate. */
const minBytesPerMs = 4 * 1024;
const minCopyMs = 60_000;

export type Copy = {
  /** The source's name in messages, such as `volume "a.x"`. */
  readonly name: string;
  readonly source: string;
  readonly target: string;
  readonly nonce: string;
  /** True while a node may write to the source. */
  readonly attachedForWriting: boolean;
  /** The minimum size of the copy. A source above `limitBytes` is OUT_OF_RANGE. */
  readonly sizeBytes?: number;
  readonly limitBytes?: number;
};
type Source = Omit<Copy, 'target' | 'nonce'>;

/** An unfinished copy under a temporary name. `isWritten`: something can write to its source. */
type Draft = Copy & { readonly path: string; readonly isWritten: boolean };

/** Makes a copy's source from a volume's image. */
export function fromVolume(
  { images }: ImagePool,
  { volume, attachedForWriting }: Pick<NewSnapshot, 'volume' | 'attachedForWriting'>,
): Source {
  const [name, source] = [`volume "${volume.id}"`, images.pathOf(volume.id)];
  requireNotForeign(source, volume.nonce, name);
  return { name, source, attachedForWriting };
}

export function fromSnapshot({ snapshots }: ImagePool, { id }: KnownSnapshot): Source {
  return { name: `snapshot "${id}"`, source: snapshots.pathOf(id), attachedForWriting: false };
}

/**
 * Copies a file as it is at one point in time. A target that exists already stays; it is ALREADY_EXISTS when it was
 * made for another record. A source that is being written can only be copied by sharing its blocks on a filesystem
 * that does so at one instant. FAILED_PRECONDITION, with the reason, in any other case.
 */
export async function copyImage({ createDraft }: ImagePool, copy: Copy): Promise<void> {
  const draft = { ...copy, path: createDraft(copy.target), isWritten: await isWritten(copy) };
  if (draft.isWritten && !(await sharesAtomically(dirname(copy.source)))) throw tornProblem(copy);
  const before = await versionOf(copy);
  try {
    await fill(draft, new Date());
    if (!draft.isWritten && (before !== (await versionOf(copy)) || (await isWritten(copy))))
      throw preconditionProblem(`${copy.name} was attached or written while it was copied`);
    publish(draft);
  } finally {
    await unlink(draft.path).catch(ignore('ENOENT'));
  }
}

/**
 * True while something can write to the source: an attachment for writing, or a writable loop device that was left
 * behind.
 */
async function isWritten({ attachedForWriting, source }: Source): Promise<boolean> {
  return attachedForWriting || (await writableLoopDevicesOf(source)).length > 0;
}

/** Copies a file durably. The copy's mtime is the time of the copy, so that a restart can read it. */
async function fill(draft: Draft, copiedAt: Date): Promise<void> {
  const { name, source, path, isWritten: isLive, sizeBytes = 0, limitBytes = 0 } = draft;
  try {
    if (!(await copyByReference(source, path))) {
      if (isLive) throw tornProblem(draft);
      await copySparsely(source, path);
    }
    await using file = await open(path, 'r+');
    const { size } = await file.stat();
    // Truncating would lose data: the source may have grown before its new size was recorded.
    requireWithinLimit(name, size, limitBytes);
    if (sizeBytes > size) await file.truncate(sizeBytes);
    await file.utimes(copiedAt, copiedAt);
    await file.sync();
  } catch (error) {
    throw fileProblem(error, `the image of ${name}`);
  }
}

/** Identifies the state of a file: every write changes it. */
async function versionOf({ name, source }: Source): Promise<string> {
  try {
    const { ino, size, mtimeNs } = await stat(source, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch (error) {
    throw fileProblem(error, `the image of ${name}`);
  }
}

/** Gives a draft its final name. */
function publish({ name, path, target, nonce }: Draft): void {
  const what = `a copy of ${name}`;
  try {
    // No step runs between check and link, and the mark comes before the name: every named file has its mark.
    if (existsSync(target)) return requireMadeFor(target, nonce, what);
    // Removes the mark of a removed file; the draft may have got its inode.
    unmark(target);
    mark(target, nonce, { made: path, what });
    linkSync(path, target);
  } catch (error) {
    throw fileProblem(error, what);
  }
}

function tornProblem({ name }: Source): Problem {
  return preconditionProblem(
    `${name} is attached for writing, and the filesystem of the volumes cannot copy it at one instant; detach it first`,
  );
}

/** True on a filesystem that shares blocks at one instant, even while the file is written. */
export async function sharesAtomically(directory: string): Promise<boolean> {
  return (await statfs(directory)).type in atomicFilesystems;
}

/** Makes `target` share all blocks of `source`. Returns false, and leaves no target, when the filesystem cannot. */
async function copyByReference(source: string, target: string): Promise<boolean> {
  try {
    await copyFile(source, target, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if (cannotShare.has(codeOf(error))) return false;
    throw error;
  }
}

/**
 * Copies the allocated ranges; holes stay holes. The source must not be written during the copy. RESOURCE_EXHAUSTED
 * when the filesystem has too little space. On failure the caller removes the partial target.
 */
async function copySparsely(source: string, target: string): Promise<void> {
  const neededBytes = allocatedBytes(source);
  await requireFree(dirname(target), neededBytes);
  const args = ['--reflink=never', '--sparse=auto', '--', source, target];
  const copying = runCopy(args, neededBytes);
  const [result] = await Promise.all([copying, writeBackWhile(copying, target)]);
  if (result.status === 0) return;
  await requireFree(dirname(target), neededBytes - allocatedBytes(target));
  throw commandProblem('cp', `copy "${source}"`, result);
}

/** RESOURCE_EXHAUSTED when the filesystem has fewer than `neededBytes` free. */
export async function requireFree(directory: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  if (bavail * bsize < neededBytes)
    throw new Problem(
      'RESOURCE_EXHAUSTED',
      `the filesystem of the volumes has less than ${neededBytes} bytes free`,
    );
}

/** Runs `cp` with a deadline that depends on the bytes. Where setpriv is installed, `cp` dies with this process. */
async function runCopy(args: readonly string[], neededBytes: number): Promise<ExecResult> {
  const timeoutMs = minCopyMs + neededBytes / minBytesPerMs;
  const guarded = await exec('setpriv', ['--pdeathsig', 'KILL', '--', 'cp', ...args], { timeoutMs });
  return guarded.fault === 'ENOENT' ? exec('cp', args, { timeoutMs }) : guarded;
}

/**
 * Writes the target back while it is copied, so that little is left for the end. Throws a write error, because the
 * kernel reports each only once.
 */
async function writeBackWhile(copying: Promise<unknown>, target: string): Promise<void> {
  while (!(await withinTime(copying, writeBackMs))) {
    const file = await open(target, 'r').catch(ignore('ENOENT'));
    await file?.datasync().finally(() => file.close());
  }
}

import { constants, existsSync, linkSync } from 'node:fs';
import { copyFile, open, stat, statfs, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { preconditionProblem, Problem } from '../../../src/api/problem.ts';
import { withinTime } from '../../../src/lib/concurrency.ts';
import { exec, type ExecResult } from '../../../src/lib/exec.ts';
import type { KnownSnapshot, NewSnapshot } from '../../backend.ts';
import { writableLoopDevicesOf } from '../../exports/loop.ts';
import { codeOf, commandProblem, fileProblem, ignore } from '../local/files.ts';
import { mark, requireMadeFor, requireNotAnothers, unmark } from '../local/marks.ts';
import { allocatedBytes, type ImagePool } from './pool.ts';

/** Filesystems that take a file's content at one instant, with writes kept out meanwhile, by their number in statfs. */
const atomicFilesystems: Readonly<Record<number, string>> = { 0x58465342: 'xfs', 0x9123683e: 'btrfs' };

/** What the system says when a filesystem, or these two files on it, cannot share blocks. */
const cannotShare = new Set(['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'ENOTTY', 'EINVAL', 'EXDEV', 'EPERM']);

/** How often a file is written back while it is copied, in milliseconds. */
const writeBackMs = 50;

/** The slowest storage that a copy waits for, after a minute that every copy has. */
const slowestBytesPerMs = 4 * 1024;
const leastCopyMs = 60_000;

/** A file to copy. */
export type Copy = {
  /** For messages, such as `volume "a.x"`. */
  readonly name: string;
  readonly source: string;
  readonly target: string;
  /** That of the record that the copy is made for. */
  readonly nonce: string;
  /** Some node may write to the source now. */
  readonly attachedForWriting: boolean;
  /** The copy gets this size when it is larger than the source, which may not be larger than the limit. */
  readonly sizeBytes?: number;
  readonly limitBytes?: number;
};
type Source = Omit<Copy, 'target' | 'nonce'>;

/** The copy under a name of its own, until it is whole and durable. */
type Draft = Copy & { readonly path: string; readonly isWritten: boolean };

/** A volume's image as a source. */
export function fromVolume(
  { images }: ImagePool,
  { volume, attachedForWriting }: Pick<NewSnapshot, 'volume' | 'attachedForWriting'>,
): Source {
  const [name, source] = [`volume "${volume.id}"`, images.pathOf(volume.id)];
  requireNotAnothers(source, volume.nonce, name);
  return { name, source, attachedForWriting };
}

/** A snapshot as a source. */
export function fromSnapshot({ snapshots }: ImagePool, { id }: KnownSnapshot): Source {
  return { name: `snapshot "${id}"`, source: snapshots.pathOf(id), attachedForWriting: false };
}

/**
 * Copies all files as they are at one point in time, or none; a file that has a target's name already stays, and is
 * ALREADY_EXISTS when it was made for another record. A file that
 * is written meanwhile can only be copied by sharing its blocks on a filesystem that does so at one instant, and only
 * one such file. FAILED_PRECONDITION, with the reason, for anything else.
 */
export async function copyTogether({ createDraft }: ImagePool, copies: readonly Copy[]): Promise<void> {
  const drafts = await Promise.all(
    copies.map(async (copy): Promise<Draft> => {
      const path = createDraft(copy.target);
      return { ...copy, path, isWritten: await isWritten(copy) };
    }),
  );
  const live = drafts.filter(draft => draft.isWritten);
  const idle = drafts.filter(draft => !draft.isWritten);
  await requireOneInstant(live);
  const before = await Promise.all(idle.map(stampOf));
  const copiedAt = new Date();
  try {
    // What is written comes first: the others do not change.
    for (const draft of [...live, ...idle]) await fill(draft, copiedAt);
    const after = await Promise.all(idle.map(stampOf));
    for (const [index, draft] of idle.entries())
      if (before[index] !== after[index] || (await isWritten(draft)))
        throw preconditionProblem(`${draft.name} was attached or written while it was copied`);
    await publish(drafts);
  } finally {
    await Promise.all(drafts.map(({ path }) => unlink(path).catch(ignore('ENOENT'))));
  }
}

/** Asked for and observed: a loop device that was left behind can write too. */
async function isWritten({ attachedForWriting, source }: Source): Promise<boolean> {
  return attachedForWriting || (await writableLoopDevicesOf(source)).length > 0;
}

async function requireOneInstant([first, second]: readonly Draft[]): Promise<void> {
  if (first && second)
    throw preconditionProblem(
      `${first.name} and ${second.name} are both attached for writing and cannot be copied at one instant; detach all but one`,
    );
  if (first && !(await sharesAtomically(dirname(first.source)))) throw tornProblem(first);
}

/** Copies a file, durably. Its time is the copy's, so that a restart finds it. */
async function fill(draft: Draft, copiedAt: Date): Promise<void> {
  const { name, source, path, isWritten: isLive, sizeBytes = 0, limitBytes } = draft;
  try {
    if (!(await copyByReference(source, path))) {
      if (isLive) throw tornProblem(draft);
      await copySparsely(source, path);
    }
    await using file = await open(path, 'r+');
    const { size } = await file.stat();
    // A copy is never truncated: its source may have grown without that being recorded yet.
    if (limitBytes && size > limitBytes)
      throw new Problem('OUT_OF_RANGE', `${name} has ${size} bytes, more than the ${limitBytes} asked for`);
    if (sizeBytes > size) await file.truncate(sizeBytes);
    await file.utimes(copiedAt, copiedAt);
    await file.sync();
  } catch (error) {
    throw fileProblem(error, `the image of ${name}`);
  }
}

/** What changes with every write to a file. */
async function stampOf({ name, source }: Source): Promise<string> {
  try {
    const { ino, size, mtimeNs } = await stat(source, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch (error) {
    throw fileProblem(error, `the image of ${name}`);
  }
}

/** Gives all drafts their real names, or none. */
async function publish(drafts: readonly Draft[]): Promise<void> {
  const published: string[] = [];
  try {
    // Nothing runs between the look and the link, and the mark comes first: what has a name is known by its mark.
    for (const { name, path, target, nonce } of drafts) {
      const what = `a copy of ${name}`;
      if (existsSync(target)) {
        requireMadeFor(target, nonce, what);
        continue;
      }
      // Of what is gone; its inode may be the draft's.
      unmark(target);
      mark(target, nonce, { made: path, what });
      linkSync(path, target);
      published.push(target);
    }
  } catch (error) {
    await Promise.all(published.map(path => unlink(path)));
    published.forEach(path => unmark(path));
    throw fileProblem(error, 'a copy');
  }
}

function tornProblem({ name }: Source): Problem {
  return preconditionProblem(
    `${name} is attached for writing, and the filesystem of the volumes cannot copy it at one instant; detach it first`,
  );
}

/** True where sharing blocks copies at one instant, even while the file is written. */
async function sharesAtomically(directory: string): Promise<boolean> {
  return (await statfs(directory)).type in atomicFilesystems;
}

/** Makes `target` share all blocks of `source`; false, and no target, where the filesystem cannot. */
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
 * Copies what is allocated; holes stay holes. The copy takes time, so that the source must not be written meanwhile.
 * RESOURCE_EXHAUSTED when the filesystem has no space for it. The caller removes what it leaves then.
 */
async function copySparsely(source: string, target: string): Promise<void> {
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
    throw new Problem('RESOURCE_EXHAUSTED', 'the filesystem of the volumes has too little space free');
}

/** Copies with a deadline set by the bytes; ends with this process where setpriv is installed, however that ends. */
async function runCopy(args: readonly string[], neededBytes: number): Promise<ExecResult> {
  const timeoutMs = leastCopyMs + neededBytes / slowestBytesPerMs;
  const guarded = await exec('setpriv', ['--pdeathsig', 'KILL', '--', 'cp', ...args], { timeoutMs });
  return guarded.fault === 'ENOENT' ? exec('cp', args, { timeoutMs }) : guarded;
}

/** Leaves little to be made durable at the end. Throws an error, because the kernel reports each only once. */
async function writeBackWhile(copying: Promise<unknown>, target: string): Promise<void> {
  while (!(await withinTime(copying, writeBackMs))) {
    const file = await open(target, 'r').catch(ignore('ENOENT'));
    await file?.datasync().finally(() => file.close());
  }
}

import { open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { copyByReference, copySparsely, sharesAtomically } from './copy.ts';
import { discardDraft, type CreateDraft, type Draft } from './drafts.ts';
import { toProblem } from './files.ts';
import { writableLoopDevicesOf } from './use.ts';

/** A file to copy. `name` is for messages, such as `volume "a.x"`. */
export type Copy = {
  readonly name: string;
  readonly source: string;
  readonly target: string;
  /** Some node may write to the source now. */
  readonly attachedForWriting: boolean;
  /** The copy gets this size when it is larger than the source. */
  readonly sizeBytes?: number;
};

/**
 * Copies all files as they are at one point in time, or none, into drafts that are whole and durable, in the order of
 * the copies. A file that is written meanwhile can only be copied by sharing its blocks on a filesystem that does so at
 * one instant, and only one such file. FAILED_PRECONDITION, with the reason, for anything else.
 */
export async function copyTogether(
  copies: readonly Copy[],
  createDraft: CreateDraft,
): Promise<readonly Draft[]> {
  const live = copies.filter(isLive);
  await requireOneInstant(live);
  const idle = copies.filter(copy => !live.includes(copy));
  const before = await Promise.all(idle.map(stampOf));
  const drafts = new Map(copies.map(copy => [copy, createDraft(copy.target)] as const));
  const copiedAtMs = Date.now();
  try {
    // What is written comes first: the others do not change.
    for (const copy of [...live, ...idle]) {
      const path = drafts.get(copy)?.path ?? '';
      await copyFile(copy, path, live.includes(copy));
      await settle(copy, path, copiedAtMs);
    }
    const after = await Promise.all(idle.map(stampOf));
    for (const [index, copy] of idle.entries()) requireUntouched(copy, before[index] === after[index]);
  } catch (error) {
    await Promise.all([...drafts.values()].map(discardDraft));
    throw error;
  }
  return [...drafts.values()];
}

/** Asked for and observed: a loop device that was left behind can write too. */
function isLive({ attachedForWriting, source }: Copy): boolean {
  return attachedForWriting || writableLoopDevicesOf(source).length > 0;
}

async function requireOneInstant(live: readonly Copy[]): Promise<void> {
  const [first, second] = live;
  if (first && second)
    throw new Problem(
      'FAILED_PRECONDITION',
      `${first.name} and ${second.name} are both attached for writing and cannot be copied at one instant; detach all but one`,
    );
  if (first && !(await sharesAtomically(dirname(first.source)))) throw tornProblem(first);
}

async function copyFile(copy: Copy, target: string, isWritten: boolean): Promise<void> {
  try {
    if (await copyByReference(copy.source, target)) return;
    if (isWritten) throw tornProblem(copy);
    await copySparsely(copy.source, target);
  } catch (error) {
    throw toProblem(error, `the image of ${copy.name}`);
  }
}

async function settle({ name, sizeBytes = 0 }: Copy, path: string, copiedAtMs: number): Promise<void> {
  try {
    await using file = await open(path, 'r+');
    const { size } = await file.stat();
    if (sizeBytes > size) await file.truncate(sizeBytes);
    // The file's time is the copy's time, so that a restart finds it.
    await file.utimes(new Date(copiedAtMs), new Date(copiedAtMs));
    await file.sync();
  } catch (error) {
    throw toProblem(error, `a copy of ${name}`);
  }
}

/** What changes with every write to a file. */
async function stampOf({ name, source }: Copy): Promise<string> {
  try {
    const { ino, size, mtimeNs } = await stat(source, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch (error) {
    throw toProblem(error, `the image of ${name}`);
  }
}

function requireUntouched(copy: Copy, isSame: boolean): void {
  if (!isSame || isLive(copy))
    throw new Problem('FAILED_PRECONDITION', `${copy.name} was attached or written while it was copied`);
}

function tornProblem({ name }: Copy): Problem {
  return new Problem(
    'FAILED_PRECONDITION',
    `${name} is attached for writing, and the filesystem of the images cannot copy it at one instant; detach it first`,
  );
}

import { open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { copyByReference, copySparsely, sharesAtomically } from './copy.ts';
import { discardDraft, type Draft, type Drafts } from './drafts.ts';
import { writableLoopDevicesOf } from './loop-devices.ts';
import { toProblem } from './problems.ts';

/** A file to copy. `name` is for messages, such as `volume "a.x"`. */
export type Cut = {
  readonly name: string;
  readonly source: string;
  readonly target: string;
  /** Some node may write to the source now. */
  readonly attachedForWriting: boolean;
  /** The copy gets this size when it is larger than the source. */
  readonly sizeBytes?: number;
};

/** Copies that are whole and durable but do not have their names yet, and when they were cut. */
export type CutDrafts = { readonly drafts: readonly Draft[]; readonly cutAtMs: number };

/**
 * Copies all files as they are at one point in time, or none. A file that is written meanwhile can only be copied by
 * sharing its blocks on a filesystem that does so at one instant, and only one such file: two would be cut one after
 * the other. FAILED_PRECONDITION, with the reason, for anything else.
 */
export async function cutTogether(cuts: readonly Cut[], place: Drafts): Promise<CutDrafts> {
  const live = cuts.filter(isLive);
  await requireOneInstant(live);
  const idle = cuts.filter(cut => !live.includes(cut));
  const before = await Promise.all(idle.map(stampOf));
  const drafts: Draft[] = [];
  const cutAtMs = Date.now();
  try {
    for (const cut of [...live, ...idle]) {
      place.removeFor(cut.target);
      const draft = place.create(cut.target);
      drafts.push(draft);
      await copy(cut, draft, live.includes(cut));
      await settle(cut, draft, cutAtMs);
    }
    const after = await Promise.all(idle.map(stampOf));
    for (const [index, cut] of idle.entries()) requireUntouched(cut, before[index] === after[index]);
  } catch (error) {
    await Promise.all(drafts.map(discardDraft));
    throw error;
  }
  return { drafts: cuts.map(cut => draftFor(cut, drafts)), cutAtMs };
}

/** Asked for and observed: a loop device that was left behind can write too. */
function isLive({ attachedForWriting, source }: Cut): boolean {
  return attachedForWriting || writableLoopDevicesOf(source).length > 0;
}

async function requireOneInstant(live: readonly Cut[]): Promise<void> {
  const [first, second] = live;
  if (first && second)
    throw new Problem(
      'FAILED_PRECONDITION',
      `${first.name} and ${second.name} are both attached for writing and would be cut one after the other; detach all but one`,
    );
  if (first && !(await sharesAtomically(dirname(first.source)))) throw torn(first);
}

async function copy(
  { name, source, target, attachedForWriting }: Cut,
  draft: Draft,
  isWritten: boolean,
): Promise<void> {
  try {
    if (await copyByReference(source, draft.path)) return;
    if (isWritten) throw torn({ name, source, target, attachedForWriting });
    await copySparsely(source, draft.path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new Problem('NOT_FOUND', `the image of ${name} is not there`, error);
    throw toProblem(error, `a copy of ${name}`);
  }
}

async function settle({ name, sizeBytes = 0 }: Cut, draft: Draft, cutAtMs: number): Promise<void> {
  const file = await open(draft.path, 'r+');
  try {
    const { size } = await file.stat();
    if (sizeBytes > size) await file.truncate(sizeBytes);
    // The time of the cut is kept where a restart finds it.
    await file.utimes(new Date(cutAtMs), new Date(cutAtMs));
    await file.sync();
  } catch (error) {
    throw toProblem(error, `a copy of ${name}`);
  } finally {
    await file.close();
  }
}

/** What changes with every write to a file. */
async function stampOf({ name, source }: Cut): Promise<string> {
  try {
    const { ino, size, mtimeNs } = await stat(source, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new Problem('NOT_FOUND', `the image of ${name} is not there`, error);
    throw error;
  }
}

function requireUntouched(cut: Cut, isSame: boolean): void {
  if (!isSame || isLive(cut))
    throw new Problem('FAILED_PRECONDITION', `${cut.name} was attached or written while it was copied`);
}

function torn({ name }: Cut): Problem {
  return new Problem(
    'FAILED_PRECONDITION',
    `${name} is attached for writing, and the filesystem of the images cannot copy it at one instant; detach it first`,
  );
}

function draftFor({ target }: Cut, drafts: readonly Draft[]): Draft {
  const draft = drafts.find(one => one.target === target);
  if (!draft) throw new Error(`"${target}" was not copied`);
  return draft;
}

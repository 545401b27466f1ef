import { link, open, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import type { KnownVolume, KnownSnapshot } from '../../backend.ts';
import { fileProblem, ignore } from '../local/files.ts';
import { copyByReference, copySparsely, sharesAtomically } from './copy.ts';
import type { ImagePool } from './pool.ts';
import { writableLoopDevicesOf } from './use.ts';

/** A file to copy. `name` is for messages, such as `volume "a.x"`. */
type Source = {
  readonly name: string;
  readonly source: string;
  /** Some node may write to the source now. */
  readonly attachedForWriting: boolean;
};

/** The copy gets this size when it is larger than the source, which may not be larger than the limit. */
export type Copy = Source & {
  readonly target: string;
  readonly sizeBytes?: number;
  readonly limitBytes?: number;
};

/** The copy under a name of its own, until it is whole and durable. */
type Draft = Copy & { readonly path: string; readonly isWritten: boolean };

/** A volume to copy. */
type Writable = { readonly volume: KnownVolume; readonly attachedForWriting: boolean };

/** A volume's image as a source. */
export function fromVolume({ images }: ImagePool, { volume, attachedForWriting }: Writable): Source {
  return { name: `volume "${volume.id}"`, source: images.pathOf(volume.id), attachedForWriting };
}

/** A snapshot as a source. */
export function fromSnapshot({ snapshots }: ImagePool, { id }: KnownSnapshot): Source {
  return { name: `snapshot "${id}"`, source: snapshots.pathOf(id), attachedForWriting: false };
}

/**
 * Copies all files as they are at one point in time, or none; a file that has a target's name already stays. A file that
 * is written meanwhile can only be copied by sharing its blocks on a filesystem that does so at one instant, and only
 * one such file. FAILED_PRECONDITION, with the reason, for anything else.
 */
export async function copyTogether({ createDraft }: ImagePool, copies: readonly Copy[]): Promise<void> {
  const drafts = copies.map(copy => ({
    ...copy,
    path: createDraft(copy.target),
    isWritten: isWritten(copy),
  }));
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
      if (before[index] !== after[index] || isWritten(draft))
        throw new Problem('FAILED_PRECONDITION', `${draft.name} was attached or written while it was copied`);
    await publish(drafts);
  } finally {
    await Promise.all(drafts.map(({ path }) => unlink(path).catch(ignore('ENOENT'))));
  }
}

/** Asked for and observed: a loop device that was left behind can write too. */
function isWritten({ attachedForWriting, source }: Source): boolean {
  return attachedForWriting || writableLoopDevicesOf(source).length > 0;
}

async function requireOneInstant([first, second]: readonly Draft[]): Promise<void> {
  if (first && second)
    throw new Problem(
      'FAILED_PRECONDITION',
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
    for (const { path, target } of drafts) {
      const isNew = await link(path, target).then(() => true, ignore('EEXIST'));
      if (isNew) published.push(target);
    }
  } catch (error) {
    await Promise.all(published.map(path => unlink(path)));
    throw fileProblem(error, 'a copy');
  }
}

function tornProblem({ name }: Source): Problem {
  return new Problem(
    'FAILED_PRECONDITION',
    `${name} is attached for writing, and the filesystem of the volumes cannot copy it at one instant; detach it first`,
  );
}

import { open, type FileHandle } from 'node:fs/promises';
import { Problem } from '../../../src/api/problem.ts';
import type { Changes, Extent, KnownSnapshot } from '../../backend.ts';
import { readExtents } from './extents.ts';
import { snapshotPath } from './paths.ts';
import { cutAtWindows, joinWithinWindows, unsharedRanges } from './ranges.ts';

/** The unit that is compared: a divisor of every image's size. */
const blockBytes = 4_096;
/** What is read at a time; a divisor of the windows. */
const chunkBytes = 2 ** 20;

/** A snapshot's file; undefined in its place stands for nothing but zeros. */
type Source = { readonly file: FileHandle; readonly path: string; readonly sizeBytes: number };

/**
 * Allocated and changed blocks of the snapshots below `root`, from the files themselves. Blocks that two snapshots
 * share on disk are the same; all others are read and compared.
 */
export function createChanges(root: string): Changes {
  return {
    async *allocated(snapshot, fromOffset) {
      await using file = await openSnapshot(root, snapshot);
      const target = await describe(root, snapshot, file);
      const map = await readExtents(target.path, target.sizeBytes);
      const ranges = cutAtWindows(map?.extents ?? [wholeOf(target)], fromOffset);
      yield* joinWithinWindows(map ? ranges : differing(undefined, target, ranges), fromOffset);
    },
    async *changed(pair, fromOffset) {
      await using baseFile = await openSnapshot(root, pair.base);
      await using targetFile = await openSnapshot(root, pair.target);
      const base = await describe(root, pair.base, baseFile);
      const target = await describe(root, pair.target, targetFile);
      const ranges = cutAtWindows(await mayDiffer(base, target), fromOffset);
      yield* joinWithinWindows(differing(base, target, ranges), fromOffset);
    },
  };
}

/** Where the two may differ: what they share for certain, and what is a hole in both, is left out. */
async function mayDiffer(base: Source, target: Source): Promise<Iterable<Extent>> {
  const before = await readExtents(base.path, base.sizeBytes);
  const now = await readExtents(target.path, target.sizeBytes);
  const after = before && (await readExtents(base.path, base.sizeBytes));
  // A filesystem may move blocks, so that two files were at one place one after the other and not together.
  const isStill = before !== undefined && before.digest === after?.digest;
  return isStill && now ? unsharedRanges(before.extents, now.extents, target.sizeBytes) : [wholeOf(target)];
}

/** The blocks within the ranges that are not equal in both. */
async function* differing(
  base: Source | undefined,
  target: Source,
  ranges: Iterable<Extent>,
): AsyncGenerator<Extent> {
  for (const range of ranges) {
    const end = range.offset + range.length;
    for (let offset = range.offset; offset < end;) {
      const length = Math.min(end, offset - (offset % chunkBytes) + chunkBytes) - offset;
      const [left, right] = await Promise.all([read(base, offset, length), read(target, offset, length)]);
      if (!left.equals(right)) yield* unequalBlocks(left, right, offset);
      offset += length;
    }
  }
}

function* unequalBlocks(left: Buffer, right: Buffer, offset: number): Iterable<Extent> {
  for (let start = 0; start < right.length;) {
    const length = Math.min(right.length - start, blockBytes - ((offset + start) % blockBytes));
    const end = start + length;
    if (left.compare(right, start, end, start, end) !== 0) yield { offset: offset + start, length };
    start = end;
  }
}

/** Past its end a file holds zeros. */
async function read(source: Source | undefined, offset: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  if (!source) return buffer;
  for (let done = 0; done < length;) {
    const { bytesRead } = await source.file.read(buffer, done, length - done, offset + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer;
}

async function openSnapshot(root: string, { id }: KnownSnapshot): Promise<FileHandle> {
  try {
    return await open(snapshotPath(root, id), 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Problem('NOT_FOUND', `the image of snapshot "${id}" is missing`, error);
  }
}

async function describe(root: string, { id }: KnownSnapshot, file: FileHandle): Promise<Source> {
  return { file, path: snapshotPath(root, id), sizeBytes: (await file.stat()).size };
}

function wholeOf({ sizeBytes }: Source): Extent {
  return { offset: 0, length: sizeBytes };
}

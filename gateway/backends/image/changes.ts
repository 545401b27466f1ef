import { type FileHandle, open } from 'node:fs/promises';
import type { Changes, Extent, KnownSnapshot } from '../../backend.ts';
import { isDeepStrictEqual } from 'node:util';
import { fileProblem } from '../../local/files.ts';
import { type MappedExtent, readExtents } from './extents.ts';
import type { ImagePool } from './pool.ts';

/** The unit of comparison; it divides every image's size. */
const blockBytes = 4_096;
const chunkBytes = 2 ** 20;
/**
 * Joined ranges stop growing at about this many bytes, so that the first range of a list never takes a whole image to
 * find.
 */
const maxJoinedBytes = 64 * 2 ** 20;

type Source = AsyncDisposable & {
  readonly file: FileHandle;
  readonly path: string;
  readonly sizeBytes: number;
};

/**
 * Finds changed blocks from the snapshots' files: blocks that both files share on disk are equal, all other blocks
 * are read and compared.
 */
export function createChanges(pool: ImagePool): Changes {
  return {
    async *allocated(snapshot, fromOffset) {
      await using target = await openSnapshot(pool, snapshot);
      const extents = await readExtents(target.path, target.sizeBytes);
      const blocks = differing(undefined, target, chunksFrom([wholeRangeOf(target)], fromOffset));
      yield* joinRanges(extents ?? blocks, fromOffset);
    },
    async *changed(pair, fromOffset) {
      await using base = await openSnapshot(pool, pair.base);
      await using target = await openSnapshot(pool, pair.target);
      const chunks = chunksFrom(await rangesToCompare(base, target), fromOffset);
      yield* joinRanges(differing(base, target, chunks), fromOffset);
    },
  };
}

async function openSnapshot({ snapshots }: ImagePool, { id }: KnownSnapshot): Promise<Source> {
  const path = snapshots.pathOf(id);
  try {
    const file = await open(path, 'r');
    const { size } = await file.stat();
    return { file, path, sizeBytes: size, [Symbol.asyncDispose]: () => file.close() };
  } catch (error) {
    throw fileProblem(error, `the image of snapshot "${id}"`);
  }
}

/** The ranges that may differ; certainly shared blocks, and holes in both files, are left out. */
async function rangesToCompare(base: Source, target: Source): Promise<Iterable<Extent>> {
  const before = await readExtents(base.path, base.sizeBytes);
  const now = await readExtents(target.path, target.sizeBytes);
  const after = before && (await readExtents(base.path, base.sizeBytes));
  // A filesystem may move blocks between the two maps, so that both files had one address at different times. If the
  // first map has changed meanwhile, everything is compared.
  const isUnchanged = isDeepStrictEqual(before, after);
  return isUnchanged && before && now
    ? unsharedRanges(before, now, target.sizeBytes)
    : [wholeRangeOf(target)];
}

/** Cuts the ranges into chunks, and skips chunks that end at or before the offset. */
function* chunksFrom(ranges: Iterable<Extent>, fromOffset: number): Iterable<Extent> {
  for (const range of ranges)
    for (const chunk of cutAt(range, chunkBytes)) if (endOf(chunk) > fromOffset) yield chunk;
}

/** The blocks in the chunks that differ between the two files. A missing base counts as zeros. */
async function* differing(
  base: Source | undefined,
  target: Source,
  chunks: Iterable<Extent>,
): AsyncGenerator<Extent> {
  for (const chunk of chunks) {
    const [left, right] = await Promise.all([read(base, chunk), read(target, chunk)]);
    if (left.equals(right)) continue;
    for (const block of cutAt(chunk, blockBytes)) {
      const start = block.offset - chunk.offset;
      const end = start + block.length;
      if (left.compare(right, start, end, start, end) !== 0) yield block;
    }
  }
}

/** Reads a range; bytes beyond the end of the file are zeros. */
async function read(source: Source | undefined, { offset, length }: Extent): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  if (!source) return buffer;
  for (let done = 0; done < length;) {
    const { bytesRead } = await source.file.read(buffer, done, length - done, offset + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer;
}

function wholeRangeOf({ sizeBytes }: Source): Extent {
  return { offset: 0, length: sizeBytes };
}

/**
 * The ranges with blocks in either file that the two files do not certainly share, in order and up to the target's
 * end.
 */
export function* unsharedRanges(
  base: readonly MappedExtent[],
  target: readonly MappedExtent[],
  sizeBytes: number,
): Generator<Extent> {
  let [baseIndex, targetIndex, position] = [0, 0, 0];
  while (position < sizeBytes) {
    while (endOf(base[baseIndex]) <= position) baseIndex++;
    while (endOf(target[targetIndex]) <= position) targetIndex++;
    const [left, right] = [base[baseIndex], target[targetIndex]];
    if (!left && !right) return;
    const end = Math.min(nextEdge(left, position), nextEdge(right, position), sizeBytes);
    const [inLeft, inRight] = [addressAt(left, position), addressAt(right, position)];
    const isShared = typeof inLeft === 'number' && inLeft === inRight;
    if ((inLeft !== 'hole' || inRight !== 'hole') && !isShared)
      yield { offset: position, length: end - position };
    position = end;
  }
}

function* cutAt(range: Extent, step: number): Iterable<Extent> {
  for (let offset = range.offset; offset < endOf(range);) {
    const length = Math.min(endOf(range), offset - (offset % step) + step) - offset;
    yield { offset, length };
    offset += length;
  }
}

/** Joins adjacent ranges, and skips ranges that end at or before `fromOffset`. */
async function* joinRanges(
  ranges: Iterable<Extent> | AsyncIterable<Extent>,
  fromOffset: number,
): AsyncGenerator<Extent> {
  let last: Extent | undefined;
  for await (const range of ranges) {
    if (endOf(range) <= fromOffset) continue;
    if (last && endOf(last) === range.offset && last.length < maxJoinedBytes) {
      last = { offset: last.offset, length: last.length + range.length };
      continue;
    }
    if (last) yield last;
    last = { offset: range.offset, length: range.length };
  }
  if (last) yield last;
}

function endOf(extent: Extent | undefined): number {
  return extent ? extent.offset + extent.length : Infinity;
}

/** The extent's start if it lies after the position, else its end. */
function nextEdge(extent: Extent | undefined, position: number): number {
  return extent && position < extent.offset ? extent.offset : endOf(extent);
}

/** The byte's address on disk, `hole` without a block, `unknown` if the address proves nothing. */
function addressAt(extent: MappedExtent | undefined, position: number): number | 'hole' | 'unknown' {
  if (!extent || position < extent.offset) return 'hole';
  return extent.physical === undefined ? 'unknown' : extent.physical + (position - extent.offset);
}

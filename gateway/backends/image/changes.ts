import { type FileHandle, open } from 'node:fs/promises';
import type { Changes, Extent, KnownSnapshot } from '../../backend.ts';
import { isDeepStrictEqual } from 'node:util';
import { fileProblem } from '../local/files.ts';
import { type MappedExtent, readExtents } from './extents.ts';
import type { ImagePool } from './pool.ts';

/** The unit that is compared: a divisor of every image's size. */
const blockBytes = 4_096;
/** What is read at a time. */
const chunkBytes = 2 ** 20;
/** What is joined has about this many bytes at most, so that the first of a list never takes a whole image to find. */
const mostJoinedBytes = 64 * 2 ** 20;

/** A snapshot's file, opened. */
type Source = AsyncDisposable & {
  readonly file: FileHandle;
  readonly path: string;
  readonly sizeBytes: number;
};

/** Blocks from the snapshots' files themselves: what two share on disk is the same, all else is read and compared. */
export function createChanges(pool: ImagePool): Changes {
  return {
    async *allocated(snapshot, fromOffset) {
      await using target = await openSnapshot(pool, snapshot);
      const extents = await readExtents(target.path, target.sizeBytes);
      const blocks = differing(undefined, target, chunksFrom([wholeOf(target)], fromOffset));
      yield* joined(extents ?? blocks, fromOffset);
    },
    async *changed(pair, fromOffset) {
      await using base = await openSnapshot(pool, pair.base);
      await using target = await openSnapshot(pool, pair.target);
      const chunks = chunksFrom(await mayDiffer(base, target), fromOffset);
      yield* joined(differing(base, target, chunks), fromOffset);
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

/** Where the two may differ: what they share for certain, and what is a hole in both, is left out. */
async function mayDiffer(base: Source, target: Source): Promise<Iterable<Extent>> {
  const before = await readExtents(base.path, base.sizeBytes);
  const now = await readExtents(target.path, target.sizeBytes);
  const after = before && (await readExtents(base.path, base.sizeBytes));
  // A filesystem may move blocks, so that two files were at one address one after the other and not together.
  const isStill = isDeepStrictEqual(before, after);
  return isStill && before && now ? unsharedRanges(before, now, target.sizeBytes) : [wholeOf(target)];
}

/** The ranges in chunks, from the first that ends after the offset. */
function* chunksFrom(ranges: Iterable<Extent>, fromOffset: number): Iterable<Extent> {
  for (const range of ranges)
    for (const chunk of cutAt(range, chunkBytes)) if (endOf(chunk) > fromOffset) yield chunk;
}

/** The blocks within the chunks that are not equal in both; no base stands for nothing but zeros. */
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

/** Past its end a file holds zeros. */
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

function wholeOf({ sizeBytes }: Source): Extent {
  return { offset: 0, length: sizeBytes };
}

/** Where either file has blocks and the two do not certainly share them, in order, up to the target's end. */
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

/** The range in pieces that end at multiples of `step`, and at its own end. */
function* cutAt(range: Extent, step: number): Iterable<Extent> {
  for (let offset = range.offset; offset < endOf(range);) {
    const length = Math.min(endOf(range), offset - (offset % step) + step) - offset;
    yield { offset, length };
    offset += length;
  }
}

/** Joins what is adjacent, from the first that ends after `fromOffset`. */
async function* joined(
  ranges: Iterable<Extent> | AsyncIterable<Extent>,
  fromOffset: number,
): AsyncGenerator<Extent> {
  let last: Extent | undefined;
  for await (const range of ranges) {
    if (endOf(range) <= fromOffset) continue;
    if (last && endOf(last) === range.offset && last.length < mostJoinedBytes) {
      last = { offset: last.offset, length: last.length + range.length };
      continue;
    }
    if (last) yield last;
    last = { offset: range.offset, length: range.length };
  }
  if (last) yield last;
}

/** Past everything when there is no extent. */
function endOf(extent: Extent | undefined): number {
  return extent ? extent.offset + extent.length : Infinity;
}

/** Where the extent begins or, once it has begun, where it ends. */
function nextEdge(extent: Extent | undefined, position: number): number {
  return extent && position < extent.offset ? extent.offset : endOf(extent);
}

/** Where the byte lies on disk: an address, nowhere, or somewhere that proves nothing. */
function addressAt(extent: MappedExtent | undefined, position: number): number | 'hole' | 'unknown' {
  if (!extent || position < extent.offset) return 'hole';
  return extent.physical === undefined ? 'unknown' : extent.physical + (position - extent.offset);
}

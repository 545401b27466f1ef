import type { Extent } from '../../backend.ts';
import type { MappedExtent } from './extents.ts';

/** What is joined has about this many bytes at most, so that the first of a list never takes a whole image to find. */
const mostJoinedBytes = 64 * 2 ** 20;

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
export function* cutAt(range: Extent, step: number): Iterable<Extent> {
  for (let offset = range.offset; offset < endOf(range);) {
    const length = Math.min(endOf(range), offset - (offset % step) + step) - offset;
    yield { offset, length };
    offset += length;
  }
}

/** Joins what is adjacent, from the first that ends after `fromOffset`. */
export async function* joined(
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
export function endOf(extent: Extent | undefined): number {
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

import type { Extent } from '../../backend.ts';
import type { MappedExtent } from './extents.ts';

/**
 * No listed extent crosses a multiple of this many bytes. So what is listed from an offset on is the same
 * wherever one started, and to go on costs at most one window more.
 */
const windowBytes = 64 * 2 ** 20;

/** Where either file has blocks and the two do not certainly share them, in order, cut off at the target's end. */
export function* unsharedRanges(
  base: readonly MappedExtent[],
  target: readonly MappedExtent[],
  sizeBytes: number,
): Iterable<Extent> {
  let [baseIndex, targetIndex, position] = [0, 0, 0];
  while (position < sizeBytes) {
    while (endOf(base[baseIndex]) <= position) baseIndex++;
    while (endOf(target[targetIndex]) <= position) targetIndex++;
    const [left, right] = [base[baseIndex], target[targetIndex]];
    if (!left && !right) return;
    const end = Math.min(nextEdge(left, position), nextEdge(right, position), sizeBytes);
    const [inLeft, inRight] = [placeAt(left, position), placeAt(right, position)];
    const isShared = typeof inLeft === 'number' && inLeft === inRight;
    if ((inLeft !== 'hole' || inRight !== 'hole') && !isShared)
      yield { offset: position, length: end - position };
    position = end;
  }
}

/** The ranges, from the start of the window that holds `fromOffset`, cut where windows end. */
export function* cutAtWindows(ranges: Iterable<Extent>, fromOffset: number): Iterable<Extent> {
  const from = fromOffset - (fromOffset % windowBytes);
  for (const { offset, length } of ranges) {
    const end = offset + length;
    for (let start = Math.max(offset, from); start < end;) {
      const next = Math.min(end, start - (start % windowBytes) + windowBytes);
      yield { offset: start, length: next - start };
      start = next;
    }
  }
}

/** Joins what is adjacent within a window, and leaves out what ends at or before `fromOffset`. */
export async function* joinWithinWindows(
  ranges: Iterable<Extent> | AsyncIterable<Extent>,
  fromOffset: number,
): AsyncGenerator<Extent> {
  let last: Extent | undefined;
  for await (const range of ranges) {
    if (last && endOf(last) === range.offset && range.offset % windowBytes !== 0) {
      last = { offset: last.offset, length: last.length + range.length };
      continue;
    }
    if (last && endOf(last) > fromOffset) yield last;
    last = range;
  }
  if (last && endOf(last) > fromOffset) yield last;
}

/** Past everything when there is no extent. */
function endOf(extent: Extent | undefined): number {
  return extent ? extent.offset + extent.length : Infinity;
}

/** Where the extent begins or, once it has begun, where it ends. */
function nextEdge(extent: Extent | undefined, position: number): number {
  if (!extent) return Infinity;
  return position < extent.offset ? extent.offset : endOf(extent);
}

/** Where the byte lies on disk: a place, nowhere, or somewhere that proves nothing. */
function placeAt(extent: MappedExtent | undefined, position: number): number | 'hole' | 'unknown' {
  if (!extent || position < extent.offset) return 'hole';
  return extent.physical === undefined ? 'unknown' : extent.physical + (position - extent.offset);
}

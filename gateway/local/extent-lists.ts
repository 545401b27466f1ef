import type { Changes, Extent, KnownSnapshot } from '../backend.ts';

/** The number of lists in memory. A list is read page by page, and a snapshot never changes. */
const maxLists = 4;
/** The maximum length of a list, so that a fragmented volume does not use up the memory of the gateway. */
const maxListed = 250_000;
/** The smallest gap that is worth a join, in bytes. */
const minGapBytes = 64 * 1024;

/** Lists the blocks of a snapshot; with a base, only the blocks that differ from it. Adds extents in order. */
type ReadExtents = (
  pair: { readonly target: KnownSnapshot; readonly base?: KnownSnapshot },
  add: (extent: Extent) => void,
) => Promise<void>;

/**
 * Makes the changes of a backend that reads whole lists. The lists that were used last are kept, so that the pages of
 * one list read it once. A failed one is read again.
 */
export function createListedChanges(read: ReadExtents, maxExtents = maxListed): Changes {
  const lists = new Map<string, Promise<readonly Extent[]>>();

  function list(pair: Parameters<ReadExtents>[0]): Promise<readonly Extent[]> {
    const { target, base } = pair;
    const key = JSON.stringify([target.id, target.nonce, base?.id, base?.nonce]);
    const known = lists.get(key) ?? collect(add => read(pair, add), maxExtents);
    lists.delete(key);
    lists.set(key, known);
    for (const oldest of [...lists.keys()].slice(0, -maxLists)) lists.delete(oldest);
    known.catch(() => lists.delete(key));
    return known;
  }

  return {
    async *allocated(target, fromOffset) {
      yield* within(await list({ target }), fromOffset, target.sizeBytes);
    },
    async *changed(pair, fromOffset) {
      yield* within(await list(pair), fromOffset, pair.target.sizeBytes);
    },
  };
}

/** Joins extents that follow each other; of too many extents also those with a small gap between them. */
async function collect(
  work: (add: (extent: Extent) => void) => Promise<void>,
  maxExtents: number,
): Promise<readonly Extent[]> {
  let extents: Extent[] = [];
  let maxGapBytes = 0;
  function add(next: Extent): void {
    const last = extents.at(-1);
    if (last && next.offset - endOf(last) <= maxGapBytes)
      extents[extents.length - 1] = { offset: last.offset, length: endOf(next) - last.offset };
    else extents.push(next);
    if (extents.length <= maxExtents) return;
    maxGapBytes = Math.max(2 * maxGapBytes, minGapBytes);
    const all = extents;
    extents = [];
    all.forEach(add);
  }
  await work(add);
  return extents;
}

/** Yields the extents that end after the offset, cut at the size. */
function* within(extents: readonly Extent[], fromOffset: number, sizeBytes: number): Generator<Extent> {
  let [first, end] = [0, extents.length];
  while (first < end) {
    const middle = (first + end) >>> 1;
    if (endOf(extents[middle]) > fromOffset) end = middle;
    else first = middle + 1;
  }
  for (const { offset, length } of extents.slice(first)) {
    if (offset >= sizeBytes) return;
    yield { offset, length: Math.min(length, sizeBytes - offset) };
  }
}

function endOf(extent: Extent | undefined): number {
  return extent ? extent.offset + extent.length : Infinity;
}

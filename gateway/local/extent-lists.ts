import type { Extent, KnownSnapshot } from '../backend.ts';

/** The number of lists in memory. A list is read page by page, and a snapshot never changes. */
const maxLists = 4;

/** Lists the blocks of a snapshot; with a base, only those that differ from it. */
type ReadExtents = (target: KnownSnapshot, base?: KnownSnapshot) => Promise<readonly Extent[]>;

/** Keeps the lists that were used last, so that the pages of one list read it once. A failed one is read again. */
export function keepLists(read: ReadExtents): ReadExtents {
  const lists = new Map<string, Promise<readonly Extent[]>>();
  return (target, base) => {
    const key = JSON.stringify([target.id, target.nonce, base?.id, base?.nonce]);
    const known = lists.get(key) ?? read(target, base);
    lists.delete(key);
    lists.set(key, known);
    for (const oldest of [...lists.keys()].slice(0, -maxLists)) lists.delete(oldest);
    known.catch(() => lists.delete(key));
    return known;
  };
}

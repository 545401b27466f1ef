import type { ReadingFault } from '../host/readings.ts';

/** What the agent remembers of volumes in this process alone, to spare itself commands. Forgetting is always safe. */
export type Cache = ReturnType<typeof createCache>;

/** How full a volume is. Inodes are absent where the filesystem has no fixed number of them. */
export type Usage = { readonly bytes: Amounts; readonly inodes?: Amounts };

/** A block volume knows its total alone. */
type Amounts = { readonly total: number; readonly used?: number; readonly available?: number };

/** A filesystem, and the size in bytes of the device it is on. */
type Fullness = { readonly uuid: string; readonly sizeBytes: number };

/** Most volumes that are remembered beyond their stay; the one that was learnt first is forgotten first. */
const capacity = 1_024;

/** A cache with nothing in it. */
export function createCache() {
  const full = new Map<string, Fullness>();
  return {
    /** The filesystem of a volume, and the size of the device that it was seen to fill. */
    full,
    setFull(volumeId: string, seen: Fullness): void {
      full.delete(volumeId);
      full.set(volumeId, seen);
      const [oldest = ''] = full.keys();
      if (full.size > capacity) full.delete(oldest);
    },
    /** How full a volume was when that was last learnt; for as long as it is here. */
    usages: new Map<string, Usage>(),
    /** What was wrong when a volume was last read; for as long as it is here. */
    faults: new Map<string, ReadingFault>(),
  };
}

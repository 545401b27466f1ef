import type { ReadingFault } from '../host/readings.ts';

/** What the agent remembers of volumes in this process alone, to spare itself commands. Forgetting is always safe. */
export interface Cache {
  /** True when this very filesystem was seen to fill a device of this size. */
  isFull(volumeId: string, seen: Fullness): boolean;
  setFull(volumeId: string, seen: Fullness): void;
  /** Forgets that the filesystem fills its device. */
  forgetFull(volumeId: string): void;
  /** How full the volume was when that was last learnt. */
  lastUsage(volumeId: string): Usage | undefined;
  setUsage(volumeId: string, usage: Usage): void;
  /** Forgets all that was learnt by reading the volume. */
  forgetReadings(volumeId: string): void;
  /** What was wrong when the volume was last read; undefined where nothing was, or it never was read. */
  lastFault(volumeId: string): ReadingFault | undefined;
  setFault(volumeId: string, fault: ReadingFault | undefined): void;
}

/** How full a volume is. Inodes are absent where the filesystem has no fixed number of them. */
export type Usage = { readonly bytes: Amounts; readonly inodes?: Amounts };

/** A block volume knows its total alone. */
export type Amounts = { readonly total: number; readonly used?: number; readonly available?: number };

/** A filesystem, and the size in bytes of the device it is on. */
export type Fullness = { readonly uuid: string | undefined; readonly sizeBytes: number };

/** Most volumes that are remembered; the one that was learnt first is forgotten first. */
const capacity = 1_024;

/** A cache with nothing in it. */
export function createCache(): Cache {
  const full = new Map<string, Fullness>();
  const usages = new Map<string, Usage>();
  const faults = new Map<string, ReadingFault>();
  return {
    isFull(volumeId, { uuid, sizeBytes }) {
      const seen = full.get(volumeId);
      return seen !== undefined && seen.uuid === uuid && seen.sizeBytes === sizeBytes;
    },
    setFull(volumeId, seen) {
      if (seen.uuid !== undefined) learn(full, volumeId, seen);
    },
    forgetFull: volumeId => void full.delete(volumeId),
    lastUsage: volumeId => usages.get(volumeId),
    setUsage: (volumeId, usage) => learn(usages, volumeId, usage),
    forgetReadings(volumeId) {
      usages.delete(volumeId);
      faults.delete(volumeId);
    },
    lastFault: volumeId => faults.get(volumeId),
    setFault(volumeId, fault) {
      if (fault) learn(faults, volumeId, fault);
      else faults.delete(volumeId);
    },
  };
}

function learn<T>(known: Map<string, T>, volumeId: string, fact: T): void {
  known.delete(volumeId);
  known.set(volumeId, fact);
  const [oldest] = known.keys();
  if (known.size > capacity && oldest !== undefined) known.delete(oldest);
}

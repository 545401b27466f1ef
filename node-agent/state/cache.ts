import { createKeyedQueue } from '../../src/lib/concurrency.ts';
import type { ReadingFault } from '../host/readings.ts';

/** The agent's in-memory knowledge of volumes, which saves commands. Losing an entry is always safe. */
export type Cache = ReturnType<typeof createCache>;

/** The usage of a volume. Inodes are absent if the filesystem has no fixed number of them. */
export type Usage = { readonly bytes: Amounts; readonly inodes?: Amounts };

/** Amounts in bytes or inodes. A block volume has only a total. */
type Amounts = { readonly total: number; readonly used?: number; readonly available?: number };

/** A filesystem that fills its device of this size. */
type Fullness = { readonly uuid: string; readonly sizeBytes: number };

/** The reason why a filesystem was not grown to its device of this size. */
type GrowthFault = {
  readonly uuid: string | undefined;
  readonly sizeBytes: number;
  readonly message: string;
  /** Earliest time of the next try. */
  readonly retryAtMs: number;
};

/**
 * The end of a volume's last window of trimming, in milliseconds since the epoch, and the offset where the next trim begins.
 * `killedAt`: the offset whose trim was killed at the end of that window.
 */
export type Trim = { readonly endMs: number; readonly offset: number; readonly killedAt?: number };

/** Maximum entries for volumes that have left the node; the oldest entry goes first. */
const capacity = 1_024;

export function createCache() {
  const full = createMemory<Fullness>();
  const growthFaults = createMemory<GrowthFault>();
  return {
    /** Filesystems that fill their devices. Outlives the staging. */
    full,
    /** Reasons why filesystems are smaller than their devices. Outlives the staging. */
    growthFaults,
    /** The last trims, by the id of the attachment. */
    trims: createMemory<Trim>(),
    usages: new Map<string, Usage>(),
    /** Staged volumes whose server refused root at the last check. */
    rootRefused: new Set<string>(),
    faults: new Map<string, ReadingFault>(),
    frozen: new Set<string>(),
    /** The writes that a volume's device had completed at the last statistics, and at the last look at a freeze. */
    writes: new Map<string, { readonly seen: string | undefined; readonly looked: string | undefined }>(),
    /** Lets concurrent calls connect a block volume again one after the other. */
    connecting: createKeyedQueue(),
    /** Commands that wait for a volume to be thawed. */
    waiting: new Map<string, Promise<void>>(),
    /** Volumes that this process has staged and not published since. */
    unused: new Set<string>(),
  };
}

/** Creates a bounded map whose entries, by volume or attachment, outlive a volume's staging. */
function createMemory<Entry>() {
  const entries = new Map<string, Entry>();
  return {
    get: (id: string): Entry | undefined => entries.get(id),
    delete: (id: string): boolean => entries.delete(id),
    set(id: string, entry: Entry): void {
      entries.delete(id);
      entries.set(id, entry);
      const [oldest = ''] = entries.keys();
      if (entries.size > capacity) entries.delete(oldest);
    },
  };
}

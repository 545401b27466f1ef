/** What holds a key: which operation, and since when (milliseconds since the epoch). */
export type Holder = { readonly operation: string; readonly sinceMs: number };

/** Mutual exclusion per key inside one process. Nobody ever waits: a busy key is reported at once. */
export interface KeyedLock {
  /** Runs `work` alone for `key`. When the key is busy, `busy` makes the error that is thrown, and `work` never starts. */
  run<T>(key: string, options: LockOptions, work: () => Promise<T>): Promise<T>;
  /** How many keys are held now. */
  readonly size: number;
}

/** Names the operation for others that find the key busy, and makes their error. */
export type LockOptions = { readonly operation: string; readonly busy: (holder: Holder) => Error };

/** Makes a lock with no key held. */
export function createKeyedLock(): KeyedLock {
  const holders = new Map<string, Holder>();
  return {
    async run(key, { operation, busy }, work) {
      const holder = holders.get(key);
      if (holder !== undefined) throw busy(holder);
      holders.set(key, { operation, sinceMs: Date.now() });
      try {
        return await work();
      } finally {
        holders.delete(key);
      }
    },
    get size() {
      return holders.size;
    },
  };
}

/** Runs work on one key after another, in the order of the calls; a failure is the caller's own. */
export type Turns = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** Turns that nobody holds. Whoever waits, waits as long as the commands of those before may run. */
export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = last.get(key);
    const turn = (async () => {
      await before?.catch(() => {});
      return work();
    })();
    last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (last.get(key) === turn) last.delete(key);
    }
  };
}

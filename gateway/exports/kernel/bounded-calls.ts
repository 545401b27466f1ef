import { unavailableProblem } from '../../../src/api/problem.ts';
import { withinTime } from '../../../src/lib/concurrency.ts';

/** Calls that may never end, so many at once. */
export interface BoundedCalls {
  /**
   * The call's outcome, once there was a place for it. UNAVAILABLE, which says what does not end, for a call that takes too long,
   * which keeps its place until it ends, and for all that come or wait while all places are so kept. `what` is a path, or words.
   */
  run<T>(what: string, call: () => Promise<T>): Promise<T>;
  /** UNAVAILABLE while a call is under way at the path or below it. */
  requireFree(path: string): void;
}

/** How many there may be, and how long each may take, in milliseconds. */
type Bounds = { readonly atOnce: number; readonly timeoutMs: number };

type UnderWay = { readonly what: string; isLate: boolean };

/** Makes what bounds calls. */
export function boundCalls({ atOnce, timeoutMs }: Bounds): BoundedCalls {
  const underWay = new Set<UnderWay>();
  const waiting = new Set<() => void>();
  const requirePlaces = (): void => {
    const late = [...underWay].filter(({ isLate }) => isLate);
    if (late.length >= atOnce) throw lateProblem(late);
  };

  async function takePlace(what: string): Promise<UnderWay> {
    requirePlaces();
    while (underWay.size >= atOnce) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.add(resolve);
      await promise;
      waiting.delete(resolve);
      requirePlaces();
    }
    const own = { what, isLate: false };
    underWay.add(own);
    return own;
  }

  /** Whoever waits looks again, in the order in which they came. */
  function wakeAll(): void {
    for (const wake of waiting) wake();
  }

  return {
    async run(what, call) {
      const own = await takePlace(what);
      const work = call().finally(() => {
        underWay.delete(own);
        wakeAll();
      });
      const ended = await withinTime(work, timeoutMs);
      if (ended) return ended.value;
      own.isLate = true;
      wakeAll();
      throw lateProblem([own]);
    },
    requireFree(path) {
      const found = [...underWay].filter(({ what }) => what === path || what.startsWith(`${path}/`));
      if (found.length > 0) throw lateProblem(found);
    },
  };
}

function lateProblem(late: readonly UnderWay[]) {
  return unavailableProblem(
    `the kernel has not finished with "${late.map(({ what }) => what).join('", "')}"`,
  );
}

import { unavailableProblem } from '../../../src/api/problem.ts';
import { withinTime } from '../../../src/lib/concurrency.ts';

/** A bounded number of concurrent calls that may never end. */
interface BoundedCalls {
  /**
   * Runs a call once a slot is free, and returns its result. UNAVAILABLE for a call that exceeds the time limit; it
   * keeps its slot until it ends. UNAVAILABLE also for every call that waits while all slots are kept so. The error
   * names the calls that have not ended by their `noun`, a path or words.
   */
  run<T>(noun: string, call: () => Promise<T>): Promise<T>;
  /** UNAVAILABLE while a call at the path or below it is running. */
  requireFree(path: string): void;
}

/** The maximum number of concurrent calls, and the time limit of each in milliseconds. */
type Bounds = { readonly maxCalls: number; readonly timeoutMs: number };

type ActiveCall = { readonly what: string; isLate: boolean };

export function boundCalls({ maxCalls, timeoutMs }: Bounds): BoundedCalls {
  const active = new Set<ActiveCall>();
  const waiting = new Set<() => void>();
  const requireSlots = (): void => {
    const late = [...active].filter(({ isLate }) => isLate);
    if (late.length >= maxCalls) throw lateProblem(late);
  };

  async function takeSlot(what: string): Promise<ActiveCall> {
    requireSlots();
    while (active.size >= maxCalls) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.add(resolve);
      await promise;
      waiting.delete(resolve);
      requireSlots();
    }
    const own = { what, isLate: false };
    active.add(own);
    return own;
  }

  /** Wakes all waiting calls, in the order of their arrival, to look for a slot again. */
  function wakeAll(): void {
    for (const wake of waiting) wake();
  }

  return {
    async run(what, call) {
      const own = await takeSlot(what);
      const work = call().finally(() => {
        active.delete(own);
        wakeAll();
      });
      const ended = await withinTime(work, timeoutMs);
      if (ended) return ended.value;
      own.isLate = true;
      wakeAll();
      throw lateProblem([own]);
    },
    requireFree(path) {
      const found = [...active].filter(({ what }) => what === path || what.startsWith(`${path}/`));
      if (found.length > 0) throw lateProblem(found);
    },
  };
}

function lateProblem(late: readonly ActiveCall[]) {
  return unavailableProblem(
    `the kernel has not finished its work on "${late.map(({ what }) => what).join('", "')}"`,
  );
}

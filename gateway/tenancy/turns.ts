import { unavailableProblem } from '../../src/api/problem.ts';
import type { Caller } from './cluster.ts';

/** Shares the event loop between callers; see `createTurns`. */
export type Turns = ReturnType<typeof createTurns>;

/** How long a piece of work may run before others have their turn, in milliseconds; one step may take longer. */
const sliceMs = 1;

/** Most that one caller, and all callers together, may have in flight. */
const most = {
  caller: { requests: 256, bytes: 16 * 2 ** 20 },
  all: { requests: 2_048, bytes: 64 * 2 ** 20 },
} as const;

/** A caller has too much in flight; it is told when to come again. */
export const overloaded = unavailableProblem('too much is in flight already; try again later');

/** What is in flight of a caller. */
export type Load = { readonly requests: number; readonly bytes: number };

/**
 * Lets callers work one after another, a slice each: only one slice runs in a turn of the event loop, and while others
 * are there a caller rests after its slice for as long as that took, so that half of the time is theirs.
 */
export function createTurns() {
  const loads = new Map<string, Load>();
  const restUntilMs = new Map<string, number>();
  /** Who waits, in the order of their turns. */
  const waiting = new Map<string, (() => void)[]>();
  let isGoing = false;

  function next(): void {
    if (waiting.size === 0) {
      isGoing = false;
      return;
    }
    const nowMs = performance.now();
    const due = waiting.entries().find(([who]) => (restUntilMs.get(who) ?? 0) <= nowMs);
    if (!due) return void setTimeout(next, 1);
    const [who, [begin, ...others]] = due;
    waiting.delete(who);
    if (others.length > 0) waiting.set(who, others);
    begin?.();
    setImmediate(next);
  }

  function wait(who: string): Promise<void> {
    return new Promise(resolve => {
      waiting.getOrInsertComputed(who, () => []).push(resolve);
      if (isGoing) return;
      isGoing = true;
      setImmediate(next);
    });
  }

  /** Runs a piece of work, of a few milliseconds at most, once it is this caller's turn. */
  async function take<T>(caller: Caller, piece: () => Promise<T>): Promise<T> {
    const who = nameOf(caller);
    await wait(who);
    const startMs = performance.now();
    try {
      return await piece();
    } finally {
      const endMs = performance.now();
      const isAlone = loads.size === 0 || (loads.size === 1 && loads.has(who));
      restUntilMs.set(who, isAlone ? 0 : endMs + (endMs - startMs));
    }
  }

  return {
    take,

    /** Takes the steps, as many in each turn as fit in a slice. */
    async work<T>(caller: Caller, steps: Generator<void, T>): Promise<T> {
      for (;;) {
        const step = await take(caller, async () => takeSlice(steps));
        if (step.done) return step.value;
      }
    },

    /** Counts what a caller has in flight until that is disposed of; UNAVAILABLE, and nothing counted, when that is too much. */
    enter(caller: Caller, load: Load): Disposable {
      const who = nameOf(caller);
      const add = (sum: Load, other: Load, sign: 1 | -1): Load => ({
        requests: sum.requests + sign * other.requests,
        bytes: sum.bytes + sign * other.bytes,
      });
      const none: Load = { requests: 0, bytes: 0 };
      const own = add(loads.get(who) ?? none, load, 1);
      const all = loads.values().reduce((sum, one) => add(sum, one, 1), load);
      if (exceeds(own, most.caller) || exceeds(all, most.all)) throw overloaded;
      loads.set(who, own);
      const leave = (): void => {
        const left = add(loads.get(who) ?? none, load, -1);
        if (left.requests > 0 || left.bytes > 0) return void loads.set(who, left);
        loads.delete(who);
        restUntilMs.delete(who);
      };
      return { [Symbol.dispose]: leave };
    },
  };
}

function takeSlice<T>(steps: Generator<void, T>): IteratorResult<void, T> {
  const endMs = performance.now() + sliceMs;
  for (;;) {
    const step = steps.next();
    if (step.done || performance.now() >= endMs) return step;
  }
}

function exceeds(load: Load, limit: Load): boolean {
  return load.requests > limit.requests || load.bytes > limit.bytes;
}

/** No cluster has a slash in its name. */
function nameOf(caller: Caller): string {
  return caller === 'operator' ? '/operator' : caller.name;
}

import { asProblem } from '../../src/api/problem.ts';

/** Bounds for the number of operations that a pool's storage gets at a time. */
export type Bounds = { readonly min: number; readonly max: number };

/** The bounds of a pool whose entry gives none. */
export const defaultBounds: Bounds = { min: 8, max: 64 };

export type Clock = {
  readonly nowMs: () => number;
  readonly later: (work: () => void, ms: number) => unknown;
};

/** A limit that follows the load that a storage can take. */
export type Limit = ReturnType<typeof createLimit>;

const initialLimit = 16;
/** The factors for the limit after a failure, and after an unusually slow operation. */
const cuts = { failed: 1 / 2, slow: 9 / 10 } as const;
/** An operation is slow when it takes longer than `times` the average plus `ms`, in milliseconds. */
const slow = { times: 4, ms: 100 } as const;
const weight = 1 / 16;
/** A failure at the minimum limit causes a pause, each twice as long as the last, in milliseconds. */
const pauses = { first: 10, max: 1_000 } as const;

/**
 * Creates the limit of one storage. It grows by one after as many successes as it allows at a time, and is
 * halved after a failure or a missing answer. It always stays within `bounds`. `resume` is called at the end
 * of a pause.
 */
export function createLimit(bounds: () => Bounds, { nowMs, later }: Clock, resume: () => void) {
  const averageMs = new Map<string, number>();
  let limit = initialLimit;
  let [running, lastNumber, lastAtCut, pauseMs, pausing] = [0, 0, 0, 0, 0];

  /** Returns the limit within the present bounds, which may have changed. */
  function current(): number {
    const { min, max } = bounds();
    limit = Math.min(Math.max(limit, min), max);
    return limit;
  }

  /**
   * Reduces the limit. Returns false for an operation that began before the last cut, because it says nothing
   * about the present limit.
   */
  function cut(number: number, factor: number): boolean {
    if (number <= lastAtCut) return false;
    lastAtCut = lastNumber;
    limit = current() * factor;
    return true;
  }

  function succeed(number: number, operation: string, ms: number): void {
    pauseMs = 0;
    const usual = averageMs.get(operation) ?? ms;
    averageMs.set(operation, usual + (ms - usual) * weight);
    if (ms > usual * slow.times + slow.ms) cut(number, cuts.slow);
    else if (running * 2 >= current()) limit += 1 / limit;
  }

  function fail(number: number): void {
    const wasMin = current() <= bounds().min;
    if (!cut(number, cuts.failed) || !wasMin) return;
    pauseMs = Math.min(Math.max(2 * pauseMs, pauses.first), pauses.max);
    pausing++;
    // The end of the pause is the timer's call, not a time: a timer may fire a fraction of a millisecond
    // early.
    later(() => {
      pausing--;
      resume();
    }, pauseMs);
  }

  return {
    max: () => Math.floor(current()),
    isOpen: () => running < Math.floor(current()) && pausing === 0,
    /** Estimates the wait behind `waiting` other operations, in milliseconds. */
    expectMs: (waiting: number) =>
      (averageMs.values().reduce((sum, ms) => Math.max(sum, ms), 0) * waiting) / current(),

    /** Begins an operation. `measure` runs its work and learns from the result; `end` frees the slot. */
    begin(operation: string) {
      const number = ++lastNumber;
      running++;
      return {
        async measure<T>(act: () => Promise<T>): Promise<T> {
          const startMs = nowMs();
          try {
            const effect = await act();
            succeed(number, operation, nowMs() - startMs);
            return effect;
          } catch (error) {
            if (isOverload(error)) fail(number);
            throw error;
          }
        },
        end: () => void running--,
      };
    },
  };
}

/** Returns true when the storage failed or did not answer. Every other error is an answer. */
function isOverload(error: unknown): boolean {
  return ['UNAVAILABLE', 'DEADLINE_EXCEEDED'].includes(asProblem(error).code);
}

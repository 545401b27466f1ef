import { asProblem } from '../../src/api/problem.ts';

/** How many operations a pool's storage is given at a time: as many as it can take, between these. */
export type Bounds = { readonly min: number; readonly max: number };

/** Of a pool whose entry says nothing else. */
export const usualBounds: Bounds = { min: 8, max: 64 };

/** What the time is, and what waits; both in milliseconds. */
export type Clock = {
  readonly nowMs: () => number;
  readonly later: (work: () => void, ms: number) => unknown;
};

/** A limit that follows what a storage can take. */
export type Limit = ReturnType<typeof createLimit>;

/** Where a limit begins. */
const firstLimit = 16;
/** What is left of it after a failure, and after what took much longer than usual. */
const cuts = { failed: 1 / 2, slow: 9 / 10 } as const;
/** Much longer: so many times as long as usual, and so many milliseconds. */
const slow = { times: 4, ms: 100 } as const;
/** How much of what is usual the last one is. */
const weight = 1 / 16;
/** A failure at the least limit is followed by a pause, each twice as long as the last, in milliseconds. */
const pauses = { first: 10, longest: 1_000 } as const;

/**
 * Makes the limit of one storage: it grows by one while as many go well, and is halved when one failed or was not answered.
 * It is always within what `bounds` gives. What begins is measured; `resume` is called when a pause is over.
 */
export function createLimit(bounds: () => Bounds, { nowMs, later }: Clock, resume: () => void) {
  /** By operation, in milliseconds. */
  const usualMs = new Map<string, number>();
  let limit = firstLimit;
  let [running, begun, begunAtCut, pauseMs, pausing] = [0, 0, 0, 0, 0];

  /** What the bounds leave of it, which may have changed. */
  function current(): number {
    const { min, max } = bounds();
    limit = Math.min(Math.max(limit, min), max);
    return limit;
  }

  /** False where that says nothing new: what began before the last cut says nothing of the limit since. */
  function cut(number: number, factor: number): boolean {
    if (number <= begunAtCut) return false;
    begunAtCut = begun;
    limit = current() * factor;
    return true;
  }

  function succeed(number: number, operation: string, ms: number): void {
    pauseMs = 0;
    const usual = usualMs.get(operation) ?? ms;
    usualMs.set(operation, usual + (ms - usual) * weight);
    if (ms > usual * slow.times + slow.ms) cut(number, cuts.slow);
    else if (running * 2 >= current()) limit += 1 / limit;
  }

  function fail(number: number): void {
    const wasLeast = current() <= bounds().min;
    if (!cut(number, cuts.failed) || !wasLeast) return;
    pauseMs = Math.min(Math.max(2 * pauseMs, pauses.first), pauses.longest);
    pausing++;
    // No clock is asked whether it is over: a timer may be early by a part of a millisecond.
    later(() => {
      pausing--;
      resume();
    }, pauseMs);
  }

  return {
    /** How many may run now. */
    most: () => Math.floor(current()),
    /** Whether one more may begin. */
    isOpen: () => running < Math.floor(current()) && pausing === 0,
    /** How long what waits for so many others may wait, in milliseconds. */
    expectMs: (waiting: number) =>
      (usualMs.values().reduce((sum, ms) => Math.max(sum, ms), 0) * waiting) / current(),

    /** Begins one: `measure` works and learns from how that goes, `end` counts it no more. */
    begin(operation: string) {
      const number = ++begun;
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

/** It failed, or did not answer; whatever else it says is an answer. */
function isOverload(error: unknown): boolean {
  return ['UNAVAILABLE', 'DEADLINE_EXCEEDED'].includes(asProblem(error).code);
}

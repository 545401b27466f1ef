import { limitProblem, limits } from '../../src/api/limits.ts';
import { overloadedProblem, type Problem } from '../../src/api/problem.ts';
import { requireCaller } from './current-request.ts';
import type { Tenant } from '../callers/cluster.ts';
import { createMeasure } from './measure.ts';

/** The time slices of the event loop, shared between callers; see `createSlices`. */
export type Slices = ReturnType<typeof createSlices>;

/** The length of a time slice, in milliseconds. One step may take longer. */
const sliceMs = 1;

/**
 * The minimum cost of a request in time of the event loop, in milliseconds: of one that reads, and of one
 * that changes something.
 */
export const requestCostMs = { read: 0.25, change: 1 } as const;

/**
 * The maximum cost of all that begins in one iteration of the event loop, in milliseconds. A slice of long
 * work costs as much.
 */
const maxIterationMs = 16;
/**
 * A caller with several requests gets this part of the time while other callers are active, and any unused part of the last `savedMs` milliseconds.
 */
const share = 1 / 2;
const savedMs = 4;
/**
 * After a slice of long work, a caller rests this many times as long while other callers are active, because
 * the work also leaves garbage to collect.
 */
const longRest = 2;
/** A caller counts as active for this time after a request, in milliseconds. */
const activeWindowMs = 100;

const maxLoads = {
  caller: { requests: limits.requestsPerCluster.max, bytes: limits.requestBytesPerCluster.max },
  all: { requests: 2_048, bytes: 64 * 2 ** 20 },
} as const;

const overloaded = overloadedProblem(
  'all callers together have too many requests or bytes in flight; try again later',
  1,
);

type Load = { readonly requests: number; readonly bytes: number };

type WaitingRequest = { readonly costMs: number; readonly begin: () => void };

/**
 * Shares the event loop between callers, one after another. In one iteration, so many requests begin that
 * running work still makes progress, and at most one slice of long work runs. While other callers are active,
 * a caller with several requests rests after each of them for as long as it took, so that half of the time
 * belongs to the others. After a slice of long work it rests `longRest` times as long.
 */
export function createSlices() {
  const loads = new Map<string, Load>();
  const all: Load = { requests: 0, bytes: 0 };
  const restUntilMs = new Map<string, number>();
  const measure = createMeasure();
  /** The waiting requests by caller, in the order of their next slices. */
  const waiting = new Map<string, WaitingRequest[]>();
  /** The last caller with the time of its request, and the time of the last request by any other caller. */
  let [lastName, lastMs, otherMs] = ['', -Infinity, -Infinity];
  let leftMs: number = maxIterationMs;
  let isRunning = false;
  let resting: ReturnType<typeof setTimeout> | undefined;

  const hasOthers = (nowMs: number): boolean => nowMs - otherMs < activeWindowMs;

  /** Notes a request of the caller. Until no request waits, each iteration of the event loop calls `next`. */
  function arrive(name: string): void {
    const nowMs = performance.now();
    if (name !== lastName) [lastName, otherMs] = [name, lastMs];
    lastMs = nowMs;
    if (!isRunning) leftMs = maxIterationMs;
    else if (!resting) return;
    clearTimeout(resting);
    [isRunning, resting] = [true, undefined];
    setImmediate(next);
  }

  function next(): void {
    [leftMs, resting] = [maxIterationMs, undefined];
    let hasBegun = true;
    while (hasBegun) hasBegun = beginNext();
    if (waiting.size === 0) isRunning = false;
    else if (leftMs <= 0) setImmediate(next);
    else resting = setTimeout(next, 1);
  }

  function beginNext(): boolean {
    const due = leftMs > 0 ? waiting.entries().find(([name]) => isDue(name)) : undefined;
    if (!due) return false;
    const [name, queue] = due;
    const first = queue.shift();
    waiting.delete(name);
    if (queue.length > 0) waiting.set(name, queue);
    spend(name, first?.costMs ?? 0);
    first?.begin();
    return true;
  }

  function isDue(name: string): boolean {
    const untilMs = restUntilMs.get(name);
    return untilMs === undefined || untilMs <= performance.now();
  }

  /** Charges the caller. A caller with only one request at a time never rests for it. */
  function spend(name: string, costMs: number): void {
    leftMs -= costMs;
    if (costMs === maxIterationMs) return;
    const nowMs = performance.now();
    const chargedMs = measure.charge(costMs);
    if (!hasOthers(nowMs) || (loads.get(name)?.requests ?? 0) <= 1) return;
    const sinceMs = Math.max(restUntilMs.get(name) ?? 0, nowMs - savedMs);
    restUntilMs.set(name, sinceMs + chargedMs / share);
  }

  function wait(name: string, costMs: number): Promise<void> {
    return new Promise(begin => void waiting.getOrInsertComputed(name, () => []).push({ costMs, begin }));
  }

  /** Runs a piece of work, of at most a few milliseconds, in the caller's next slice. */
  async function take<T>(caller: Tenant, piece: () => Promise<T>): Promise<T> {
    const name = nameOf(caller);
    arrive(name);
    await wait(name, maxIterationMs);
    requireCaller();
    const startMs = performance.now();
    try {
      return await piece();
    } finally {
      const endMs = performance.now();
      measure.exclude(endMs - startMs);
      restUntilMs.set(name, hasOthers(endMs) ? endMs + longRest * (endMs - startMs) : 0);
    }
  }

  return {
    take,

    /**
     * Waits until a request of the caller may begin; `costMs` is one of `requestCostMs`. Undefined: it may
     * begin at once.
     */
    begin(caller: Tenant, costMs: number): Promise<void> | undefined {
      const name = nameOf(caller);
      arrive(name);
      // A caller that waits is not due, or comes first in the next iteration.
      if (waiting.has(name) || leftMs <= 0 || !isDue(name)) return wait(name, costMs).then(requireCaller);
      spend(name, costMs);
      return undefined;
    },

    /** Runs the steps, as many in each slice as fit. */
    async work<T>(caller: Tenant, steps: Generator<void, T>): Promise<T> {
      for (;;) {
        const step = await take(caller, async () => takeSlice(steps));
        if (step.done) return step.value;
      }
    },

    /**
     * Adds the load to the caller's load in flight, until it is disposed of. Throws UNAVAILABLE, and adds
     * nothing, when that is too much.
     */
    enter(caller: Tenant, load: Load): Disposable {
      const name = nameOf(caller);
      const own = loads.get(name) ?? { requests: 0, bytes: 0 };
      const count = (sign: 1 | -1): void => {
        add(own, load, sign);
        add(all, load, sign);
      };
      count(1);
      const problem = problemOf(own, all);
      if (problem) {
        count(-1);
        throw problem;
      }
      loads.set(name, own);
      const leave = (): void => {
        count(-1);
        if (own.requests > 0 || own.bytes > 0) return;
        loads.delete(name);
        restUntilMs.delete(name);
      };
      return { [Symbol.dispose]: leave };
    },
  };
}

function add(sum: { -readonly [K in keyof Load]: Load[K] }, { requests, bytes }: Load, sign: 1 | -1): void {
  sum.requests += sign * requests;
  sum.bytes += sign * bytes;
}

function takeSlice<T>(steps: Generator<void, T>): IteratorResult<void, T> {
  const endMs = performance.now() + sliceMs;
  for (;;) {
    const step = steps.next();
    if (step.done || performance.now() >= endMs) return step;
  }
}

/** Returns the problem of a caller with this load beside the load of all, if it is too much. */
function problemOf(own: Load, all: Load): Problem | undefined {
  if (own.requests > maxLoads.caller.requests)
    return limitProblem('requestsPerCluster', 'the caller', own.requests);
  if (own.bytes > maxLoads.caller.bytes)
    return limitProblem('requestBytesPerCluster', 'the caller', own.bytes);
  return all.requests > maxLoads.all.requests || all.bytes > maxLoads.all.bytes ? overloaded : undefined;
}

/** A cluster's name never contains a slash. */
function nameOf(caller: Tenant): string {
  return caller === 'operator' ? '/operator' : caller.name;
}

import { overloadedProblem } from '../../src/api/problem.ts';
import { requireWanted } from '../operations/request.ts';
import type { Tenant } from './cluster.ts';
import { createMeasure } from './measure.ts';

/** Shares the event loop between callers; see `createTurns`. */
export type Turns = ReturnType<typeof createTurns>;

/** How long a piece of work may run before others have their turn, in milliseconds; one step may take longer. */
const sliceMs = 1;

/** What a request takes of the event loop at least, in milliseconds: one that only reads, and one that changes something. */
export const usualMs = { read: 0.25, change: 1 } as const;

/** How much begins in a turn of the event loop at most, in the same measure; a slice of long work is as much as that. */
const mostMs = 16;
/** While others are there, requests of a caller with several begin in so much of the time, and in what it left of the last milliseconds. */
const share = 1 / 2;
const savedMs = 4;
/** After a slice of long work a caller rests so many times as long while others are there: it leaves garbage to collect as well. */
const longRest = 2;
/** Who asked for something so lately is there, in milliseconds. */
const recentMs = 100;

/** Most that one caller, and all callers together, may have in flight. */
const most = {
  caller: { requests: 256, bytes: 16 * 2 ** 20 },
  all: { requests: 2_048, bytes: 64 * 2 ** 20 },
} as const;

/** A caller has too much in flight; it is told when to come again. */
const overloaded = overloadedProblem('too much is in flight already; try again later', 1);

/** What is in flight of a caller. */
export type Load = { readonly requests: number; readonly bytes: number };

type Waiting = { readonly costMs: number; readonly begin: () => void };

/**
 * Lets callers work one after another. Of requests only so many begin in a turn of the event loop that what was begun goes
 * on, and of long work one slice runs in it. While others are there a caller rests after a slice, and after a request
 * when it has more of them, for as long as that took, so that half of the time is theirs.
 */
export function createTurns() {
  const loads = new Map<string, Load>();
  const all: Load = { requests: 0, bytes: 0 };
  const restUntilMs = new Map<string, number>();
  const measure = createMeasure();
  /** Who waits, in the order of their turns. */
  const waiting = new Map<string, Waiting[]>();
  /** Who asked last and when, and when somebody else did. */
  let [lastWho, lastMs, otherMs] = ['', -Infinity, -Infinity];
  let leftMs: number = mostMs;
  let isGoing = false;
  let resting: ReturnType<typeof setTimeout> | undefined;

  const areSeveral = (nowMs: number): boolean => nowMs - otherMs < recentMs;

  /** Somebody is there; from now until nobody waits a turn of the event loop is one of callers. */
  function come(who: string): void {
    const nowMs = performance.now();
    if (who !== lastWho) [lastWho, otherMs] = [who, lastMs];
    lastMs = nowMs;
    if (!isGoing) leftMs = mostMs;
    else if (!resting) return;
    clearTimeout(resting);
    [isGoing, resting] = [true, undefined];
    setImmediate(next);
  }

  function next(): void {
    [leftMs, resting] = [mostMs, undefined];
    let hasBegun = true;
    while (hasBegun) hasBegun = beginNext();
    if (waiting.size === 0) isGoing = false;
    else if (leftMs <= 0) setImmediate(next);
    else resting = setTimeout(next, 1);
  }

  function beginNext(): boolean {
    const due = leftMs > 0 ? waiting.entries().find(([who]) => isDue(who)) : undefined;
    if (!due) return false;
    const [who, own] = due;
    const first = own.shift();
    waiting.delete(who);
    if (own.length > 0) waiting.set(who, own);
    spend(who, first?.costMs ?? 0);
    first?.begin();
    return true;
  }

  function isDue(who: string): boolean {
    const untilMs = restUntilMs.get(who);
    return untilMs === undefined || untilMs <= performance.now();
  }

  /** Who has one request after another rests for none of them. */
  function spend(who: string, costMs: number): void {
    leftMs -= costMs;
    if (costMs === mostMs) return;
    const nowMs = performance.now();
    const chargedMs = measure.charge(costMs);
    if (!areSeveral(nowMs) || (loads.get(who)?.requests ?? 0) <= 1) return;
    const sinceMs = Math.max(restUntilMs.get(who) ?? 0, nowMs - savedMs);
    restUntilMs.set(who, sinceMs + chargedMs / share);
  }

  function wait(who: string, costMs: number): Promise<void> {
    return new Promise(begin => void waiting.getOrInsertComputed(who, () => []).push({ costMs, begin }));
  }

  /** Runs a piece of work, of a few milliseconds at most, once it is this caller's turn. */
  async function take<T>(caller: Tenant, piece: () => Promise<T>): Promise<T> {
    const who = nameOf(caller);
    come(who);
    await wait(who, mostMs);
    requireWanted();
    const startMs = performance.now();
    try {
      return await piece();
    } finally {
      const endMs = performance.now();
      measure.exclude(endMs - startMs);
      restUntilMs.set(who, areSeveral(endMs) ? endMs + longRest * (endMs - startMs) : 0);
    }
  }

  return {
    take,

    /** Waits until a request of the caller may begin, which takes about so many milliseconds of `usualMs`; undefined: it may. */
    begin(caller: Tenant, costMs: number): Promise<void> | undefined {
      const who = nameOf(caller);
      come(who);
      // Who waits is not due, or comes first in the next turn.
      if (waiting.has(who) || leftMs <= 0 || !isDue(who)) return wait(who, costMs).then(requireWanted);
      spend(who, costMs);
      return undefined;
    },

    /** Takes the steps, as many in each turn as fit in a slice. */
    async work<T>(caller: Tenant, steps: Generator<void, T>): Promise<T> {
      for (;;) {
        const step = await take(caller, async () => takeSlice(steps));
        if (step.done) return step.value;
      }
    },

    /** Counts what a caller has in flight until that is disposed of; UNAVAILABLE, and nothing counted, when that is too much. */
    enter(caller: Tenant, load: Load): Disposable {
      const who = nameOf(caller);
      const own = loads.get(who) ?? { requests: 0, bytes: 0 };
      const count = (sign: 1 | -1): void => {
        add(own, load, sign);
        add(all, load, sign);
      };
      count(1);
      if (exceeds(own, most.caller) || exceeds(all, most.all)) {
        count(-1);
        throw overloaded;
      }
      loads.set(who, own);
      const leave = (): void => {
        count(-1);
        if (own.requests > 0 || own.bytes > 0) return;
        loads.delete(who);
        restUntilMs.delete(who);
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

function exceeds(load: Load, limit: Load): boolean {
  return load.requests > limit.requests || load.bytes > limit.bytes;
}

/** No cluster has a slash in its name. */
function nameOf(caller: Tenant): string {
  return caller === 'operator' ? '/operator' : caller.name;
}

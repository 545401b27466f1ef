import { overloadedProblem, type Problem } from '../../src/api/problem.ts';
import { type Bounds, type Clock, createLimit, type Limit, usualBounds } from './limit.ts';

/** What an operation is, as far as its turn goes. */
export type Turn = { readonly pool: string; readonly cluster: string; readonly operation: string };

/** The right to work at a pool, until it is disposed of. */
export type Slot = Disposable & {
  readonly pool: string;
  /** Works, and learns from how that goes what the storage can take. */
  measure<T>(act: () => Promise<T>): Promise<T>;
};

/** What a cluster has at a pool now, of which no more than `limit` runs at a time for all; waits are in milliseconds. */
type QueueState = {
  readonly pool: string;
  readonly cluster: string;
  readonly waiting: number;
  readonly running: number;
  readonly limit: number;
  readonly oldestWaitMs: number;
};

/** The queues of all pools. */
export type Queues = ReturnType<typeof createQueues>;

type Waiting = Turn & {
  readonly sinceMs: number;
  /** Why nobody wants it any more. */
  readonly unwanted: () => Problem | undefined;
  readonly begin: (slot: Slot) => void;
  readonly refuse: (problem: Problem) => void;
};
type Line = { readonly waiting: Waiting[]; running: number; lastBegun: number };
type Pool = { readonly limit: Limit; readonly lines: Map<string, Line>; begun: number };

/** Most that wait of one cluster at one pool, and of all at all. */
const most = { line: 512, all: 8_192 } as const;
/** What one cluster may have of a pool's slots; the rest is for who comes next, however long each takes. */
const share = 3 / 4;
/** What goes first of a cluster's own; others come last. */
const urgencies: ReadonlyMap<string, number> = new Map([
  ['detach', 0],
  ['attach', 1],
  ['settle', 1],
  ['delete', 2],
  ['expand', 2],
  ['modify', 2],
]);
const lastUrgency = 3;
/** One in so many is the oldest, so that nothing waits for ever. */
const oldestEvery = 8;
const longestRetryS = 30;

const realClock: Clock = { nowMs: () => performance.now(), later: setTimeout };

/**
 * Gives each pool's storage as many operations at a time as it can take. What is more waits in a queue of its cluster; the
 * cluster with the least under way is next. `boundsOf` may give others at any time; undefined are the usual ones.
 */
export function createQueues(
  boundsOf: (pool: string) => Bounds | undefined = () => undefined,
  clock = realClock,
) {
  const pools = new Map<string, Pool>();
  let waitingInAll = 0;

  const poolOf = (name: string): Pool =>
    pools.getOrInsertComputed(name, () => {
      const limit = createLimit(
        () => boundsOf(name) ?? usualBounds,
        clock,
        () => serve(pool),
      );
      const pool: Pool = { limit, lines: new Map(), begun: 0 };
      return pool;
    });

  function take(pool: Pool, line: Line, turn: Turn): Slot {
    const begun = pool.limit.begin(turn.operation);
    line.lastBegun = ++pool.begun;
    line.running++;
    return {
      pool: turn.pool,
      measure: begun.measure,
      [Symbol.dispose]() {
        begun.end();
        line.running--;
        serve(pool);
        if (line.running === 0 && line.waiting.length === 0) pool.lines.delete(turn.cluster);
      },
    };
  }

  function serve(pool: Pool): void {
    while (pool.limit.isOpen()) {
      const line = nextLine(pool);
      const first = line?.waiting.splice(nextIn(line.waiting, pool.begun), 1)[0];
      if (!line || !first) return;
      waitingInAll--;
      const problem = first.unwanted();
      if (problem) first.refuse(problem);
      else first.begin(take(pool, line, first));
    }
  }

  /** Makes room where nobody waits any more. */
  function dropUnwanted(line: Line): void {
    for (const one of line.waiting.splice(0)) {
      const problem = one.unwanted();
      if (!problem) {
        line.waiting.push(one);
        continue;
      }
      waitingInAll--;
      one.refuse(problem);
    }
  }

  return {
    /** A slot, or undefined where it has to be waited for. */
    enter(turn: Turn): Slot | undefined {
      const pool = poolOf(turn.pool);
      const line = lineOf(pool, turn.cluster);
      const isFree = line.waiting.length === 0 && pool.limit.isOpen() && hasShare(pool, line);
      return isFree ? take(pool, line, turn) : undefined;
    },

    /**
     * Waits for a slot. UNAVAILABLE, with when to come again, where too many wait already; `unwanted` says when its turn
     * comes why it is not to begin any more.
     */
    async wait(turn: Turn, unwanted: Waiting['unwanted']): Promise<Slot> {
      const pool = poolOf(turn.pool);
      const line = lineOf(pool, turn.cluster);
      const isFull = (): boolean => line.waiting.length >= most.line || waitingInAll >= most.all;
      if (isFull()) dropUnwanted(line);
      if (isFull()) throw fullProblem(turn.pool, pool.limit.expectMs(line.waiting.length));
      const { promise, resolve, reject } = Promise.withResolvers<Slot>();
      waitingInAll++;
      line.waiting.push({ ...turn, sinceMs: clock.nowMs(), unwanted, begin: resolve, refuse: reject });
      serve(pool);
      return promise;
    },

    /** What waits and runs now, by pool and cluster. */
    show(): readonly QueueState[] {
      return [...pools].flatMap(([pool, { lines, limit }]) =>
        [...lines].map(([cluster, { waiting, running }]) => ({
          pool,
          cluster,
          waiting: waiting.length,
          running,
          limit: limit.most(),
          oldestWaitMs: waiting[0] ? Math.round(clock.nowMs() - waiting[0].sinceMs) : 0,
        })),
      );
    },
  };
}

function lineOf({ lines }: Pool, cluster: string): Line {
  return lines.getOrInsertComputed(cluster, () => ({ waiting: [], running: 0, lastBegun: 0 }));
}

function hasShare({ limit }: Pool, { running }: Line): boolean {
  return running < Math.ceil(limit.most() * share);
}

function nextLine(pool: Pool): Line | undefined {
  let next: Line | undefined;
  for (const line of pool.lines.values())
    if (line.waiting.length > 0 && hasShare(pool, line) && (!next || isBefore(line, next))) next = line;
  return next;
}

function isBefore(one: Line, other: Line): boolean {
  return one.running === other.running ? one.lastBegun < other.lastBegun : one.running < other.running;
}

function nextIn(waiting: readonly Waiting[], begun: number): number {
  if (begun % oldestEvery === oldestEvery - 1) return 0;
  const all = waiting.map(({ operation }) => urgencies.get(operation) ?? lastUrgency);
  return all.indexOf(Math.min(...all));
}

function fullProblem(pool: string, expectMs: number): Problem {
  const seconds = Math.min(Math.max(1, Math.ceil(expectMs / 1_000)), longestRetryS);
  return overloadedProblem(`pool "${pool}" has too much to do already; try again later`, seconds);
}

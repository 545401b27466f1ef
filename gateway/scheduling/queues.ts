import type { Queue } from '../../src/api/admin.ts';
import { limitDetail, limits } from '../../src/api/limits.ts';
import { overloadedProblem, type Problem } from '../../src/api/problem.ts';
import { type Bounds, type Clock, createLimit, type Limit, defaultBounds } from './limit.ts';
import { minOf } from '../../src/lib/numbers.ts';

export type SlotRequest = {
  readonly pool: string;
  readonly cluster: string;
  readonly operation: string;
  /** The kind and the id, such as volume/east.pvc-1. */
  readonly resource: string;
};

/** The right to work at a pool, until it is disposed of. */
export type Slot = Disposable & {
  readonly pool: string;
  /** Runs work, and learns from its result how much the storage can take. */
  measure<T>(act: () => Promise<T>): Promise<T>;
};

/** A cluster's state at a pool. */
type QueueState = Required<Omit<Queue, 'id'>>;

export type Queues = ReturnType<typeof createQueues>;

type QueueEntry = SlotRequest & {
  readonly sinceMs: number;
  /** Returns the reason why no caller waits any more, if that is so. */
  readonly goneProblem: () => Problem | undefined;
  readonly begin: (slot: Slot) => void;
  readonly refuse: (problem: Problem) => void;
};
type ClusterQueue = { readonly entries: QueueEntry[]; running: number; lastStart: number };
type Pool = { readonly limit: Limit; readonly queues: Map<string, ClusterQueue>; starts: number };

/** The maximum number of waiting operations: of one cluster at one pool, and in all. */
const max = { queue: limits.waitingPerCluster.max, all: 8_192 } as const;
/**
 * A cluster's maximum part of a pool's slots. The rest stays free for other clusters, however long each
 * operation takes.
 */
const share = 3 / 4;
/** The order within one cluster's queue; operations that are not listed come last. */
const urgencies: ReadonlyMap<string, number> = new Map([
  ['detach', 0],
  ['attach', 1],
  ['settle', 1],
  ['delete', 2],
  ['expand', 2],
  ['modify', 2],
]);
const lastUrgency = 3;
/** Every eighth slot goes to the oldest entry of the queue, so that no entry waits forever. */
const oldestEvery = 8;
const maxRetryS = 30;

const realClock: Clock = { nowMs: () => performance.now(), later: setTimeout };

/**
 * Gives each pool's storage as many operations at a time as it can take. Further operations wait in a queue
 * for each cluster; the cluster with the fewest running operations is next. `boundsOf` may change its answer
 * at any time; undefined means the default bounds.
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
        () => boundsOf(name) ?? defaultBounds,
        clock,
        () => serve(pool),
      );
      const pool: Pool = { limit, queues: new Map(), starts: 0 };
      return pool;
    });

  function take(pool: Pool, queue: ClusterQueue, request: SlotRequest): Slot {
    const running = pool.limit.begin(request.operation);
    queue.lastStart = ++pool.starts;
    queue.running++;
    return {
      pool: request.pool,
      measure: running.measure,
      [Symbol.dispose]() {
        running.end();
        queue.running--;
        serve(pool);
        if (queue.running === 0 && queue.entries.length === 0) pool.queues.delete(request.cluster);
      },
    };
  }

  function serve(pool: Pool): void {
    while (pool.limit.isOpen()) {
      const queue = nextQueue(pool);
      const first = queue?.entries.splice(nextIndex(queue.entries, pool.starts), 1)[0];
      if (!queue || !first) return;
      waitingInAll--;
      const problem = first.goneProblem();
      if (problem) first.refuse(problem);
      else first.begin(take(pool, queue, first));
    }
  }

  /** Removes the entries that no caller waits for any more. */
  function dropAbandoned(queue: ClusterQueue): void {
    for (const one of queue.entries.splice(0)) {
      const problem = one.goneProblem();
      if (!problem) {
        queue.entries.push(one);
        continue;
      }
      waitingInAll--;
      one.refuse(problem);
    }
  }

  return {
    /** Returns a slot, or undefined when the operation has to wait for one. */
    enter(request: SlotRequest): Slot | undefined {
      const pool = poolOf(request.pool);
      const queue = queueOf(pool, request.cluster);
      const isFree = queue.entries.length === 0 && pool.limit.isOpen() && hasShare(pool, queue);
      return isFree ? take(pool, queue, request) : undefined;
    },

    /**
     * Waits for a slot. Throws UNAVAILABLE, with the time to retry after, when too many operations wait. When
     * a slot is free, `goneProblem` decides whether the operation still begins.
     */
    async wait(request: SlotRequest, goneProblem: QueueEntry['goneProblem']): Promise<Slot> {
      const pool = poolOf(request.pool);
      const queue = queueOf(pool, request.cluster);
      const isFull = (): boolean => queue.entries.length >= max.queue || waitingInAll >= max.all;
      if (isFull()) dropAbandoned(queue);
      if (isFull())
        throw fullProblem(request, pool.limit.expectMs(queue.entries.length), queue.entries.length);
      const { promise, resolve, reject } = Promise.withResolvers<Slot>();
      waitingInAll++;
      queue.entries.push({ ...request, sinceMs: clock.nowMs(), goneProblem, begin: resolve, refuse: reject });
      serve(pool);
      return promise;
    },

    show(): readonly QueueState[] {
      return [...pools].flatMap(([pool, { queues, limit }]) =>
        [...queues].map(([cluster, { entries, running }]) => ({
          pool,
          cluster,
          waiting: entries.length,
          running,
          limit: limit.max(),
          oldestWaitMs: entries[0] ? Math.round(clock.nowMs() - entries[0].sinceMs) : 0,
          waitingOperations: entries.map(({ operation, resource, sinceMs }) => {
            return { operation, resource, waitMs: Math.round(clock.nowMs() - sinceMs) };
          }),
        })),
      );
    },
  };
}

function queueOf({ queues }: Pool, cluster: string): ClusterQueue {
  return queues.getOrInsertComputed(cluster, () => ({ entries: [], running: 0, lastStart: 0 }));
}

function hasShare({ limit }: Pool, { running }: ClusterQueue): boolean {
  return running < Math.ceil(limit.max() * share);
}

function nextQueue(pool: Pool): ClusterQueue | undefined {
  let next: ClusterQueue | undefined;
  for (const queue of pool.queues.values())
    if (queue.entries.length > 0 && hasShare(pool, queue) && (!next || isBefore(queue, next))) next = queue;
  return next;
}

function isBefore(one: ClusterQueue, other: ClusterQueue): boolean {
  return one.running === other.running ? one.lastStart < other.lastStart : one.running < other.running;
}

function nextIndex(entries: readonly QueueEntry[], starts: number): number {
  if (starts % oldestEvery === oldestEvery - 1) return 0;
  const all = entries.map(({ operation }) => urgencies.get(operation) ?? lastUrgency);
  return all.indexOf(minOf(all));
}

function fullProblem({ pool, cluster }: SlotRequest, expectMs: number, waiting: number): Problem {
  const seconds = Math.min(Math.max(1, Math.ceil(expectMs / 1_000)), maxRetryS);
  const detail =
    waiting < max.queue
      ? `pool "${pool}" takes no more: ${max.all} operations of all clusters wait already; try again later`
      : `cluster "${cluster}" ${limitDetail('waitingPerCluster', waiting + 1)} at pool "${pool}"`;
  return overloadedProblem(detail, seconds);
}

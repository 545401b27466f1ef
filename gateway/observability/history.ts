import type { Operations as Rows, Output, Request } from '../../src/api/operations.ts';
import type { Pools } from '../pools/pools.ts';
import type { Answers, CallCounts } from '../pools/state/answers.ts';
import { maxOf } from '../../src/lib/numbers.ts';
import { probePool } from '../pools/state/probe.ts';
import type { Queues } from '../scheduling/queues.ts';
import type { Slices } from '../scheduling/slices.ts';
import type { Engine } from '../store.ts';
import { addToHistory, listHistory as listMinutes, minuteAt, type PoolMinute } from '../tables/history.ts';
import { fromPageToken, readPage } from '../tables/paging.ts';
import { sumReserved } from '../tables/reservations.ts';

type HistorySources = {
  readonly engine: Engine;
  readonly pools: Pools;
  readonly queues: Pick<Queues, 'show'>;
  readonly slices: Slices;
};

type Queueing = Pick<PoolMinute, 'waiting' | 'waitMs'>;
type Space = Pick<PoolMinute, 'totalBytes' | 'reservedBytes' | 'deletedBytes'>;

const none = { waiting: 0, waitMs: 0, calls: 0, failedCalls: 0 } as const;

/**
 * Creates the recorder of the last 24 hours. Call it every few seconds: it notes the queues, and in each new minute it
 * adds this replica's share to the store. If the store does not answer, the next minute has the calls of both.
 */
export function createHistoryRecorder({ engine, pools, queues }: Omit<HistorySources, 'slices'>) {
  const queueing = new Map<string, Queueing>();
  /** The calls that are recorded already, by the answers of an opened pool. */
  const recorded = new WeakMap<Answers, CallCounts>();
  let minute: number | undefined;

  function noteQueues(): void {
    for (const [pool, all] of Map.groupBy(queues.show(), one => one.pool)) {
      const before = queueing.get(pool) ?? none;
      const waiting = all.reduce((sum, one) => sum + one.waiting, 0);
      const waitsMs = all.map(({ oldestWaitMs }) => oldestWaitMs);
      queueing.set(pool, {
        waiting: Math.max(before.waiting, waiting),
        waitMs: maxOf(waitsMs, before.waitMs),
      });
    }
  }

  async function measure(name: string, totalBytes?: number): Promise<readonly [string, Space]> {
    const { bytes: reservedBytes, deletedBytes } = await sumReserved(engine.reader, name, undefined);
    return [name, { totalBytes, reservedBytes, deletedBytes }];
  }

  async function measureSpaces(): Promise<ReadonlyMap<string, Space>> {
    const waiting = [...pools.waiting().keys()].map(name => measure(name));
    const open = pools.all().map(async pool => measure(pool.name, (await probePool(pool)).totalBytes));
    return new Map(await Promise.all([...waiting, ...open]));
  }

  function takeCalls(counts: ReadonlyMap<Answers, CallCounts>, answers: Answers | undefined) {
    const before = (answers && recorded.get(answers)) ?? none;
    const { calls, failedCalls } = (answers && counts.get(answers)) ?? before;
    return { calls: calls - before.calls, failedCalls: failedCalls - before.failedCalls };
  }

  return async (): Promise<void> => {
    noteQueues();
    const present = minuteAt(Date.now(), pools.all().length + pools.waiting().size);
    if (present === minute) return;
    minute = present;
    const spaces = await measureSpaces();
    const answersOf = new Map(pools.all().map(({ name, answers }) => [name, answers]));
    const counts = new Map(
      [...answersOf.values()].flatMap(one => (one ? [[one, one.count()] as const] : [])),
    );
    const share = new Map(
      [...spaces].map(([name, space]) => [
        name,
        { ...none, ...queueing.get(name), ...space, ...takeCalls(counts, answersOf.get(name)) },
      ]),
    );
    await engine.transaction(sql => addToHistory(sql, share));
    for (const [answers, now] of counts) recorded.set(answers, now);
    queueing.clear();
  };
}

/** Returns a page of the last 24 hours, the newest minutes first. */
export async function listHistory(
  { engine, slices }: Pick<HistorySources, 'engine' | 'slices'>,
  { pool, since = 0, until = Infinity, limit, pageToken }: Request<Rows['listHistory']>,
): Promise<Output<Rows['listHistory']>> {
  const from = Math.max(0, Math.ceil(since / 60_000));
  const end = Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(until / 60_000));
  const afterId = fromPageToken(undefined, pageToken, 'history');
  const { entries, ...rest } = await readPage({ afterId, limit, list: 'history' }, (after, count) =>
    slices.take('operator', async () => {
      // A token that is no time, from a caller, is before all minutes.
      const before = after === '' ? end : Math.floor(Date.parse(after) / 60_000) || 0;
      const found = await listMinutes(engine.reader, { from, before }, count);
      return found.map(({ minute, pools }) => ({
        id: new Date(minute * 60_000).toISOString(),
        pools: [...pools].flatMap(([name, own]) => (name === (pool ?? name) ? [show(name, own)] : [])),
      }));
    }),
  );
  return { minutes: entries, ...rest };
}

function show(pool: string, { totalBytes, ...own }: PoolMinute) {
  return { pool, ...(totalBytes !== undefined && { totalBytes }), ...own };
}

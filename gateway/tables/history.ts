import type { Reader, Sql } from '../store.ts';
import { integer, table, type Column } from './table.ts';

/** A pool in one minute, over all replicas. */
export type PoolMinute = {
  /** The capacity of its storage; undefined if the storage reports none or did not answer. */
  readonly totalBytes: number | undefined;
  readonly reservedBytes: number;
  /** The part of `reservedBytes` that soft-deleted volumes reserve. */
  readonly deletedBytes: number;
  readonly calls: number;
  readonly failedCalls: number;
  /** The maximum number of operations that waited for a slot at the same time at each replica, added up. */
  readonly waiting: number;
  /** The longest wait of an operation, in milliseconds. */
  readonly waitMs: number;
};

/** The pools by name. */
export type PoolMinutes = ReadonlyMap<string, PoolMinute>;

/** The time for which minutes are kept. */
export const keptMinutes = 1_440;
/** The maximum number of pools for which every minute gets a row. With more pools, rows are as many times rarer. */
export const maxPoolsPerMinute = 10;

/** Writes the pools without the names of their members, so that a day of `maxPoolsPerMinute` pools takes less than 2 MB. */
const poolMinutes: Column<PoolMinutes> = {
  type: 'text not null',
  encode: pools =>
    JSON.stringify(Object.fromEntries([...pools].map(([pool, minute]) => [pool, toNumbers(minute)]))),
  decode: text =>
    new Map(
      Object.entries(JSON.parse(String(text)) as Record<string, StoredNumbers>).map(([pool, numbers]) => [
        pool,
        fromNumbers(numbers),
      ]),
    ),
};

/** The last 24 hours: a row for each minute since the epoch that a gateway has recorded. */
export const historyTable = table('history', {
  key: ['minute'],
  columns: { minute: integer(), pools: poolMinutes },
});

/** Returns the minute whose row a record at this time belongs to. */
export function minuteAt(timeMs: number, poolCount: number): number {
  const step = Math.max(1, Math.ceil(poolCount / maxPoolsPerMinute));
  return Math.floor(timeMs / 60_000 / step) * step;
}

/**
 * Adds the share of one replica to the present minute, and removes minutes that are older than a day, or that a clock
 * noted that was ahead.
 */
export async function addToHistory(sql: Sql, share: PoolMinutes): Promise<void> {
  await sql.lock('history', 'minute');
  const nowMs = await sql.now();
  const minute = minuteAt(nowMs, share.size);
  const found = await historyTable.find(sql, { minute });
  await historyTable.replace(sql, { minute, pools: found ? addUp(found.pools, share) : share });
  const [fromMinute, toMinute] = [minute - keptMinutes, Math.floor(nowMs / 60_000)];
  await sql.write('delete from history where minute <= ? or minute > ?', fromMinute, toMinute);
}

/** Returns at most `limit` minutes from `from` on and before `before`, the newest first. */
export function listHistory(
  reader: Reader,
  { from, before }: { readonly from: number; readonly before: number },
  limit: number,
) {
  const range = 'and minute >= ? and minute < ? order by minute desc limit ?';
  return historyTable.select(reader, {}, range, from, before, limit);
}

/** Adds the calls and the waiting operations of two replicas. The later one knows the space better. */
function addUp(pools: PoolMinutes, later: PoolMinutes): PoolMinutes {
  const all = new Map(pools);
  for (const [pool, added] of later) {
    const before = pools.get(pool);
    all.set(pool, {
      ...added,
      totalBytes: added.totalBytes ?? before?.totalBytes,
      calls: added.calls + (before?.calls ?? 0),
      failedCalls: added.failedCalls + (before?.failedCalls ?? 0),
      waiting: added.waiting + (before?.waiting ?? 0),
      waitMs: Math.max(added.waitMs, before?.waitMs ?? 0),
    });
  }
  return all;
}

type StoredNumbers = readonly [total: number | null, ...others: number[]];

function toNumbers(minute: PoolMinute): StoredNumbers {
  const { totalBytes = null, reservedBytes, deletedBytes, calls, failedCalls, waiting, waitMs } = minute;
  return [totalBytes, reservedBytes, deletedBytes, calls, failedCalls, waiting, waitMs];
}

function fromNumbers([totalBytes, ...others]: StoredNumbers): PoolMinute {
  const [reservedBytes = 0, deletedBytes = 0, calls = 0, failedCalls = 0, waiting = 0, waitMs = 0] = others;
  return {
    totalBytes: totalBytes ?? undefined,
    reservedBytes,
    deletedBytes,
    calls,
    failedCalls,
    waiting,
    waitMs,
  };
}

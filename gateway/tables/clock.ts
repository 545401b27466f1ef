import type { Engine, Reader, Sql } from '../store.ts';
import { integer, table, text } from './table.ts';

/**
 * Times by the store's clock, in rows of five kinds: the time of the last look of a gateway at the store; each period
 * without such a look, with its start under the name of its end, and the sum of these periods; the start of the last
 * check; the start of the last check that compared all of a pool; and, in 64 rows, the newest time in the id of an attachment.
 */
export const clockTable = table('clock', {
  key: ['name'],
  columns: { name: text(), seenMs: integer() },
});

const name = 'gateway';

/** Notes the present time and returns it with the time noted before. At the first call both are the same. */
export async function noteTime(sql: Sql): Promise<{ readonly nowMs: number; readonly seenMs: number }> {
  await sql.lock('clock', name);
  const last = await clockTable.find(sql, { name });
  const nowMs = await sql.now();
  await clockTable.replace(sql, { name, seenMs: nowMs });
  return { nowMs, seenMs: last?.seenMs ?? nowMs };
}

/** The greatest difference between a clock and the time last recorded in the store, in milliseconds. */
export const toleranceMs = 60_000;

/** Returns the present time, limited in case this clock has jumped ahead since a gateway last looked at the store. */
export async function readTime(reader: Reader): Promise<number> {
  const { seenMs = Infinity } = (await clockTable.find(reader, { name })) ?? {};
  return Math.min(Date.now(), seenMs + toleranceMs);
}

const missedName = 'missed';

/**
 * Returns the total of the periods without a look of a gateway at the store, in milliseconds. The clock's time minus
 * this total is "time that gateways have seen". Soft-deleted volumes and findings wait by that time.
 */
export async function readMissed(reader: Reader): Promise<number> {
  return (await clockTable.find(reader, { name: missedName }))?.seenMs ?? 0;
}

/**
 * Moves all waits by `byMs`, for a period that ended at `nowMs`: those by `readMissed`, and those by
 * `timeSeenBefore`.
 */
export async function postpone(sql: Sql, byMs: number, nowMs: number): Promise<void> {
  await clockTable.replace(sql, { name: unseenName(nowMs), seenMs: nowMs - byMs });
  await clockTable.replace(sql, { name: missedName, seenMs: (await readMissed(sql)) + byMs });
}

/**
 * Returns the start of the period that ends at `nowMs` and contains `seenForMs` of time that gateways have seen, in milliseconds since the
 * epoch.
 */
export async function timeSeenBefore(
  { reader, transaction }: Engine,
  nowMs: number,
  seenForMs: number,
): Promise<number> {
  const unseen = await clockTable.select(
    reader,
    {},
    'and name like ? order by name desc',
    `${unseenName('')}%`,
  );
  let timeMs = nowMs - seenForMs;
  for (const { name: ended, seenMs } of unseen) {
    const endMs = Number(ended.slice(unseenName('').length));
    // A period noted by a clock that was ahead ends later than now. No gateway saw it either.
    if (endMs > timeMs) timeMs -= endMs - seenMs;
    else await transaction(sql => clockTable.remove(sql, { name: ended }));
  }
  return timeMs;
}

/** Names sort by time. */
function unseenName(endMs: number | ''): string {
  return `unseen until ${endMs === '' ? '' : String(endMs).padStart(16, '0')}`;
}

const checkName = 'check';

/** Returns the start of the last check of storage against store, in milliseconds since the epoch. */
export async function readTimeOfCheck(reader: Reader): Promise<number | undefined> {
  return (await clockTable.find(reader, { name: checkName }))?.seenMs;
}

export async function noteCheck({ transaction }: Pick<Engine, 'transaction'>): Promise<void> {
  await transaction(async sql => clockTable.replace(sql, { name: checkName, seenMs: await sql.now() }));
}

/** Returns the start of the last check that compared all of the pool, in milliseconds since the epoch. */
export async function readTimeChecked(reader: Reader, pool: string): Promise<number | undefined> {
  return (await clockTable.find(reader, { name: checkedName(pool) }))?.seenMs;
}

/** Notes that a check that started at `startMs` compared all of these pools. */
export async function noteChecked(
  { transaction }: Pick<Engine, 'transaction'>,
  pools: readonly string[],
  startMs: number,
): Promise<void> {
  await transaction(async sql => {
    for (const pool of pools) await clockTable.replace(sql, { name: checkedName(pool), seenMs: startMs });
  });
}

function checkedName(pool: string): string {
  return `${checkName} of ${pool}`;
}

/** Notes that a check starts, and returns true, if the last one is older than `everyMs`. Only one gateway gets true. */
export function claimCheck({ transaction }: Pick<Engine, 'transaction'>, everyMs: number): Promise<boolean> {
  return transaction(async sql => {
    await sql.lock('clock', checkName);
    const nowMs = await sql.now();
    const lastMs = (await readTimeOfCheck(sql)) ?? -Infinity;
    // A time in the future comes from a clock that was ahead.
    if (lastMs <= nowMs && nowMs - lastMs < everyMs) return false;
    await clockTable.replace(sql, { name: checkName, seenMs: nowMs });
    return true;
  });
}

import type { Engine, Reader, Sql } from '../store.ts';
import { integer, table, text } from './table.ts';

/**
 * Times by the store's clock: when a gateway last looked at the store; for each time that none saw, when that began, by the
 * time at which it ended; and the newest time that an attachment has in its id, in 64 rows.
 */
export const clockTable = table('clock', {
  key: ['name'],
  columns: { name: text(), seenMs: integer() },
});

const name = 'gateway';

/** Notes what time it is, and returns that beside what was noted last: the same when nothing was. */
export async function noteTime(sql: Sql): Promise<{ readonly nowMs: number; readonly seenMs: number }> {
  await sql.lock('clock', name);
  const last = await clockTable.find(sql, { name });
  const nowMs = await sql.now();
  await clockTable.replace(sql, { name, seenMs: nowMs });
  return { nowMs, seenMs: last?.seenMs ?? nowMs };
}

/** How far a clock may be from the time last recorded in the store, in milliseconds. */
export const toleranceMs = 60_000;

/** What time it is, by a clock that may have jumped ahead since a gateway last looked at the store. */
export async function readTime(reader: Reader): Promise<number> {
  const { seenMs = Infinity } = (await clockTable.find(reader, { name })) ?? {};
  return Math.min(Date.now(), seenMs + toleranceMs);
}

/**
 * Lets everything that waits for its time wait so much longer, up to `nowMs`: soft-deleted volumes, findings that must
 * be old, and what `timeSeenBefore` is asked for.
 */
export async function postpone(sql: Sql, byMs: number, nowMs: number): Promise<void> {
  await clockTable.replace(sql, { name: unseenName(nowMs), seenMs: nowMs - byMs });
  await sql.write(
    `update volumes set restorable_until_ms = restorable_until_ms + ? where state <> 'ready' and state = 'deleted'`,
    byMs,
  );
  await sql.write('update findings set first_seen_ms = first_seen_ms + ?', byMs);
}

/** When it was that a gateway had still so much time to see before it was `nowMs`, in milliseconds since the epoch. */
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
    // What a clock ahead has noted ended later than now, and nothing of it was seen either.
    if (endMs > timeMs) timeMs -= endMs - seenMs;
    else await transaction(sql => clockTable.remove(sql, { name: ended }));
  }
  return timeMs;
}

/** In the order of time. */
function unseenName(endMs: number | ''): string {
  return `unseen until ${endMs === '' ? '' : String(endMs).padStart(16, '0')}`;
}

import type { Reader, Sql } from '../store.ts';
import { integer, table, text } from './table.ts';

/** When a gateway last looked at the store, by the store's clock. */
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

/** How far a clock may be from what the store was told last, in milliseconds. */
export const toleranceMs = 60_000;

/** What time it is, by a clock that may have jumped ahead since a gateway last looked at the store. */
export async function readTime(reader: Reader): Promise<number> {
  const { seenMs = Infinity } = (await clockTable.find(reader, { name })) ?? {};
  return Math.min(Date.now(), seenMs + toleranceMs);
}

/** Lets everything that waits for its time wait so much longer: soft-deleted volumes, and findings that must be old. */
export async function postpone(sql: Sql, byMs: number): Promise<void> {
  await sql.write(
    `update volumes set restorable_until_ms = restorable_until_ms + ? where state <> 'ready' and state = 'deleted'`,
    byMs,
  );
  await sql.write('update findings set first_seen_ms = first_seen_ms + ?', byMs);
}

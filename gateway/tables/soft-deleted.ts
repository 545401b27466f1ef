import type { Reader, Sql } from '../store.ts';
import { volumeTable, type VolumeRecord } from './volumes.ts';

/** Records that the volume is deleted and can be restored until then. */
export async function softDelete(sql: Sql, id: string, untilMs: number): Promise<void> {
  await volumeTable.update(sql, { id }, { state: 'deleted', restorableUntilMs: untilMs });
}

/** Records that the soft-deleted volume is ready again. False when there is none. */
export async function restoreSoftDeleted(sql: Sql, id: string): Promise<boolean> {
  const changed = await sql.run(
    `update volumes set state = 'ready', restorable_until = null where id = ? and state = 'deleted'`,
    id,
  );
  return changed > 0;
}

/** Soft-deleted volumes by id, after one. */
export function listSoftDeleted(
  sql: Reader,
  { afterId, limit }: { readonly afterId: string; readonly limit: number },
): Promise<readonly VolumeRecord[]> {
  // The first condition lets the index of what is unfinished be used.
  const rest = `where state <> 'ready' and state = 'deleted' and id > ? order by id limit ?`;
  return volumeTable.select(sql, rest, afterId, limit);
}

/** True when the time of some soft-deleted volume has passed. */
export async function hasExpired(sql: Reader, nowMs: number): Promise<boolean> {
  const rows = await sql.all(`select id from volumes where ${expired} limit 1`, nowMs);
  return rows.length > 0;
}

/** Makes an unfinished deletion of every soft-deleted volume whose time has passed. */
export async function expireSoftDeleted(sql: Sql, nowMs: number): Promise<void> {
  await sql.run(`update volumes set state = 'deleting', restorable_until = null where ${expired}`, nowMs);
}

// The first condition lets the index of what is unfinished be used.
const expired = `state <> 'ready' and state = 'deleted' and restorable_until <= ?`;

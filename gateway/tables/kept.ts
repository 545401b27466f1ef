import type { Reader, Sql, SqlRow } from '../store.ts';

/** A volume that was deleted and still has its data, until it is deleted for good. To all but this file it is gone. */
export type KeptVolume = { readonly id: string; readonly sizeBytes: number; readonly untilMs: number };

/** Records that the volume is deleted and to be kept; whether it is free has been looked up before. */
export async function keepVolume(sql: Sql, id: string, untilMs: number): Promise<void> {
  await sql.run(
    `update volumes set state = 'deleted', keep_until = ?, claim_owner = null where id = ?`,
    untilMs,
    id,
  );
}

/** The volume, when it is deleted and kept. */
export async function findKept(sql: Reader, id: string): Promise<KeptVolume | undefined> {
  const [row] = await sql.all(`select * from volumes where id = ? and state = 'deleted'`, id);
  return row && toKept(row);
}

/** Records that the kept volume is ready again. False when it is not kept, or not any more. */
export async function restoreKept(sql: Sql, id: string): Promise<boolean> {
  const changed = await sql.run(
    `update volumes set state = 'ready', keep_until = null where id = ? and state = 'deleted'`,
    id,
  );
  return changed === 1;
}

/** True when some volume has been kept for long enough. */
export async function isKeptTooLong(sql: Reader, nowMs: number): Promise<boolean> {
  // The first condition lets the index of what is unfinished be used.
  const rows = await sql.all(
    `select id from volumes where state <> 'ready' and state = 'deleted' and keep_until <= ? limit 1`,
    nowMs,
  );
  return rows.length > 0;
}

/** Makes an unfinished deletion of every volume that has been kept for long enough. */
export async function expireKept(sql: Sql, nowMs: number): Promise<void> {
  await sql.run(
    `update volumes set state = 'deleting', keep_until = null
     where state <> 'ready' and state = 'deleted' and keep_until <= ?`,
    nowMs,
  );
}

function toKept(row: SqlRow): KeptVolume {
  return { id: String(row.id), sizeBytes: Number(row.size_bytes), untilMs: Number(row.keep_until) };
}

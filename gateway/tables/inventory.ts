import type { Reader, SqlRow } from '../store.ts';
import type { IdRange } from './paging.ts';

/** A resource that the storage should have, according to the store. */
export type InventoryRow = {
  readonly kind: 'volume' | 'snapshot';
  readonly id: string;
  readonly storageId: string;
  readonly pool: string;
  readonly state: string;
  readonly createdAtMs: number;
  readonly unfinished: string | undefined;
};

const queries: Readonly<Record<InventoryRow['kind'], string>> = {
  volume: `select id, coalesce(storage_id, id) as storage_id, pool, state, created_at_ms, pending, (
      select min(state || ' node "' || node_id || '"') from attachments
      where volume_id = volumes.id and state <> 'attached'
    ) as attaching from volumes`,
  snapshot:
    'select id, id as storage_id, pool, state, created_at_ms, null as pending, null as attaching from snapshots',
};

/** Returns at most `limit` resources of the kind in any state, by id after `afterId`. */
export async function readInventory(
  sql: Reader,
  kind: InventoryRow['kind'],
  { afterId, limit }: IdRange,
): Promise<readonly InventoryRow[]> {
  const rows = await sql.all(`${queries[kind]} where id > ? order by id limit ?`, afterId, limit);
  return rows.map(row => toInventoryRow(kind, row));
}

function toInventoryRow(kind: InventoryRow['kind'], row: SqlRow): InventoryRow {
  return {
    kind,
    id: String(row.id),
    storageId: String(row.storage_id),
    pool: String(row.pool),
    state: String(row.state),
    createdAtMs: Number(row.created_at_ms),
    unfinished: unfinishedOf(row),
  };
}

function unfinishedOf({ state, pending = null, attaching = null }: SqlRow): string | undefined {
  if (state === 'deleted') return undefined;
  if (state !== 'ready') return String(state);
  if (pending !== null) return `${Object.keys(JSON.parse(String(pending)) as object).join(', ')} pending`;
  return attaching === null ? undefined : String(attaching);
}

import type { Reader, SqlRow } from '../store.ts';

/** What the store says of one resource that the storage should have. */
export type InventoryRow = {
  readonly kind: 'volume' | 'snapshot';
  readonly id: string;
  readonly state: string;
  readonly createdAtMs: number;
  /** What was begun and is not done; undefined when nothing is. */
  readonly unfinished: string | undefined;
  /** Until when a deleted volume is kept. */
  readonly keepUntilMs: number | undefined;
};

const pageSize = 5_000;
const tables = { volume: 'volumes', snapshot: 'snapshots' } as const;

/** Every resource of the kind, in any state, by id. */
export async function* listInventory(sql: Reader, kind: InventoryRow['kind']): AsyncIterable<InventoryRow> {
  let afterId = '';
  for (;;) {
    const rows = await sql.all(
      `select * from ${tables[kind]} where id > ? order by id limit ?`,
      afterId,
      pageSize,
    );
    const attaching = kind === 'volume' ? await listUnfinishedAttachments(sql, rows) : new Map();
    for (const row of rows) yield toInventory(kind, row, attaching.get(String(row.id)));
    if (rows.length < pageSize) return;
    afterId = String(rows.at(-1)?.id);
  }
}

/** What is being attached or detached, by volume. */
async function listUnfinishedAttachments(
  sql: Reader,
  volumes: readonly SqlRow[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await sql.all(
    `select volume_id, node_id, state from attachments where state <> 'attached' and volume_id between ? and ?`,
    String(volumes[0]?.id ?? ''),
    String(volumes.at(-1)?.id ?? ''),
  );
  return new Map(rows.map(row => [String(row.volume_id), `${row.state} node "${row.node_id}"`]));
}

function toInventory(kind: InventoryRow['kind'], row: SqlRow, attaching: string | undefined): InventoryRow {
  const state = String(row.state);
  const done = state === 'ready' || state === 'deleted';
  const pending = state === 'ready' && row.pending !== null && row.pending !== undefined;
  const changing = pending ? `${Object.keys(JSON.parse(String(row.pending)) as object)} pending` : attaching;
  const keepUntilMs =
    row.keep_until === null || row.keep_until === undefined ? undefined : Number(row.keep_until);
  return {
    kind,
    id: String(row.id),
    state,
    createdAtMs: Number(row.created_at),
    unfinished: done ? changing : state,
    keepUntilMs,
  };
}

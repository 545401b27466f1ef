import type { Reader } from '../store.ts';
import { attachmentTable, type AttachmentRecord } from './attachments.ts';
import { snapshotTable, type SnapshotRecord } from './snapshots.ts';
import { volumeTable, type VolumeRecord } from './volumes.ts';

/** What the store says of one resource that the storage should have. */
export type InventoryRow = {
  readonly kind: 'volume' | 'snapshot';
  readonly id: string;
  readonly pool: string;
  readonly state: string;
  readonly createdAtMs: number;
  /** What was begun and is not done; undefined when nothing is. */
  readonly unfinished: string | undefined;
  /** Until when a soft-deleted volume can be restored. */
  readonly restorableUntilMs: number | undefined;
};

const pageSize = 5_000;
const nextPage = `where id > ? order by id limit ${pageSize}`;

/** Every resource of the kind, in any state, by id. */
export async function* listInventory(sql: Reader, kind: InventoryRow['kind']): AsyncIterable<InventoryRow> {
  let afterId = '';
  for (;;) {
    const page =
      kind === 'volume'
        ? await listVolumeRows(sql, afterId)
        : (await snapshotTable.select(sql, nextPage, afterId)).map(toSnapshotRow);
    yield* page;
    if (page.length < pageSize) return;
    afterId = page.at(-1)?.id ?? afterId;
  }
}

async function listVolumeRows(sql: Reader, afterId: string): Promise<readonly InventoryRow[]> {
  const volumes = await volumeTable.select(sql, nextPage, afterId);
  const attaching = await attachmentTable.select(
    sql,
    `where state <> 'attached' and volume_id between ? and ?`,
    volumes[0]?.id ?? '',
    volumes.at(-1)?.id ?? '',
  );
  const byVolume = new Map(attaching.map(one => [one.volumeId, one]));
  return volumes.map(volume => toVolumeRow(volume, byVolume.get(volume.id)));
}

function toVolumeRow(volume: VolumeRecord, attaching: AttachmentRecord | undefined): InventoryRow {
  const { id, pool, state, createdAtMs, pending, restorableUntilMs } = volume;
  const begun = Object.keys(pending);
  const changing = attaching && `${attaching.state} node "${attaching.nodeId}"`;
  const onReady = begun.length > 0 ? `${begun.join(', ')} pending` : changing;
  const unfinished = state === 'ready' ? onReady : state;
  return {
    kind: 'volume',
    id,
    pool,
    state,
    createdAtMs,
    restorableUntilMs,
    unfinished: state === 'deleted' ? undefined : unfinished,
  };
}

function toSnapshotRow({ id, pool, state, createdAtMs }: SnapshotRecord): InventoryRow {
  const unfinished = state === 'ready' ? undefined : state;
  return { kind: 'snapshot', id, pool, state, createdAtMs, unfinished, restorableUntilMs: undefined };
}

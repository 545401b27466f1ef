import type { Volume, VolumeSource, VolumeSpec } from '../../src/api/volume.ts';
import type { Segments } from '../../src/api/topology.ts';
import type { SizeBounds } from '../backend.ts';
import type { Reader, Sql } from '../store.ts';
import {
  boolean,
  integer,
  json,
  optional,
  segments,
  table,
  text,
  type Column,
  type RecordOf,
} from './table.ts';

/**
 * What was asked when the volume was made; its name and its source stand beside it. Of the topology that was asked for,
 * the topologies that the storage had there, best first; absent when nothing was asked, or the storage had no topologies.
 */
export type RecordedSpec = Omit<VolumeSpec, 'name' | 'topology' | 'source'> & {
  readonly topologies?: readonly Segments[] | undefined;
};

/** What was begun on a volume that is ready, and must be finished. */
export type Pending = {
  readonly expansion?: SizeBounds | undefined;
  readonly modification?: Readonly<Record<string, string>> | undefined;
};

const columns = {
  id: text(),
  /** No other record has it, of the same id neither; what is made for this one carries it. Empty: older than nonces. */
  nonce: text(),
  cluster: text(),
  name: text(),
  pool: text(),
  /** `deleted`: it can be restored, and only operators see it. */
  state: text<Volume['state'] | 'deleted'>(),
  spec: json<RecordedSpec>(),
  source: optional(sourceColumn()),
  sizeBytes: integer(),
  /** What it takes of its pool. */
  reservedBytes: integer(),
  context: json<Readonly<Record<string, string>>>(),
  createdAtMs: integer(),
  /** The mutable parameters as they are now, as far as that is certain. */
  mutableParameters: json<Readonly<Record<string, string>>>(),
  nodeExpansionRequired: boolean(),
  /** A node could write to it as a raw device: it may hold data that no filesystem's probe knows. */
  usedRaw: boolean(),
  pending: pendingColumn(),
  /** Where it is; undefined: it is reached from everywhere, or not made yet. */
  segments: optional(segments()),
  /** Until when a deleted volume can be restored. */
  restorableUntilMs: optional(integer()),
  /** Its id at the storage, which no other record has; undefined: its own. It stays, whoever gets the volume. */
  storageId: optional(text()),
  /** There are grants of it. */
  shared: boolean(),
};

/** A volume as it is recorded. */
export type VolumeRecord = RecordOf<typeof columns>;

const byStorage = 'volumes_by_storage on volumes (storage_id) where storage_id is not null';

/** What gives the table of an older store its newest columns. */
export const addSharing: readonly string[] = [
  'alter table volumes add column storage_id text',
  'alter table volumes add column shared integer not null default 0',
  `create index ${byStorage}`,
];

/** All volumes, those that are deleted and can be restored included. */
export const volumeTable = table('volumes', {
  key: ['id'],
  columns,
  indexes: [
    'volumes_by_cluster on volumes (cluster, id)',
    'volumes_by_source on volumes (source) where source is not null',
    `volumes_unfinished on volumes (id) where state <> 'ready'`,
    'volumes_pending on volumes (id) where pending is not null',
    byStorage,
  ],
});

/** The volume, or undefined when it is not recorded, or deleted. */
export function findVolume(sql: Reader, id: string): Promise<VolumeRecord | undefined> {
  return volumeTable.find(sql, { id }).then(unlessDeleted);
}

function unlessDeleted(volume: VolumeRecord | undefined): VolumeRecord | undefined {
  return volume?.state === 'deleted' ? undefined : volume;
}

/** The volume that has this id at the storage, whatever its own is. */
export async function findAtStorage(sql: Reader, storageId: string): Promise<VolumeRecord | undefined> {
  const either = 'and (storage_id = ? or (id = ? and storage_id is null))';
  const [found] = await volumeTable.select(sql, {}, either, storageId, storageId);
  return found;
}

/** At most `limit` volumes of the cluster whose ids come after `afterId`, by id. */
export function listVolumes(
  sql: Reader,
  { cluster, afterId, limit }: { readonly cluster: string; readonly afterId: string; readonly limit: number },
): Promise<readonly VolumeRecord[]> {
  const page = `and id > ? and state <> 'deleted' order by id limit ?`;
  return volumeTable.select(sql, { cluster }, page, afterId, limit);
}

/** The pools in which the cluster has volumes, or in which volumes lie that it was granted. */
export async function listPoolsUsed(sql: Reader, cluster: string): Promise<readonly string[]> {
  const used = `select pool from volumes where cluster = ?
    union select pool from volumes where id in (select volume_id from grants where cluster = ?)`;
  return (await sql.all(used, cluster, cluster)).map(({ pool }) => String(pool));
}

/** Makes an unfinished deletion of every soft-deleted volume whose time has passed. */
export async function expireSoftDeleted(sql: Sql, nowMs: number): Promise<void> {
  await sql.write(
    // The first condition lets the index of what is unfinished be used.
    `update volumes set state = 'deleting', restorable_until_ms = null
     where state <> 'ready' and state = 'deleted' and restorable_until_ms <= ?`,
    nowMs,
  );
}

/** A source as one word for its kind and its id, which an index finds. */
function sourceColumn(): Column<VolumeSource> {
  return {
    ...text(),
    encode: source =>
      source.kind === 'snapshot' ? `snapshot ${source.snapshotId}` : `volume ${source.volumeId}`,
    decode(value) {
      const [kind, id = ''] = String(value).split(' ', 2);
      return kind === 'snapshot' ? { kind, snapshotId: id } : { kind: 'volume', volumeId: id };
    },
  };
}

/** Nothing pending is null, so that an index finds what is. */
function pendingColumn(): Column<Pending> {
  const { encode, decode } = json<Pending>();
  return {
    type: 'text',
    encode(value) {
      const encoded = encode(value);
      return encoded === '{}' ? null : encoded;
    },
    decode: value => (value === null ? {} : decode(value)),
  };
}

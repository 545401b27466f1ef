import type { ExistingFilesystem } from '../../src/api/filesystems/candidates.ts';
import type { Volume, VolumeSource, VolumeSpec } from '../../src/api/volume.ts';
import type { Segments } from '../../src/api/topology.ts';
import type { SizeBounds } from '../backend.ts';
import { maxTimerMs } from '../../src/lib/numbers.ts';
import type { Reader, Sql } from '../store.ts';
import { type IdRange, readAllInPieces } from './paging.ts';
import {
  boolean,
  integer,
  json,
  optional,
  segments,
  storedColumns,
  table,
  text,
  unindexed,
  type Column,
  type RecordOf,
} from './table.ts';

/**
 * The request for the volume without its name and source, which have their own columns. `topologies` are the storage's topologies that fit the request, best first; absent if the request or the storage had
 * none.
 */
export type RecordedSpec = Omit<VolumeSpec, 'name' | 'topology' | 'source'> & {
  readonly topologies?: readonly Segments[] | undefined;
  /** The filesystem that a copy has from its source; absent if unknown. */
  readonly filesystem?: ExistingFilesystem | undefined;
  /** The parameter `keepDeleted` of its source snapshot's class, if the same cluster has both. */
  readonly copiesKeepDeleted?: string | undefined;
};

/** Work that has begun on a ready volume and must be finished. */
export type PendingWork = {
  readonly expansion?: SizeBounds | undefined;
  readonly modification?: Readonly<Record<string, string>> | undefined;
};

const columns = {
  ...storedColumns,
  pool: text(),
  /** `deleted`: it can be restored, and only operators see it. */
  state: text<Volume['state'] | 'deleted'>(),
  spec: json<RecordedSpec>(),
  source: optional(sourceColumn()),
  sizeBytes: integer(),
  /** The bytes that it takes of its pool. */
  reservedBytes: integer(),
  context: json<Readonly<Record<string, string>>>(),
  createdAtMs: integer(),
  /** The present mutable parameters, as far as they are certain. */
  mutableParameters: json<Readonly<Record<string, string>>>(),
  nodeExpansionRequired: boolean(),
  /** A node could have written to it as a raw device. It may hold data that no filesystem's probe knows. */
  usedRaw: boolean(),
  pending: pendingColumn(),
  /** Its topology; undefined: it can be reached from everywhere, or is not created yet. */
  segments: optional(segments()),
  /** The end of the time for restoring a deleted volume, in time that gateways have seen: see `readMissed`. */
  restorableUntilMs: optional(integer()),
  /** Its id in the storage, unique and constant through transfers; undefined: the volume's own id. */
  storageId: optional(text()),
  shared: boolean(),
  /** The time of the soft deletion. It stays while the volume is deleted for good. */
  deletedAtMs: optional(integer()),
};

export type VolumeRecord = RecordOf<typeof columns>;

const byStorage = 'volumes_by_storage on volumes (storage_id) where storage_id is not null';

/** Queries that use the index name all of its condition. So no other query takes it for `volumes_by_source`. */
const byOrigin = "volumes_by_origin on volumes (source, id) where source is not null and state <> 'deleted'";

/** The statement that lets an older store find the copies of a volume or snapshot. */
export const indexOrigins = `create index ${byOrigin}`;

/**
 * The condition for unfinished work on a volume that is not deleted. Queries must use exactly this text to
 * use the index.
 */
export const unfinishedVolumes = `state <> 'deleted' and (state <> 'ready' or pending is not null)`;

/** Indexes that contain only the rows that their queries return, so that no query skips rows. */
const narrow: readonly string[] = [
  `volumes_by_cluster on volumes (cluster, id) where state <> 'deleted'`,
  `volumes_by_source on volumes (source) where state = 'creating'`,
  `volumes_unfinished on volumes (id) where ${unfinishedVolumes}`,
  `volumes_deleted on volumes (id) where state = 'deleted'`,
  `volumes_restorable on volumes (restorable_until_ms) where state = 'deleted'`,
];

/** Indexes for listing the volumes of a pool or in a state by id, and all volumes by size or age. */
const forLists: readonly string[] = [
  'volumes_by_size on volumes (size_bytes, id)',
  'volumes_by_creation on volumes (created_at_ms, id)',
  'volumes_by_pool on volumes (pool, state, id)',
  `volumes_ready on volumes (id) where state = 'ready'`,
];

/** Indexes for finding the soft-deleted volumes of a pool or a cluster, the oldest first. */
const byAge: readonly string[] = ['pool', 'cluster'].map(
  owner =>
    `volumes_by_age_in_${owner} on volumes (${owner}, state, deleted_at_ms, id) where deleted_at_ms is not null`,
);

/** The statements that let an older store find its oldest soft-deleted volumes. The times of their deletion keep their order. */
export const addAge: readonly string[] = [
  'alter table volumes add column deleted_at_ms bigint',
  `update volumes set deleted_at_ms = restorable_until_ms - ${maxTimerMs} where state = 'deleted'`,
  ...byAge.map(index => `create index ${index}`),
];

/** The statements that let an older store list its volumes by pool, state, size and age. */
export const indexForLists: readonly string[] = forLists.map(index => `create index ${index}`);

/** The statements that give the table of an older store the columns for sharing. */
export const addSharing: readonly string[] = [
  'alter table volumes add column storage_id text',
  'alter table volumes add column shared integer not null default 0',
  `create index ${byStorage}`,
];

/** The statements that give the table of an older store its narrow indexes. */
export const narrowVolumes: readonly string[] = [
  ...['by_cluster', 'by_source', 'unfinished', 'pending'].map(name => `drop index if exists volumes_${name}`),
  ...narrow.map(index => `create index ${index}`),
];

/** All volumes, including deleted ones that can be restored. */
export const volumeTable = table('volumes', {
  key: ['id'],
  columns,
  indexes: [...narrow, byStorage, byOrigin, ...byAge, ...forLists],
});

/** Finds the volume; undefined when it is not recorded or is deleted. */
export function findVolume(sql: Reader, id: string): Promise<VolumeRecord | undefined> {
  return volumeTable.find(sql, { id }).then(unlessDeleted);
}

function unlessDeleted(volume: VolumeRecord | undefined): VolumeRecord | undefined {
  return volume?.state === 'deleted' ? undefined : volume;
}

/** Finds the volume that has this id in the storage. Its own id may be another one. */
export async function findAtStorage(sql: Reader, storageId: string): Promise<VolumeRecord | undefined> {
  const either = 'and (storage_id = ? or (id = ? and storage_id is null))';
  const [found] = await volumeTable.select(sql, {}, either, storageId, storageId);
  return found;
}

/** Returns at most `limit` volumes of the cluster, by id after `afterId`. */
export function listVolumes(
  sql: Reader,
  { cluster, afterId, limit }: IdRange & { readonly cluster: string },
): Promise<readonly VolumeRecord[]> {
  const page = `and id > ? and state <> 'deleted' order by id limit ?`;
  return volumeTable.select(sql, { cluster }, page, afterId, limit);
}

/** Returns at most `limit` soft-deleted volumes, by id after `afterId`. */
export function listSoftDeleted(sql: Reader, { afterId, limit }: IdRange): Promise<readonly VolumeRecord[]> {
  return volumeTable.select(sql, {}, "and state = 'deleted' and id > ? order by id limit ?", afterId, limit);
}

/** Room that soft-deleted volumes of a pool, of one of its topologies, or of a cluster are to leave. */
export type Shortage = {
  readonly pool?: string | undefined;
  readonly segments?: Segments | undefined;
  readonly cluster?: string;
  readonly bytes: number;
  readonly volumes: number;
};

/**
 * Returns the volumes whose final deletion leaves the room: first those that are being deleted already, then the oldest
 * ones. Skips the ids of `except`. Returns none if all of them together do not leave enough.
 */
export async function listLeaving(
  sql: Reader,
  { bytes, volumes, ...place }: Shortage,
  except: ReadonlySet<string>,
): Promise<readonly VolumeRecord[]> {
  const page =
    'and deleted_at_ms is not null and (deleted_at_ms, id) > (?, ?) order by deleted_at_ms, id limit ?';
  const same = Object.fromEntries(Object.entries(place).filter(([, value]) => value !== undefined));
  const leaving: VolumeRecord[] = [];
  let left = { bytes, volumes };
  for (const state of ['deleting', 'deleted'] as const) {
    const all = readAllInPieces<VolumeRecord>((last, limit) =>
      volumeTable.select(sql, { ...same, state }, page, last?.deletedAtMs ?? -1, last?.id ?? '', limit),
    );
    for await (const volume of all) {
      if (left.bytes <= 0 && left.volumes <= 0) return leaving;
      if (except.has(volume.id)) continue;
      leaving.push(volume);
      left = { bytes: left.bytes - volume.reservedBytes, volumes: left.volumes - 1 };
    }
  }
  return left.bytes > 0 || left.volumes > 0 ? [] : leaving;
}

/** Makes the soft-deleted volume an unfinished deletion. A volume that was restored meanwhile stays. */
export function expireOne(sql: Sql, { id, nonce, deletedAtMs }: VolumeRecord): Promise<number> {
  const expiring = `update volumes set state = 'deleting', restorable_until_ms = null
    where id = ? and nonce = ? and deleted_at_ms = ? and ${unindexed('state')} = 'deleted'`;
  return sql.run(expiring, id, nonce, deletedAtMs ?? null);
}

/** Makes at most `limit` soft-deleted volumes whose time is over unfinished deletions. Returns their number. */
export function expireSoftDeleted(sql: Sql, seenMs: number, limit: number): Promise<number> {
  const over = `select id from volumes where state = 'deleted' and restorable_until_ms <= ?
    order by restorable_until_ms limit ?`;
  // A volume that was restored meanwhile stays, even if it was deleted again. The sum keeps this condition
  // from using an index.
  const expiring = `update volumes set state = 'deleting', restorable_until_ms = null
    where ${unindexed('state')} = 'deleted' and restorable_until_ms + 0 <= ? and id in (${over})`;
  return sql.run(expiring, seenMs, seenMs, limit);
}

/** A source as one text of its kind and id, so that an index finds it. */
function sourceColumn(): Column<VolumeSource> {
  return {
    ...text(),
    encode: sourceText,
    decode(value) {
      const [kind, id = ''] = String(value).split(' ', 2);
      return kind === 'snapshot' ? { kind, snapshotId: id } : { kind: 'volume', volumeId: id };
    },
  };
}

export function sourceText(source: VolumeSource): string {
  return source.kind === 'snapshot' ? `snapshot ${source.snapshotId}` : `volume ${source.volumeId}`;
}

/** Encodes an empty `PendingWork` as null, so that an index finds the others. */
function pendingColumn(): Column<PendingWork> {
  const { encode, decode } = json<PendingWork>();
  return {
    type: 'text',
    encode(value) {
      const encoded = encode(value);
      return encoded === '{}' ? null : encoded;
    },
    decode: value => (value === null ? {} : decode(value)),
  };
}

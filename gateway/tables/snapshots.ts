import type { Encryption } from '../../src/api/filesystems.ts';
import type { ExistingFilesystem } from '../../src/api/filesystems/candidates.ts';
import type { Snapshot } from '../../src/api/snapshot.ts';
import type { KnownSnapshot } from '../backend.ts';
import type { Reader } from '../store.ts';
import { integer, json, optional, segments, storedColumns, table, text, type RecordOf } from './table.ts';

const columns = {
  ...storedColumns,
  pool: text(),
  volumeId: text(),
  groupId: optional(text()),
  /** Its position in the group. */
  member: integer(),
  state: text<Snapshot['state']>(),
  parameters: json<Readonly<Record<string, string>>>(),
  sizeBytes: integer(),
  /** The bytes that it takes of its pool. */
  reservedBytes: integer(),
  /** The time of the snapshot; until it is taken, the time of the request. */
  createdAtMs: integer(),
  encryption: optional(text<Encryption>()),
  /** The filesystem of its volume; undefined if unknown. */
  filesystem: optional(json<ExistingFilesystem>()),
  /** Its topology; undefined: volumes made from it can be reached from everywhere. */
  segments: optional(segments()),
};

export type SnapshotRecord = RecordOf<typeof columns>;

export const addEncryption: readonly string[] = ['alter table snapshots add column encryption text'];

/** The statement that adds the filesystem to the snapshots of an older store. */
export const addFilesystem: readonly string[] = ['alter table snapshots add column filesystem text'];

/**
 * The condition for unfinished work on a snapshot outside groups. Queries must use exactly this text to use
 * the index.
 */
export const unfinishedSnapshots = `state <> 'ready' and group_id is null`;

/** Indexes that contain only the rows that their queries return, so that no query skips rows. */
const narrow: readonly string[] = [
  `snapshots_by_cluster on snapshots (cluster, id) where state in ('processing', 'ready')`,
  `snapshots_unready on snapshots (volume_id) where state in ('creating', 'processing')`,
  `snapshots_unfinished on snapshots (id) where ${unfinishedSnapshots}`,
];

/** The statements that give the table of an older store its narrow indexes. */
export const narrowSnapshots: readonly string[] = [
  ...['by_cluster', 'unfinished'].map(name => `drop index if exists snapshots_${name}`),
  ...narrow.map(index => `create index ${index}`),
];

/** All snapshots, members of groups included. */
export const snapshotTable = table('snapshots', {
  key: ['id'],
  columns,
  indexes: [
    ...narrow,
    'snapshots_by_volume on snapshots (volume_id, id)',
    'snapshots_by_group on snapshots (group_id, member) where group_id is not null',
  ],
});

/** Finds the members of a group, in its order. */
export function findMembers(sql: Reader, groupId: string): Promise<readonly SnapshotRecord[]> {
  return snapshotTable.select(sql, { groupId }, 'order by member');
}

/** Describes a snapshot to backends. */
export function toKnownSnapshot(record: SnapshotRecord): KnownSnapshot {
  const { volumeId, sizeBytes, segments: topology } = record;
  return { ...toSnapshotRef(record), volumeId, sizeBytes, ...(topology && { segments: topology }) };
}

/** Returns the snapshot's id, nonce and place in its group, so that backends find it. */
export function toSnapshotRef({ id, nonce, groupId, member }: SnapshotRecord) {
  return { id, nonce, ...(groupId !== undefined && { group: { id: groupId, member } }) };
}

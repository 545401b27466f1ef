import type { Encryption } from '../../src/api/filesystems.ts';
import type { Snapshot } from '../../src/api/snapshot.ts';
import type { Reader } from '../store.ts';
import { integer, json, optional, segments, table, text, type RecordOf } from './table.ts';

const columns = {
  id: text(),
  /** No other record has it, of the same id neither; what is made for this one carries it. Empty: older than nonces. */
  nonce: text(),
  cluster: text(),
  name: text(),
  /** The pool of its volume. */
  pool: text(),
  volumeId: text(),
  groupId: optional(text()),
  /** Its number in the group. */
  member: integer(),
  state: text<Snapshot['state']>(),
  parameters: json<Readonly<Record<string, string>>>(),
  sizeBytes: integer(),
  /** What it takes of its pool. */
  reservedBytes: integer(),
  /** When it was taken; before that, when it was asked for. */
  createdAtMs: integer(),
  /** How nodes encrypted its volume; undefined: not at all. */
  encryption: optional(text<Encryption>()),
  /** Where it is; undefined: volumes made from it are reached from everywhere. */
  segments: optional(segments()),
};

/** A snapshot as it is recorded. */
export type SnapshotRecord = RecordOf<typeof columns>;

/** What made snapshots of a release say how their volumes were encrypted. */
export const addEncryption: readonly string[] = ['alter table snapshots add column encryption text'];

/** All snapshots, members of groups included. */
export const snapshotTable = table('snapshots', {
  key: ['id'],
  columns,
  indexes: [
    'snapshots_by_cluster on snapshots (cluster, id)',
    'snapshots_by_volume on snapshots (volume_id, id)',
    'snapshots_by_group on snapshots (group_id, member) where group_id is not null',
    `snapshots_unfinished on snapshots (id) where state <> 'ready'`,
  ],
});

/** The members of a group, in its order. */
export function findMembers(sql: Reader, groupId: string): Promise<readonly SnapshotRecord[]> {
  return snapshotTable.select(sql, { groupId }, 'order by member');
}

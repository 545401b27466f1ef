import type { Snapshot } from '../../src/api/snapshot.ts';
import type { Segments } from '../../src/api/topology.ts';
import type { Reader, SqlValue } from '../store.ts';
import { segmentsColumn } from './segments.ts';
import { integer, json, optional, table, text } from './table.ts';

/** A snapshot as it is recorded. */
export type SnapshotRecord = {
  readonly id: string;
  readonly cluster: string;
  readonly name: string;
  /** The pool of its volume. */
  readonly pool: string;
  readonly volumeId: string;
  readonly groupId: string | undefined;
  /** Its number in the group. */
  readonly member: number;
  readonly state: Snapshot['state'];
  readonly parameters: Readonly<Record<string, string>>;
  readonly sizeBytes: number;
  /** What it takes of its pool. */
  readonly reservedBytes: number;
  /** When it was taken; before that, when it was asked for. */
  readonly createdAtMs: number;
  /** Where it is; undefined: volumes made from it are reached from everywhere. */
  readonly segments: Segments | undefined;
};

/** Which snapshots to list: those that are created, of one volume or of all, after an id. */
export type SnapshotFilter = {
  readonly cluster: string;
  readonly volumeId: string | undefined;
  readonly afterId: string;
  readonly limit: number;
};

/** All snapshots, members of groups included. */
export const snapshotTable = table<SnapshotRecord, 'id'>('snapshots', {
  key: ['id'],
  columns: {
    id: text('id'),
    cluster: text('cluster'),
    name: text('name'),
    pool: text('pool'),
    volumeId: text('volume_id'),
    groupId: optional(text('group_id')),
    member: integer('member'),
    state: text('state'),
    parameters: json('parameters'),
    sizeBytes: integer('size_bytes'),
    reservedBytes: integer('reserved_bytes'),
    createdAtMs: integer('created_at'),
    segments: optional(segmentsColumn('segments')),
  },
});

/** The members of a group, in its order. */
export function findMembers(sql: Reader, groupId: string): Promise<readonly SnapshotRecord[]> {
  return snapshotTable.select(sql, 'where group_id = ? order by member', groupId);
}

/** At most `limit` snapshots that are created, by id. */
export function listSnapshots(
  sql: Reader,
  { cluster, volumeId, afterId, limit }: SnapshotFilter,
): Promise<readonly SnapshotRecord[]> {
  const ofVolume = volumeId === undefined ? '' : 'volume_id = ? and';
  const values: readonly SqlValue[] = volumeId === undefined ? [cluster] : [volumeId, cluster];
  return snapshotTable.select(
    sql,
    `where ${ofVolume} cluster = ? and id > ? and state in ('processing', 'ready') order by id limit ?`,
    ...values,
    afterId,
    limit,
  );
}

/** A snapshot of the volume that is not ready yet and still needs it, or undefined when there is none. */
export async function findUnreadySnapshot(sql: Reader, volumeId: string): Promise<string | undefined> {
  const [row] = await sql.all(
    `select id from snapshots where volume_id = ? and state in ('creating', 'processing') limit 1`,
    volumeId,
  );
  return row && String(row.id);
}

import type { Snapshot } from '../../src/api/snapshot.ts';
import type { Segments } from '../../src/api/topology.ts';
import type { Reader, Sql, SqlRow } from '../store.ts';
import { isUnclaimed, toClaim, type Claimed } from './claims.ts';

/** A snapshot as it is recorded. */
export type SnapshotRecord = Claimed & {
  readonly kind: 'snapshot';
  readonly cluster: string;
  readonly name: string;
  readonly volumeId: string;
  readonly groupId: string | undefined;
  /** Its place in the group. */
  readonly member: number;
  readonly state: Snapshot['state'];
  readonly parameters: Readonly<Record<string, string>>;
  readonly sizeBytes: number;
  /** When it was cut; before that, when it was asked for. */
  readonly createdAtMs: number;
  /** Where it is; undefined: volumes made from it are reached from everywhere. */
  readonly place: Segments | undefined;
};

/** Which snapshots to list: those that are cut, of one volume or of all, after an id. */
export type SnapshotFilter = {
  readonly cluster: string;
  readonly volumeId: string | undefined;
  readonly afterId: string;
  readonly limit: number;
};

/** Records a new snapshot without a claim. False when the id is taken; nothing is changed then. */
export async function insertSnapshot(sql: Sql, snapshot: SnapshotRecord): Promise<boolean> {
  const changed = await sql.run(
    `insert into snapshots (id, cluster, name, volume_id, group_id, member, state, parameters, size_bytes, created_at,
      place)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`,
    snapshot.id,
    snapshot.cluster,
    snapshot.name,
    snapshot.volumeId,
    snapshot.groupId ?? null,
    snapshot.member,
    snapshot.state,
    JSON.stringify(snapshot.parameters),
    snapshot.sizeBytes,
    snapshot.createdAtMs,
    snapshot.place ? JSON.stringify(snapshot.place) : null,
  );
  return changed === 1;
}

/** The snapshot, or undefined when it is not recorded. */
export async function findSnapshot(sql: Reader, id: string): Promise<SnapshotRecord | undefined> {
  const [row] = await sql.all('select * from snapshots where id = ?', id);
  return row && toSnapshot(row);
}

/** The members of a group, in its order. */
export async function findMembers(sql: Reader, groupId: string): Promise<readonly SnapshotRecord[]> {
  const rows = await sql.all('select * from snapshots where group_id = ? order by member', groupId);
  return rows.map(toSnapshot);
}

/** At most `limit` snapshots that are cut, by id. */
export async function listSnapshots(
  sql: Reader,
  { cluster, volumeId, afterId, limit }: SnapshotFilter,
): Promise<readonly SnapshotRecord[]> {
  const cut = `state in ('processing', 'ready')`;
  const rows =
    volumeId === undefined
      ? await sql.all(
          `select * from snapshots where cluster = ? and id > ? and ${cut} order by id limit ?`,
          cluster,
          afterId,
          limit,
        )
      : await sql.all(
          `select * from snapshots where volume_id = ? and cluster = ? and id > ? and ${cut} order by id limit ?`,
          volumeId,
          cluster,
          afterId,
          limit,
        );
  return rows.map(toSnapshot);
}

/** A snapshot of the volume that is not ready yet and still needs it, or undefined when there is none. */
export async function findUnreadySnapshot(sql: Reader, volumeId: string): Promise<string | undefined> {
  const [row] = await sql.all(
    `select id from snapshots where volume_id = ? and state in ('cutting', 'processing') limit 1`,
    volumeId,
  );
  return row && String(row.id);
}

/** At most `limit` snapshots of no group after `afterId` that are unfinished and claimed by nobody now. */
export async function listUnfinishedSnapshots(
  sql: Reader,
  { afterId, limit, nowMs }: { afterId: string; limit: number; nowMs: number },
): Promise<readonly SnapshotRecord[]> {
  const rows = await sql.all(
    `select * from snapshots where state <> 'ready' and group_id is null and id > ?
     and ${isUnclaimed} order by id limit ?`,
    afterId,
    nowMs,
    limit,
  );
  return rows.map(toSnapshot);
}

/** Records how far the snapshot has come. */
export async function putSnapshotState(
  sql: Sql,
  { id, state, sizeBytes, createdAtMs }: Pick<SnapshotRecord, 'id' | 'state' | 'sizeBytes' | 'createdAtMs'>,
): Promise<void> {
  await sql.run(
    'update snapshots set state = ?, size_bytes = ?, created_at = ? where id = ?',
    state,
    sizeBytes,
    createdAtMs,
    id,
  );
}

/** Forgets the snapshot. */
export async function removeSnapshot(sql: Sql, id: string): Promise<void> {
  await sql.run('delete from snapshots where id = ?', id);
}

function toSnapshot(row: SqlRow): SnapshotRecord {
  return {
    kind: 'snapshot',
    id: String(row.id),
    cluster: String(row.cluster),
    name: String(row.name),
    volumeId: String(row.volume_id),
    groupId: row.group_id === null ? undefined : String(row.group_id),
    member: Number(row.member),
    state: row.state as SnapshotRecord['state'],
    parameters: JSON.parse(String(row.parameters)) as Record<string, string>,
    sizeBytes: Number(row.size_bytes),
    createdAtMs: Number(row.created_at),
    place: row.place === null ? undefined : (JSON.parse(String(row.place)) as Segments),
    claim: toClaim(row),
  };
}

import type { Group } from '../../src/api/snapshot.ts';
import type { Reader, Sql, SqlRow } from '../store.ts';
import { isUnclaimed, toClaim, type Claimed } from './claims.ts';

/** A group of snapshots as it is recorded; its members are snapshots. */
export type GroupRecord = Claimed & {
  readonly kind: 'group';
  readonly cluster: string;
  readonly name: string;
  readonly state: Group['state'];
  readonly parameters: Readonly<Record<string, string>>;
  /** When it was cut; before that, when it was asked for. */
  readonly createdAtMs: number;
};

/** Records a new group without a claim. False when the id is taken; nothing is changed then. */
export async function insertGroup(sql: Sql, group: GroupRecord): Promise<boolean> {
  const changed = await sql.run(
    `insert into snapshot_groups (id, cluster, name, state, parameters, created_at)
     values (?, ?, ?, ?, ?, ?) on conflict (id) do nothing`,
    group.id,
    group.cluster,
    group.name,
    group.state,
    JSON.stringify(group.parameters),
    group.createdAtMs,
  );
  return changed === 1;
}

/** The group, or undefined when it is not recorded. */
export async function findGroup(sql: Reader, id: string): Promise<GroupRecord | undefined> {
  const [row] = await sql.all('select * from snapshot_groups where id = ?', id);
  return row && toGroup(row);
}

/** At most `limit` groups after `afterId` that are unfinished and claimed by nobody now. */
export async function listUnfinishedGroups(
  sql: Reader,
  { afterId, limit, nowMs }: { afterId: string; limit: number; nowMs: number },
): Promise<readonly GroupRecord[]> {
  const rows = await sql.all(
    `select * from snapshot_groups where state <> 'ready' and id > ?
     and ${isUnclaimed} order by id limit ?`,
    afterId,
    nowMs,
    limit,
  );
  return rows.map(toGroup);
}

/** Records how far the group has come. */
export async function putGroupState(
  sql: Sql,
  { id, state, createdAtMs }: Pick<GroupRecord, 'id' | 'state' | 'createdAtMs'>,
): Promise<void> {
  await sql.run('update snapshot_groups set state = ?, created_at = ? where id = ?', state, createdAtMs, id);
}

/** Forgets the group and all its members. */
export async function removeGroup(sql: Sql, id: string): Promise<void> {
  await sql.run('delete from snapshots where group_id = ?', id);
  await sql.run('delete from snapshot_groups where id = ?', id);
}

function toGroup(row: SqlRow): GroupRecord {
  return {
    kind: 'group',
    id: String(row.id),
    cluster: String(row.cluster),
    name: String(row.name),
    state: row.state as GroupRecord['state'],
    parameters: JSON.parse(String(row.parameters)) as Record<string, string>,
    createdAtMs: Number(row.created_at),
    claim: toClaim(row),
  };
}

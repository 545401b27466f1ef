import type { Reader, Sql } from '../store.ts';
import { addingCounts, countTable } from './counts.ts';
import { boolean, table, text, type RecordOf } from './table.ts';

const columns = {
  cluster: text(),
  volumeId: text(),
  access: text<'read-only' | 'read-write'>(),
  /** The grant is being revoked: no further attachment may use it. */
  revoking: boolean(),
  /** An operator made the grant, so it is valid without the grantee's consent. */
  byOperator: boolean(),
};

/** A volume that its owner shares with another cluster. */
export type GrantRecord = RecordOf<typeof columns>;

const indexes: readonly string[] = [
  'grants_by_volume on grants (volume_id, cluster)',
  'grants_revoking on grants (cluster, volume_id) where revoking = 1',
  'grants_of_operators on grants (cluster, volume_id) where by_operator = 1',
];

/** The statements that gave an older store the table, as it was then. */
export const addGrants: readonly string[] = [
  `create table grants (cluster text not null, volume_id text not null, access text not null, revoking integer not null,
    primary key (cluster, volume_id))`,
  'create index grants_by_volume on grants (volume_id)',
];

/** The statements that mark the grants of an older store as made by an operator, so that they stay valid. */
export const addConsent: readonly string[] = [
  'alter table grants add column by_operator integer not null default 1',
];

/** The statements that give the table of an older store its indexes. */
export const indexGrants: readonly string[] = [
  'drop index grants_by_volume',
  ...indexes.map(index => `create index ${index}`),
];

/** All grants. The column `shared` of a volume says whether it has any. */
export const grantTable = table('grants', {
  key: ['cluster', 'volumeId'],
  columns,
  indexes,
});

export function findGrants(sql: Reader, volumeId: string): Promise<readonly GrantRecord[]> {
  return grantTable.select(sql, { volumeId }, 'order by cluster');
}

/** Returns at most `limit` grants of these volumes after `last`, by volume and cluster. */
export function listGrantsOf(
  sql: Reader,
  volumeIds: readonly string[],
  { last, limit }: { readonly last: GrantRecord | undefined; readonly limit: number },
): Promise<readonly GrantRecord[]> {
  const { volumeId = '', cluster = '' } = last ?? {};
  const ids = volumeIds.filter(id => id >= volumeId);
  const these = `and volume_id in (${ids.map(() => '?').join(', ')})`;
  const after = 'and (volume_id <> ? or cluster > ?) order by volume_id, cluster limit ?';
  return grantTable.select(sql, {}, `${these} ${after}`, ...ids, volumeId, cluster, limit);
}

export function findSomeGrants(
  sql: Reader,
  volumeId: string,
  limit: number,
): Promise<readonly GrantRecord[]> {
  return grantTable.select(sql, { volumeId }, 'order by cluster limit ?', limit);
}

export async function addGrant(sql: Sql, grant: GrantRecord, pool: string): Promise<void> {
  await grantTable.replace(sql, grant);
  const count = { cluster: grant.cluster, kind: 'grants', pool, part: 0, number: 1 } as const;
  await sql.write(...countTable.inserting(count, addingCounts));
}

/** Removes the grant. If the volume is not shared with the cluster, nothing happens. */
export async function removeGrant(
  sql: Sql,
  { volumeId, cluster }: Pick<GrantRecord, 'volumeId' | 'cluster'>,
): Promise<void> {
  await countFewer(sql, 'grants.volume_id = ? and grants.cluster = ?', volumeId, cluster);
  await grantTable.remove(sql, { volumeId, cluster });
}

export async function removeGrants(sql: Sql, { id }: { readonly id: string }): Promise<void> {
  await countFewer(sql, 'grants.volume_id = ?', id);
  await sql.write('delete from grants where volume_id = ?', id);
}

/** Subtracts the grants from the counts. Their volumes must still be recorded. */
async function countFewer(sql: Sql, condition: string, ...values: readonly string[]): Promise<void> {
  await sql.write(
    `insert into counts (cluster, kind, pool, part, number)
     select grants.cluster, 'grants', volumes.pool, 0, -1 from grants
       join volumes on volumes.id = grants.volume_id where ${condition} ${addingCounts}`,
    ...values,
  );
}

/**
 * Returns at most `limit` grants after this one that are being revoked, of volumes that no gateway works on
 * at `nowMs`.
 */
export function listRevoking(
  sql: Reader,
  after: Pick<GrantRecord, 'cluster' | 'volumeId'>,
  { nowMs, limit }: { readonly nowMs: number; readonly limit: number },
): Promise<readonly GrantRecord[]> {
  const claim = `select 1 from claims where kind = 'volume' and claims.id = grants.volume_id and until_ms > ?`;
  return grantTable.select(
    sql,
    {},
    `and revoking = 1 and (cluster, volume_id) > (?, ?) and not exists (${claim}) order by cluster, volume_id limit ?`,
    after.cluster,
    after.volumeId,
    nowMs,
    limit,
  );
}

/** A piece of the list of volumes that the cluster was granted and has accepted, by id. */
export type AcceptedGrants = {
  readonly cluster: string;
  readonly sharesFrom: readonly string[];
  readonly afterId: string;
  readonly limit: number;
};

/** Returns at most `limit` accepted grants of the cluster, by volume id after `afterId`. It reads no other grants. */
export async function listGrants(
  sql: Reader,
  { cluster, sharesFrom, afterId, limit }: AcceptedGrants,
): Promise<readonly GrantRecord[]> {
  const granted = 'and by_operator = 1 and volume_id > ? order by volume_id limit ?';
  const ofOwner = 'and volume_id > ? and volume_id < ? order by volume_id limit ?';
  const found: GrantRecord[] = [];
  // Ids of a cluster start with its name and a dot. The slash is the next character after the dot.
  for (const first of [...new Set(sharesFrom)].map(owner => `${owner}.`).toSorted(compare)) {
    const [after, end] = [afterId > first ? afterId : first, `${first.slice(0, -1)}/`];
    if (after < end && found.length < limit)
      found.push(...(await grantTable.select(sql, { cluster }, ofOwner, after, end, limit - found.length)));
  }
  const known = new Set(found.map(({ volumeId }) => volumeId));
  const byOperator = await grantTable.select(sql, { cluster }, granted, afterId, limit);
  found.push(...byOperator.filter(({ volumeId }) => !known.has(volumeId)));
  return found.toSorted((one, other) => compare(one.volumeId, other.volumeId)).slice(0, limit);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : 1;
}

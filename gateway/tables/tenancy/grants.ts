import type { Reader, Sql } from '../../store.ts';
import { boolean, table, text, type RecordOf } from '../table.ts';

const columns = {
  /** The cluster that may use the volume. */
  cluster: text(),
  volumeId: text(),
  access: text<'read-only' | 'read-write'>(),
  /** It is being taken back: nothing new is attached by it. */
  revoking: boolean(),
};

/** A volume that its owner shares with another cluster. */
export type GrantRecord = RecordOf<typeof columns>;

/** All grants. Of a volume that has some, the record says so: see `shared`. */
export const grantTable = table('grants', {
  key: ['cluster', 'volumeId'],
  columns,
  indexes: ['grants_by_volume on grants (volume_id)'],
});

/** With whom the volume is shared, by cluster. */
export function findGrants(sql: Reader, volumeId: string): Promise<readonly GrantRecord[]> {
  return grantTable.select(sql, { volumeId }, 'order by cluster');
}

/** Nothing of the volume is shared from now on. */
export async function removeGrants(sql: Sql, volumeId: string): Promise<void> {
  await sql.write('delete from grants where volume_id = ?', volumeId);
}

/** Grants that are being taken back, of volumes on which nobody works at `nowMs`. */
export function listRevoking(sql: Reader, nowMs: number): Promise<readonly GrantRecord[]> {
  const unclaimed = `and volume_id not in (select id from claims where kind = 'volume' and until_ms > ?)`;
  return grantTable.select(sql, { revoking: true }, unclaimed, nowMs);
}

/** At most `limit` of what the cluster was granted whose ids come after `afterId`, by id. */
export function listGrants(
  sql: Reader,
  { cluster, afterId, limit }: { readonly cluster: string; readonly afterId: string; readonly limit: number },
): Promise<readonly GrantRecord[]> {
  return grantTable.select(sql, { cluster }, 'and volume_id > ? order by volume_id limit ?', afterId, limit);
}

import type { Reader, Sql } from '../store.ts';
import type { Resource } from './claims.ts';
import { boolean, table, text, type RecordOf } from './table.ts';

const columns = {
  cluster: text(),
  kind: text<Resource['kind']>(),
  id: text(),
  /** An operator made the grant, so it is valid without the grantee's consent. */
  byOperator: boolean(),
};

/** A volume or snapshot from which another cluster may create volumes. A group has none: its members have. */
export type CopyGrantRecord = RecordOf<typeof columns>;

export const copyGrantTable = table('copy_grants', {
  key: ['cluster', 'kind', 'id'],
  columns,
  indexes: ['copy_grants_by_source on copy_grants (kind, id, cluster)'],
});

/** Returns the grants of these volumes or snapshots, by id and cluster. */
export function listCopyGrants(
  sql: Reader,
  kind: Resource['kind'],
  ids: readonly string[],
): Promise<readonly CopyGrantRecord[]> {
  const these = `and id in (${ids.map(() => '?').join(', ')}) order by id, cluster`;
  return copyGrantTable.select(sql, { kind }, these, ...ids);
}

/** Removes all grants of the source, which must not apply to the next one with this id. */
export function removeCopyGrants(sql: Sql, { kind, id }: Resource): Promise<void> {
  return sql.write('delete from copy_grants where kind = ? and id = ?', kind, id);
}

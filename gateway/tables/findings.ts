import type { Finding } from '../../src/api/admin.ts';
import type { Sql } from '../store.ts';
import { integer, table, text, type RecordOf } from './table.ts';

const columns = {
  pool: text(),
  kind: text<Finding['kind']>(),
  id: text(),
  problem: text<Finding['problem']>(),
  firstSeenMs: integer(),
};

/** What an audit found wrong with one resource, as far as findings differ by it. */
export type FindingKey = Omit<RecordOf<typeof columns>, 'firstSeenMs'>;

/** What the last audit found. */
export const findingTable = table('findings', { key: ['pool', 'kind', 'id', 'problem'], columns });

/** Records what is found now, removes what is not found any more, and returns when each was first found. */
export async function recordFindings<T extends FindingKey>(
  sql: Sql,
  found: readonly T[],
  nowMs: number,
): Promise<readonly (T & { readonly firstSeenMs: number })[]> {
  const known = new Map((await findingTable.select(sql, {})).map(record => [keyOf(record), record]));
  const current = new Set(found.map(keyOf));
  for (const [key, record] of known) if (!current.has(key)) await findingTable.remove(sql, record);
  const dated = found.map(one => ({ ...one, firstSeenMs: known.get(keyOf(one))?.firstSeenMs ?? nowMs }));
  for (const one of dated) await findingTable.insert(sql, one);
  return dated;
}

function keyOf({ pool, kind, id, problem }: FindingKey): string {
  return `${pool} ${kind} ${id} ${problem}`;
}

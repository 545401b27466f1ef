import type { Sql } from '../store.ts';
import { integer, table, text } from './table.ts';

/** What an audit found wrong with one resource, as far as it tells one finding from another. */
export type FindingKey = {
  readonly pool: string;
  readonly kind: 'volume' | 'snapshot';
  readonly id: string;
  readonly problem: string;
};

type FindingRecord = FindingKey & { readonly firstSeenMs: number };

const findings = table<FindingRecord, keyof FindingKey>('findings', {
  key: ['pool', 'kind', 'id', 'problem'],
  columns: {
    pool: text('pool'),
    kind: text('kind'),
    id: text('id'),
    problem: text('problem'),
    firstSeenMs: integer('first_seen'),
  },
});

/** Records what is found now, removes what is not found any more, and returns when each was first found. */
export async function recordFindings<T extends FindingKey>(
  sql: Sql,
  found: readonly T[],
  nowMs: number,
): Promise<readonly (T & { readonly firstSeenMs: number })[]> {
  const known = new Map((await findings.select(sql, '')).map(record => [keyOf(record), record]));
  const current = new Set(found.map(keyOf));
  for (const [key, record] of known) if (!current.has(key)) await findings.remove(sql, record);
  const dated = found.map(one => ({ ...one, firstSeenMs: known.get(keyOf(one))?.firstSeenMs ?? nowMs }));
  for (const one of dated) if (!known.has(keyOf(one))) await findings.insert(sql, one);
  return dated;
}

function keyOf({ pool, kind, id, problem }: FindingKey): string {
  return `${pool} ${kind} ${id} ${problem}`;
}

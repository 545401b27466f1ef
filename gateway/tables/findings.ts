import type { Sql } from '../store.ts';

/** What an audit found wrong with one resource, as far as it tells one finding from another. */
export type FindingKey = {
  readonly kind: 'volume' | 'snapshot';
  readonly id: string;
  readonly problem: string;
};

/** Notes what is found now, forgets what is not found any more, and tells when each was first found. */
export async function noteFindings<T extends FindingKey>(
  sql: Sql,
  found: readonly T[],
  nowMs: number,
): Promise<readonly (T & { readonly firstSeenMs: number })[]> {
  const rows = await sql.all('select * from findings');
  const known = new Map(
    rows.map(row => [
      keyOf({ kind: row.kind as FindingKey['kind'], id: String(row.id), problem: String(row.problem) }),
      row,
    ]),
  );
  const current = new Set(found.map(keyOf));
  for (const [key, { kind, id, problem }] of known)
    if (!current.has(key))
      await sql.run(
        'delete from findings where kind = ? and id = ? and problem = ?',
        kind ?? '',
        id ?? '',
        problem ?? '',
      );
  for (const finding of found)
    if (!known.has(keyOf(finding)))
      await sql.run(
        'insert into findings (kind, id, problem, first_seen) values (?, ?, ?, ?)',
        finding.kind,
        finding.id,
        finding.problem,
        nowMs,
      );
  return found.map(finding => ({
    ...finding,
    firstSeenMs: Number(known.get(keyOf(finding))?.first_seen ?? nowMs),
  }));
}

function keyOf({ kind, id, problem }: FindingKey): string {
  return `${kind} ${id} ${problem}`;
}

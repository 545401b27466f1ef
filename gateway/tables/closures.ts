import { preconditionProblem } from '../../src/api/problem.ts';
import type { Reader, Sql } from '../store.ts';
import { shareOf } from './shares.ts';
import { integer, table, text } from './table.ts';

/** A drained pool, a retired cluster, or a retired cluster whose retirement has steps left. */
type ClosedKind = 'pool' | 'cluster' | 'retirement';

/**
 * Pools that take no new volumes, and clusters whose tokens are refused, each because an operator said so, and the
 * retirements that are not finished.
 */
export const closureTable = table('closures', {
  key: ['kind', 'name'],
  columns: { kind: text<ClosedKind>(), name: text(), sinceMs: integer() },
});

export async function listRetired(sql: Reader): Promise<ReadonlyMap<string, number>> {
  const all = await closureTable.select(sql, { kind: 'cluster' }, 'order by name');
  return new Map(all.map(({ name, sinceMs }) => [name, sinceMs]));
}

/** Returns the names of the clusters whose retirement has steps left. */
export async function listUnfinishedRetirements(sql: Reader): Promise<ReadonlySet<string>> {
  return new Set((await closureTable.select(sql, { kind: 'retirement' })).map(({ name }) => name));
}

/** Returns the time since when the pool or cluster is closed, in milliseconds since the epoch; undefined if it is open. */
export async function findClosure(sql: Reader, kind: ClosedKind, name: string): Promise<number | undefined> {
  return (await closureTable.find(sql, { kind, name }))?.sinceMs;
}

/**
 * Throws FAILED_PRECONDITION, which names the remedies, while an operator drains the pool. Call it in the transaction
 * that records the pool's new volume: a drain that begins later finds the record. `key` chooses the share of the pool.
 */
export async function requireUndrained(sql: Sql, pool: string, key: string): Promise<void> {
  await sql.share('pool', pool, shareOf(key));
  if ((await findClosure(sql, 'pool', pool)) === undefined) return;
  throw preconditionProblem(
    `pool "${pool}" takes no new volumes, because an operator drains it; use another pool, or let the operator end this: fairlead admin drain ${pool} --end`,
  );
}

/**
 * Throws FAILED_PRECONDITION while the cluster is retired. Call it in the transaction that records the cluster's new
 * resource: a retirement that begins later finds the record. `key` chooses the share of the cluster.
 */
export async function requireInService(sql: Sql, cluster: string, key: string): Promise<void> {
  await sql.share('cluster', cluster, shareOf(key));
  if ((await findClosure(sql, 'cluster', cluster)) === undefined) return;
  throw preconditionProblem(
    `cluster "${cluster}" is retired, so it gets no volumes, snapshots or attachments; an operator can end this: fairlead admin retire-cluster ${cluster} --end`,
  );
}

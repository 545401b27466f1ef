import { preconditionProblem } from '../../src/api/problem.ts';
import type { Reader, Sql } from '../store.ts';
import { partOf } from './counts.ts';
import { integer, table, text } from './table.ts';

/** The kinds of things that operators close. */
type ClosedKind = 'pool' | 'cluster';

/** Pools that take no new volumes, and clusters whose tokens are refused, each because an operator said so. */
export const closureTable = table('closures', {
  key: ['kind', 'name'],
  columns: { kind: text<ClosedKind>(), name: text(), sinceMs: integer() },
});

/** Returns all retired clusters, with the time since when each is retired. */
export async function listRetired(sql: Reader): Promise<ReadonlyMap<string, number>> {
  const all = await closureTable.select(sql, { kind: 'cluster' }, 'order by name');
  return new Map(all.map(({ name, sinceMs }) => [name, sinceMs]));
}

/** Returns the time since when the pool or cluster is closed, in milliseconds since the epoch; undefined if it is open. */
export async function findClosure(sql: Reader, kind: ClosedKind, name: string): Promise<number | undefined> {
  return (await closureTable.find(sql, { kind, name }))?.sinceMs;
}

/** Throws FAILED_PRECONDITION, which names the remedies, while an operator drains the pool. */
export async function requireUndrained(sql: Reader, pool: string): Promise<void> {
  if ((await findClosure(sql, 'pool', pool)) === undefined) return;
  throw preconditionProblem(
    `pool "${pool}" takes no new volumes, because an operator drains it; use another pool, or let the operator end this: fairlead admin drain ${pool} --end`,
  );
}

/** The number of locks of one cluster, so that two requests of a cluster seldom wait for each other. */
const lockParts = 16;

/**
 * Throws FAILED_PRECONDITION while the cluster is retired. Call it in the transaction that records the cluster's new
 * resource: a retirement that begins later finds the record. `id` chooses the lock, so it may be any id of the request.
 */
export async function requireInService(sql: Sql, cluster: string, id: string): Promise<void> {
  await sql.lock('cluster', lockName(cluster, partOf(id, lockParts)));
  if ((await findClosure(sql, 'cluster', cluster)) === undefined) return;
  throw preconditionProblem(
    `cluster "${cluster}" is retired, so it gets no volumes, snapshots or attachments; an operator can end this: fairlead admin retire-cluster ${cluster} --end`,
  );
}

/** Keeps all transactions that call `requireInService` for the cluster from deciding until this transaction ends. */
export async function lockCluster(sql: Sql, cluster: string): Promise<void> {
  // Without a statement between them, the store takes these locks in its own order, so that no two wait for each other.
  await Promise.all(
    Array.from({ length: lockParts }, (_, part) => sql.lock('cluster', lockName(cluster, part))),
  );
}

function lockName(cluster: string, part: number): string {
  return `${cluster} ${part}`;
}

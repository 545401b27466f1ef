import type { Reader } from '../store.ts';
import { integer, table, text } from './table.ts';

/** The kinds of things that operators close. */
export type ClosedKind = 'pool' | 'cluster';

/** Pools that take no new volumes, and clusters whose tokens are refused, each because an operator said so. */
export const closureTable = table('closures', {
  key: ['kind', 'name'],
  columns: { kind: text<ClosedKind>(), name: text(), sinceMs: integer() },
});

/** Returns all closed pools or clusters, with the time since when each is closed. */
export async function listClosures(sql: Reader, kind: ClosedKind): Promise<ReadonlyMap<string, number>> {
  const all = await closureTable.select(sql, { kind }, 'order by name');
  return new Map(all.map(({ name, sinceMs }) => [name, sinceMs]));
}

/** Returns the time since when the pool or cluster is closed, in milliseconds since the epoch; undefined if it is open. */
export async function findClosure(sql: Reader, kind: ClosedKind, name: string): Promise<number | undefined> {
  return (await closureTable.find(sql, { kind, name }))?.sinceMs;
}

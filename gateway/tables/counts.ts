import type { Reader, Sql } from '../store.ts';
import { integer, table, text } from './table.ts';

/** The kinds of things counted for a cluster. `grants` are volumes of other clusters that are shared with it. */
type CountedKind = 'nodes' | 'attachments' | 'grants';

/** Numbers of things by cluster, and of grants also by the volume's pool. A number is the sum of its parts. */
export const countTable = table('counts', {
  key: ['cluster', 'kind', 'pool', 'part'],
  columns: {
    cluster: text(),
    kind: text<CountedKind>(),
    pool: text(),
    part: integer(),
    number: integer(),
  },
});

/** The number of rows that share a count, so that two nodes of a cluster seldom wait for each other. */
const partCount = 16;

/** Adds the new row's number to the existing row's. */
export const addingCounts =
  'on conflict (cluster, kind, pool, part) do update set number = counts.number + excluded.number';

/**
 * Counts one node, or one attachment at a node, more or less. Call it in the transaction that adds or removes
 * the record.
 */
export async function countAtNode(
  sql: Sql,
  kind: 'nodes' | 'attachments',
  { cluster, nodeId, change }: { readonly cluster: string; readonly nodeId: string; readonly change: 1 | -1 },
): Promise<void> {
  const count = { cluster, kind, pool: '', part: partOf(nodeId, partCount), number: change };
  await sql.write(...countTable.inserting(count, addingCounts));
}

export async function readCount(sql: Reader, cluster: string, kind: CountedKind): Promise<number> {
  const summing = 'select sum(number) as number from counts where cluster = ? and kind = ?';
  const [row] = await sql.all(summing, cluster, kind);
  return Number(row?.number ?? 0);
}

export async function listClustersCounted(
  sql: Reader,
  [after, count]: readonly [after: string, count: number],
): Promise<readonly string[]> {
  const parts = [
    'select cluster from counts where cluster > ? group by cluster having sum(number) > 0',
    'select cluster from reservations where cluster > ? group by cluster having sum(volumes + snapshots) > 0',
  ].map(part => `select cluster from (${part} order by cluster limit ?) as part`);
  const rows = await sql.all(
    `${parts.join(' union ')} order by cluster limit ?`,
    ...parts.flatMap(() => [after, count]),
    count,
  );
  return rows.map(({ cluster }) => String(cluster));
}

export async function listPoolsGranted(sql: Reader, cluster: string): Promise<readonly string[]> {
  const granted = `select pool from counts where cluster = ? and kind = 'grants' and number > 0 order by pool`;
  return (await sql.all(granted, cluster)).map(({ pool }) => String(pool));
}

/**
 * Corrects the counts from the records in one statement, which sees both at the same moment. Two recounts
 * must not run at the same time.
 */
export async function recount(sql: Sql): Promise<void> {
  await sql.run(
    `insert into counts (cluster, kind, pool, part, number)
     select cluster, kind, pool, 0, sum(number) from (
       select cluster, 'nodes' as kind, '' as pool, count(*) as number from nodes group by cluster
       union all select cluster, 'attachments', '', count(*) from attachments group by cluster
       union all select grants.cluster, 'grants', volumes.pool, count(*) from grants
         join volumes on volumes.id = grants.volume_id group by grants.cluster, volumes.pool
       union all select cluster, kind, pool, -number from counts
     ) as differences group by cluster, kind, pool having sum(number) <> 0 ${addingCounts}`,
  );
}

/** Assigns the text to one of `count` parts: the same part for the same text in all gateways. */
export function partOf(name: string, count: number): number {
  return Array.from(name).reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0) % count;
}

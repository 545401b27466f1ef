import type { Reader } from '../store.ts';
import type { Usage } from './reservations.ts';

/** What a cluster has in a pool; of what is in no pool, such as its nodes, the pool's name is empty. */
export type Use = Usage & {
  readonly cluster: string;
  readonly pool: string;
  readonly nodes: number;
  readonly attachments: number;
};

/** How each is counted. */
const counting = [
  `select cluster, pool, sum(bytes) as bytes, sum(volumes) as volumes, sum(snapshots) as snapshots
   from reservations group by cluster, pool`,
  `select cluster, '' as pool, count(*) as nodes from nodes group by cluster`,
  `select cluster, '' as pool, count(*) as attachments from attachments group by cluster`,
];

const none = { bytes: 0, volumes: 0, snapshots: 0, nodes: 0, attachments: 0 };

/** What all clusters have, of each what it has in each pool. */
export async function readUse(sql: Reader): Promise<readonly Use[]> {
  const all = new Map<string, Use>();
  for (const query of counting)
    for (const { cluster = '', pool = '', ...counts } of await sql.all(query)) {
      const key = { cluster: String(cluster), pool: String(pool) };
      const numbers = Object.entries(counts).map(([what, count]) => [what, Number(count)] as const);
      const known = all.get(`${cluster}/${pool}`) ?? none;
      all.set(`${cluster}/${pool}`, { ...known, ...Object.fromEntries(numbers), ...key });
    }
  return [...all.values()];
}

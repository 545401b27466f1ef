import { Problem } from '../../src/api/problem.ts';
import type { Reader, Sql } from '../store.ts';
import { readUsage, type Usage } from '../tables/reservations.ts';
import type { Cluster, Limits } from './cluster.ts';

/** What a cluster is about to have more of, in one pool. */
export type Growth = Partial<Usage> & { readonly pool: string };

/** One limit, how much of it is used, and its path in the cluster's quota, such as `pools.fast.bytes`. */
export type QuotaUse = {
  readonly what: keyof Usage;
  readonly path: string;
  readonly limit: number;
  readonly used: number;
};

/**
 * RESOURCE_EXHAUSTED, naming the limit, when the cluster would have more than its quota. It belongs into the transaction
 * that reserves the growth: of two that ask for the last of it one gets it. What a cluster has already, it keeps.
 */
export async function requireQuota(sql: Sql, cluster: Cluster, growth: Growth): Promise<void> {
  if (!cluster.quota) return;
  await sql.lock('cluster', cluster.name);
  for (const { what, path, limit, used } of await readQuotas(sql, cluster, growth.pool)) {
    const more = growth[what] ?? 0;
    if (more <= 0 || used + more <= limit) continue;
    const ofQuota = `the quota "${path}" of cluster "${cluster.name}" is ${limit}`;
    throw new Problem('RESOURCE_EXHAUSTED', `${ofQuota}: ${used} are used, and ${more} more are asked for`);
  }
}

/** How many bytes the quota leaves for new volumes in the pool: none when no more of them may be there. */
export async function quotaLeft(sql: Reader, cluster: Cluster, pool: string): Promise<number> {
  let left = Infinity;
  for (const { what, limit, used } of await readQuotas(sql, cluster, pool)) {
    if (what === 'bytes') left = Math.min(left, Math.max(0, limit - used));
    else if (what === 'volumes' && used >= limit) left = 0;
  }
  return left;
}

/** The limits that hold in the pool, or without `pool` all of them, and how much of each is used. */
export async function readQuotas(
  sql: Reader,
  { name, quota }: Pick<Cluster, 'name' | 'quota'>,
  pool?: string,
): Promise<readonly QuotaUse[]> {
  if (!quota) return [];
  const { pools = {}, ...all } = quota;
  const usage = await readUsage(sql, name);
  const ofPools = Object.entries(pools).filter(([one]) => pool === undefined || one === pool);
  return [
    ...usesOf(all, usage, ''),
    ...ofPools.flatMap(([one, limits]) =>
      usesOf(
        limits,
        usage.filter(used => used.pool === one),
        `pools.${one}.`,
      ),
    ),
  ];
}

function usesOf(limits: Limits, usage: readonly Usage[], prefix: string): readonly QuotaUse[] {
  return (['bytes', 'volumes', 'snapshots'] as const).flatMap(what => {
    const limit = limits[what];
    const used = usage.reduce((sum, one) => sum + one[what], 0);
    return limit === undefined ? [] : [{ what, path: `${prefix}${what}`, limit, used }];
  });
}

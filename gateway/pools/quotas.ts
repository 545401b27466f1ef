import { limitProblem, limits } from '../../src/api/limits.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Reader, Sql } from '../store.ts';
import { type PoolUsage, readUsage, type Usage } from '../tables/reservations.ts';
import { needsLock, shareOf } from '../tables/shares.ts';
import type { Cluster, Limits } from '../callers/cluster.ts';

/** The usage that an operation adds in one pool. `nonce` is the volume's or snapshot's. */
type Growth = Partial<Usage> & { readonly pool: string; readonly nonce: string };

/** A limit with its usage and its path in the cluster's quota, such as `pools.fast.bytes`. */
type QuotaUse = {
  readonly kind: keyof Usage;
  readonly path: string;
  readonly limit: number;
  readonly used: number;
};

/**
 * Throws RESOURCE_EXHAUSTED, which names the limit, when the cluster would exceed its quota. Call it in the
 * transaction that reserves the growth, so that only one of two concurrent requests gets the last space. A
 * cluster keeps its present usage. Far from all limits, other requests of the cluster are compared at the same time.
 */
export async function requireQuota(sql: Sql, cluster: Cluster, growth: Growth): Promise<void> {
  if (!cluster.quota && !growth.volumes && !growth.snapshots) return;
  const usage = await readUsageFor(sql, cluster, growth);
  for (const { kind, path, limit, used } of usesIn(usage, cluster, growth.pool)) {
    const more = growth[kind] ?? 0;
    if (more <= 0 || used + more <= limit) continue;
    const ofQuota = `the quota "${path}" of cluster "${cluster.name}" is ${limit}`;
    throw new Problem('RESOURCE_EXHAUSTED', `${ofQuota}: ${used} are in use, and ${more} more are requested`);
  }
  for (const kind of ['volumes', 'snapshots'] as const) {
    const wanted = sumOf(usage, kind) + (growth[kind] ?? 0);
    if (!growth[kind] || cluster.quota?.[kind] !== undefined || wanted <= limitOf[kind].max) continue;
    throw limitProblem(limitOf[kind].name, `cluster "${cluster.name}"`, wanted);
  }
}

/**
 * Reads the cluster's usage. Until the transaction ends, other requests can only add so little that no limit of the
 * quota is exceeded together with the growth. Concurrent requests may exceed the limits of all clusters by their number,
 * because a share would cost more than that.
 */
async function readUsageFor(sql: Sql, cluster: Cluster, growth: Growth): Promise<readonly PoolUsage[]> {
  const isNear = (usage: readonly PoolUsage[]): boolean =>
    usesIn(usage, cluster, growth.pool).some(({ kind, limit, used }) =>
      needsLock(limit, used, growth[kind] ?? 0),
    );
  if (isNear([])) await sql.lock('cluster', cluster.name);
  else if (cluster.quota) await sql.share('cluster', cluster.name, shareOf(growth.nonce));
  const usage = await readUsage(sql, cluster.name);
  if (isNear(usage)) await sql.lock('cluster', cluster.name);
  return usage;
}

/** The limits of a cluster whose quota gives none. */
const limitOf = {
  volumes: { name: 'volumesPerCluster', max: limits.volumesPerCluster.max },
  snapshots: { name: 'snapshotsPerCluster', max: limits.snapshotsPerCluster.max },
} as const;

/** Returns the bytes that the quota leaves for new volumes in the pool. It is 0 when no further volume is allowed. */
export async function quotaLeft(sql: Reader, cluster: Cluster, pool: string): Promise<number> {
  let left = Infinity;
  for (const { kind, limit, used } of await readQuotas(sql, cluster, pool)) {
    if (kind === 'bytes') left = Math.min(left, Math.max(0, limit - used));
    else if (kind === 'volumes' && used >= limit) left = 0;
  }
  return left;
}

/** Returns the limits for the pool, or all limits without `pool`, each with its usage. */
export async function readQuotas(
  sql: Reader,
  cluster: Pick<Cluster, 'name' | 'quota'>,
  pool?: string,
): Promise<readonly QuotaUse[]> {
  return cluster.quota ? usesIn(await readUsage(sql, cluster.name), cluster, pool) : [];
}

function usesIn(
  usage: readonly PoolUsage[],
  { quota = {} }: Pick<Cluster, 'quota'>,
  pool?: string,
): readonly QuotaUse[] {
  const { pools = {}, ...all } = quota;
  const ofPools = Object.entries(pools).filter(([one]) => pool === undefined || one === pool);
  return [
    ...usesOf(all, usage, ''),
    ...ofPools.flatMap(([one, own]) =>
      usesOf(
        own,
        usage.filter(used => used.pool === one),
        `pools.${one}.`,
      ),
    ),
  ];
}

function usesOf(quota: Limits, usage: readonly Usage[], prefix: string): readonly QuotaUse[] {
  return (['bytes', 'volumes', 'snapshots'] as const).flatMap(kind => {
    const limit = quota[kind];
    const used = sumOf(usage, kind);
    return limit === undefined ? [] : [{ kind, path: `${prefix}${kind}`, limit, used }];
  });
}

function sumOf(usage: readonly Usage[], kind: keyof Usage): number {
  return usage.reduce((sum, one) => sum + one[kind], 0);
}

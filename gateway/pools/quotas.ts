import { limitProblem, limits } from '../../src/api/limits.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Reader, Sql } from '../store.ts';
import { type PoolUsage, readUsage, type Usage } from '../tables/reservations.ts';
import { needsLock, shareOf } from '../tables/shares.ts';
import type { Cluster, Limits } from '../callers/cluster.ts';
import { shortageProblem } from './room.ts';

const kinds = ['bytes', 'volumes', 'snapshots'] as const;
type Kind = (typeof kinds)[number];

/** The usage that an operation adds in one pool. `nonce` is the volume's or snapshot's. */
type Growth = Partial<Pick<Usage, Kind>> & { readonly pool: string; readonly nonce: string };

/** A limit with its usage and its path in the cluster's quota, such as `pools.fast.bytes`. */
type QuotaUse = {
  readonly kind: Kind;
  /** Absent: the limit of all clusters whose quota gives none. */
  readonly path?: string;
  /** The only pool that it limits. */
  readonly pool: string | undefined;
  readonly limit: number;
  /** The usage without soft-deleted volumes. */
  readonly used: number;
  /** The usage by soft-deleted volumes, which leave when the limit is reached. */
  readonly deleted: number;
};

/**
 * Throws RESOURCE_EXHAUSTED, which names the limit, when the cluster would exceed its quota; it is a shortage if
 * soft-deleted volumes can leave. Call it in the transaction that reserves the growth, so that only one of two
 * concurrent requests gets the last space. A cluster keeps its present usage. Far from all limits, other requests of
 * the cluster are compared at the same time.
 */
export async function requireQuota(sql: Sql, cluster: Cluster, growth: Growth): Promise<void> {
  if (!cluster.quota && !growth.volumes && !growth.snapshots) return;
  const usage = await readUsageFor(sql, cluster, growth);
  let shortage: Problem | undefined;
  for (const quota of [...usesIn(usage, cluster, growth.pool), ...commonUses(usage, cluster)]) {
    const { kind, pool, limit, used, deleted } = quota;
    const more = growth[kind] ?? 0;
    const lacking = used + deleted + more - limit;
    if (more <= 0 || lacking <= 0) continue;
    const problem = overProblem(cluster, quota, more);
    if (lacking > deleted) throw problem;
    const room = { bytes: 0, volumes: 0, [kind]: lacking };
    shortage ??= shortageProblem(problem.detail, { cluster: cluster.name, pool, ...room });
  }
  if (shortage) throw shortage;
}

function overProblem({ name }: Cluster, { kind, path, limit, used }: QuotaUse, more: number): Problem {
  if (path === undefined && kind !== 'bytes')
    return limitProblem(limitOf[kind].name, `cluster "${name}"`, used + more);
  const ofQuota = `the quota "${path}" of cluster "${name}" is ${limit}`;
  return new Problem('RESOURCE_EXHAUSTED', `${ofQuota}: ${used} are in use, and ${more} more are requested`);
}

/**
 * Reads the cluster's usage. Until the transaction ends, other requests can only add so little that no limit of the
 * quota is exceeded together with the growth. Concurrent requests may exceed the limits of all clusters by their number,
 * because a share would cost more than that.
 */
async function readUsageFor(sql: Sql, cluster: Cluster, growth: Growth): Promise<readonly PoolUsage[]> {
  const isNear = (usage: readonly PoolUsage[]): boolean =>
    usesIn(usage, cluster, growth.pool).some(({ kind, limit, used, deleted }) =>
      needsLock(limit, used + deleted, growth[kind] ?? 0),
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
): Promise<readonly Required<QuotaUse>[]> {
  return cluster.quota ? usesIn(await readUsage(sql, cluster.name), cluster, pool) : [];
}

function usesIn(
  usage: readonly PoolUsage[],
  { quota = {} }: Pick<Cluster, 'quota'>,
  pool?: string,
): readonly Required<QuotaUse>[] {
  const { pools = {}, ...all } = quota;
  const ofPools = Object.entries(pools).filter(([one]) => pool === undefined || one === pool);
  return [
    ...usesOf(all, usage),
    ...ofPools.flatMap(([one, own]) =>
      usesOf(
        own,
        usage.filter(used => used.pool === one),
        one,
      ),
    ),
  ];
}

function usesOf(quota: Limits, usage: readonly Usage[], pool?: string): readonly Required<QuotaUse>[] {
  return kinds.flatMap(kind => {
    const limit = quota[kind];
    const path = pool === undefined ? kind : `pools.${pool}.${kind}`;
    return limit === undefined ? [] : [{ kind, path, pool, limit, ...useOf(usage, kind) }];
  });
}

/** Returns the numbers that the quota of the cluster does not limit. */
function commonUses(usage: readonly PoolUsage[], { quota }: Cluster): readonly QuotaUse[] {
  return (['volumes', 'snapshots'] as const)
    .filter(kind => quota?.[kind] === undefined)
    .map(kind => {
      const { used, deleted } = useOf(usage, kind);
      return { kind, pool: undefined, limit: limitOf[kind].max, used, deleted };
    });
}

function useOf(usage: readonly Usage[], kind: Kind): Pick<QuotaUse, 'used' | 'deleted'> {
  const sum = (name: keyof Usage): number => usage.reduce((all, one) => all + one[name], 0);
  const deleted = kind === 'snapshots' ? 0 : sum(kind === 'bytes' ? 'deletedBytes' : 'deletedVolumes');
  return { used: sum(kind) - deleted, deleted };
}

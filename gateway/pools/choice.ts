import { invalidProblem, preconditionProblem } from '../../src/api/problem.ts';
import type { Cluster } from '../callers/cluster.ts';
import type { Resource } from '../tables/claims.ts';
import type { Pool, Pools } from './pools.ts';

export type Choice = { readonly pool: Pool; readonly own: Readonly<Record<string, string>> };

export function poolsOf(pools: Pools, { pools: allowed }: Cluster): readonly Pool[] {
  return pools.offered().filter(({ name }) => allowed?.includes(name) ?? true);
}

/** Throws FAILED_PRECONDITION when the cluster may not use the pool, with the source in it, if one is given. */
export function requireUsable({ name, pools: allowed }: Cluster, pool: string, source?: Resource): void {
  if (allowed?.includes(pool) === false)
    throw preconditionProblem(
      `cluster "${name}" may not use pool "${pool}"${source ? `, which has ${source.kind} "${source.id}"` : ''}`,
    );
}

/**
 * Chooses the pool that the parameter `pool` names, or the only one that the cluster may use; `recorded` is
 * the volume's present pool. INVALID_ARGUMENT, which lists the cluster's pools, when no pool or another pool
 * is named.
 */
export function choosePool(
  usable: readonly Pool[],
  { pool: name, ...own }: Readonly<Record<string, string>> = {},
  recorded?: Pool,
): Choice {
  const [only, ...others] = usable;
  const implied = recorded ?? (others.length === 0 ? only : undefined);
  const pool = name === undefined ? implied : usable.find(one => one.name === name);
  if (pool) return { pool, own };
  const names = usable.map(one => `"${one.name}"`).join(', ') || 'none';
  throw invalidProblem(
    name === undefined
      ? `parameters.pool: is required; this cluster may use ${names}`
      : `parameters.pool: there is no pool "${name}"; this cluster may use ${names}`,
  );
}

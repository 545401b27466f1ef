import { invalidProblem, preconditionProblem } from '../../src/api/problem.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import type { Pool, Pools } from './pools.ts';

/** A pool that was chosen, and the parameters that are its backend's own. */
export type Choice = { readonly pool: Pool; readonly own: Readonly<Record<string, string>> };

/** The pools that the cluster may use for something new. */
export function poolsOf(pools: Pools, { pools: allowed }: Cluster): readonly Pool[] {
  return pools.offered().filter(({ name }) => allowed?.includes(name) ?? true);
}

/** FAILED_PRECONDITION when the cluster may not use the pool. */
export function requireUsable({ name, pools: allowed }: Cluster, pool: string): void {
  if (allowed?.includes(pool) === false)
    throw preconditionProblem(`cluster "${name}" may not use pool "${pool}"`);
}

/**
 * The pool that the parameter `pool` names, or the only one that the cluster may use; `recorded` is the one that the
 * volume is in already. INVALID_ARGUMENT, naming those that the cluster may use, when none or another is named.
 */
export function choosePool(
  usable: readonly Pool[],
  { pool: asked, ...own }: Readonly<Record<string, string>> = {},
  recorded?: Pool,
): Choice {
  const [only, ...others] = usable;
  const implied = recorded ?? (others.length === 0 ? only : undefined);
  const pool = asked === undefined ? implied : usable.find(({ name }) => name === asked);
  if (pool) return { pool, own };
  const names = usable.map(({ name }) => `"${name}"`).join(', ') || 'none';
  throw invalidProblem(
    asked === undefined
      ? `parameters.pool: is needed, one of the pools that this cluster may use: ${names}`
      : `parameters.pool: there is no pool "${asked}"; this cluster may use ${names}`,
  );
}

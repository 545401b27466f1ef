import type { Reader } from '../store.ts';
import { countByPool } from '../tables/inventory.ts';
import type { Pools } from './pools.ts';

/** Throws with all pools that hold something and are not configured: to go on would leave that unmanaged. */
export async function requireKnownPools(sql: Reader, pools: Pools): Promise<void> {
  const known = new Set(pools.all().map(({ name }) => name));
  const faults: Error[] = [];
  for (const kind of ['volume', 'snapshot'] as const)
    for (const [pool, count] of await countByPool(sql, kind))
      if (!known.has(pool))
        faults.push(
          new Error(`pool "${pool}" is not configured, but the store has ${kind}s in it (${count})`),
        );
  if (faults.length > 0) throw new AggregateError(faults);
}

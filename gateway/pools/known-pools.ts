import type { Reader } from '../store.ts';
import type { Pools } from './pools.ts';

/** Throws with all pools that hold something and are not configured: to go on would leave that unmanaged. */
export async function requireKnownPools(sql: Reader, pools: Pools): Promise<void> {
  const faults: string[] = [];
  for (const table of ['volumes', 'snapshots'])
    for (const { pool, number } of await sql.all(
      `select pool, count(*) as number from ${table} group by pool`,
    ))
      if (pools.all().every(({ name }) => name !== pool))
        faults.push(`pool "${pool}" is not configured, but the store has ${table} in it (${number})`);
  if (faults.length > 0) throw new AggregateError(faults);
}

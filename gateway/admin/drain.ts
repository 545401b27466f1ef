import type { PoolDrain } from '../../src/api/admin.ts';
import { Problem } from '../../src/api/problem.ts';
import { suggest } from '../../src/lib/words/suggest.ts';
import type { Operations } from '../operations/operation.ts';
import type { Pools } from '../pools/pools.ts';
import type { Engine, Sql } from '../store.ts';
import { closureTable, findClosure } from '../tables/closures.ts';
import { listPoolUsage } from '../tables/reservations.ts';

type DrainRequest = {
  readonly pool: string;
  /** True: the pool takes new volumes again. */
  readonly end: boolean;
  readonly dryRun: boolean;
};

type DrainOptions = {
  readonly engine: Engine;
  readonly operations: Operations;
  readonly pools: Pools;
};

/**
 * Creates the draining of pools: a drained pool takes no new volumes, and everything in it works as before. A volume
 * whose creation is recorded already is still created.
 */
export function createDrain({ engine, operations, pools }: DrainOptions) {
  const { reader } = engine;

  return async (request: DrainRequest): Promise<PoolDrain> => {
    const { pool, end, dryRun } = request;
    const names = [...pools.all().map(({ name }) => name), ...pools.waiting().keys()];
    const since = await findClosure(reader, 'pool', pool);
    if (!names.includes(pool) && since === undefined)
      throw new Problem(
        'NOT_FOUND',
        `there is no pool "${pool}"${suggest(pool, names)}; the pools are ${names.join(', ')}`,
      );
    if (!dryRun)
      await operations.change(
        { operation: end ? 'end drain' : 'drain', kind: 'pool', id: pool },
        async sql => ({ result: undefined, isChanged: await change(sql, request) }),
      );
    const left = await listPoolUsage(reader, pool);
    return {
      isDrained: dryRun ? since !== undefined : !end,
      left: [...left]
        .filter(([, { volumes, snapshots }]) => volumes + snapshots > 0)
        .map(([cluster, { bytes, volumes, snapshots }]) => ({
          cluster,
          volumes,
          snapshots,
          reservedBytes: bytes,
        })),
    };
  };
}

/** Opens or closes the pool. Returns false if it was so before. */
async function change(sql: Sql, { pool: name, end }: DrainRequest): Promise<boolean> {
  const key = { kind: 'pool', name } as const;
  await sql.lock('pool', name);
  const isDrained = (await findClosure(sql, 'pool', name)) !== undefined;
  if (end && isDrained) await closureTable.remove(sql, key);
  if (!end && !isDrained) await closureTable.add(sql, { ...key, sinceMs: await sql.now() });
  return isDrained === end;
}

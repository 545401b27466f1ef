import { asProblem } from '../../src/api/problem.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { measureSpaces, type Space } from '../pools/space.ts';
import { findVolume } from '../tables/volumes.ts';
import { toKnownVolume } from '../volumes/documents.ts';

/** What the storage told: its spaces, and what a snapshot of each volume takes, as far as it knows. */
export type Measured = {
  readonly spaces: readonly Space[] | undefined;
  readonly bytesOf: ReadonlyMap<string, number>;
};

/** Asks the pool of the first of the volumes. It is asked before a transaction, never within. */
export async function measureSnapshots(
  { engine, pools }: Pick<ServiceOptions, 'engine' | 'pools'>,
  volumeIds: readonly string[],
): Promise<Measured> {
  const found = await Promise.all(volumeIds.map(id => findVolume(engine.reader, id)));
  const volumes = found.filter(volume => volume !== undefined);
  const bytesOf = new Map<string, number>();
  const [first] = volumes;
  if (!first) return { spaces: undefined, bytesOf };
  const pool = pools.get(first.pool);
  const { snapshots } = pool.backend;
  try {
    for (const volume of volumes.filter(one => one.pool === first.pool)) {
      const bytes = await snapshots?.measure?.(toKnownVolume(volume));
      if (bytes !== undefined) bytesOf.set(volume.id, bytes);
    }
  } catch (error) {
    throw asProblem(error);
  }
  return { spaces: await measureSpaces(pool), bytesOf };
}

import { asProblem, Problem } from '../../src/api/problem.ts';
import type { Segments } from '../../src/api/topology.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Reader, Sql } from '../store.ts';
import { sumReserved } from '../tables/reservations.ts';
import { needsLock, shareOf } from '../tables/shares.ts';
import type { Shortage } from '../tables/volumes.ts';
import type { Pool } from './pools.ts';
import { shortageProblem } from './room.ts';
import { maxOf } from '../../src/lib/numbers.ts';

/** The size of the storage in one of its topologies, or in all if it has none. */
export type Space = { readonly segments: Segments | undefined; readonly totalBytes: number };

/**
 * A request for space in the first of these topologies with enough room. `heldBytes` of `bytes` are already
 * reserved.
 */
type SpaceRequest = {
  readonly bytes: number;
  readonly heldBytes?: number;
  readonly nonce: string;
  readonly topologies: readonly Segments[] | undefined;
  /**
   * The error when the whole pool is too small. No caller chooses the size of a snapshot, so there it is
   * RESOURCE_EXHAUSTED.
   */
  readonly tooLarge?: 'OUT_OF_RANGE' | 'RESOURCE_EXHAUSTED';
};

/**
 * Measures all spaces of the pool; undefined if its backend reports none. Call it before a transaction, never
 * within one.
 */
export async function measureSpaces({ backend }: Pool): Promise<readonly Space[] | undefined> {
  const { capacity, topologies = [undefined] } = backend;
  if (!capacity) return undefined;
  const measure = async (segments: Space['segments']): Promise<Space> => {
    const { totalBytes } = await capacity(segments);
    return { segments, totalBytes };
  };
  return Promise.all(topologies.map(measure)).catch((error: unknown) => {
    throw asProblem(error);
  });
}

/** Returns the free bytes of the space, and the bytes that soft-deleted volumes leave when room is needed. */
async function readSpace(sql: Reader, pool: Pool, space: Space) {
  const { bytes, deletedBytes } = await sumReserved(sql, pool.name, placeOf(pool, space));
  return { freeBytes: space.totalBytes - bytes, deletedBytes };
}

/** Returns the topology that selects the reservations of the space; undefined selects all of the pool. */
function placeOf({ backend }: Pool, { segments }: Space): Segments | undefined {
  return (backend.topologies?.length ?? 0) <= 1 ? undefined : segments;
}

/** Returns the bytes for new volumes. Soft-deleted volumes leave when room is needed. */
export async function availableIn(sql: Reader, pool: Pool, space: Space): Promise<number> {
  const { freeBytes, deletedBytes } = await readSpace(sql, pool, space);
  return Math.max(0, freeBytes + deletedBytes);
}

/**
 * Finds the first requested space with enough room; undefined if the backend reports none. RESOURCE_EXHAUSTED
 * when there is no room now (a shortage if soft-deleted volumes take it), OUT_OF_RANGE (or `tooLarge`) when every space
 * of the pool is too small. Far from full, other transactions find room in the pool at the same time; near full, they
 * wait for the end of this one.
 */
export async function requireSpace(
  sql: Sql,
  { pool, spaces }: { readonly pool: Pool; readonly spaces: readonly Space[] | undefined },
  { bytes, heldBytes = 0, nonce, topologies, tooLarge = 'OUT_OF_RANGE' }: SpaceRequest,
): Promise<Space | undefined> {
  if (!spaces) return undefined;
  const largest = maxOf(spaces.map(({ totalBytes }) => totalBytes));
  if (bytes > largest)
    throw new Problem(
      tooLarge,
      `${bytes} bytes do not fit into pool "${pool.name}", which has ${largest} bytes`,
    );
  // A volume that was created before the pool's topology was known or changed is also in its only space.
  const wanted =
    topologies && spaces.length > 1
      ? topologies.flatMap(segments => spaces.find(space => sameJson(space.segments, segments)) ?? [])
      : spaces;
  const moreBytes = bytes - heldBytes;
  const isLarge = wanted.some(({ totalBytes }) => needsLock(totalBytes, 0, moreBytes));
  await (isLarge ? sql.lock('pool', pool.name) : sql.share('pool', pool.name, shareOf(nonce)));
  let maxLeft = 0;
  let shortage: Shortage | undefined;
  for (const space of wanted) {
    const { freeBytes, deletedBytes } = await readSpace(sql, pool, space);
    if (moreBytes <= freeBytes) {
      const { totalBytes } = space;
      if (needsLock(totalBytes, totalBytes - freeBytes, moreBytes)) await sql.lock('pool', pool.name);
      return space;
    }
    maxLeft = Math.max(maxLeft, freeBytes);
    if (moreBytes <= freeBytes + deletedBytes)
      shortage ??= {
        pool: pool.name,
        segments: placeOf(pool, space),
        bytes: moreBytes - freeBytes,
        volumes: 0,
      };
  }
  const detail = `pool "${pool.name}" has ${maxLeft} bytes left, but ${moreBytes} are needed`;
  throw shortage ? shortageProblem(detail, shortage) : new Problem('RESOURCE_EXHAUSTED', detail);
}

import { asProblem, Problem } from '../../src/api/problem.ts';
import type { Segments } from '../../src/api/topology.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Reader, Sql } from '../store.ts';
import { sumReserved } from '../tables/reservations.ts';
import type { Pool } from './pools.ts';

/** What the storage has in one of its topologies, or in all where it has none. */
export type Space = { readonly segments: Segments | undefined; readonly totalBytes: number };

/** What is to be reserved, `heldBytes` of it already, in the first of these topologies in which there is space. */
export type Wanted = {
  readonly bytes: number;
  readonly heldBytes?: number;
  readonly topologies: readonly Segments[] | undefined;
  /** What it is when the whole pool is smaller: nobody chooses the size of a snapshot. */
  readonly tooLarge?: 'OUT_OF_RANGE' | 'RESOURCE_EXHAUSTED';
};

/** All spaces of the pool; undefined where its backend reports none. It is asked before a transaction, never within. */
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

/** How many bytes of the space are not reserved. */
export async function availableIn(
  sql: Reader,
  { name, backend }: Pool,
  { segments, totalBytes }: Space,
): Promise<number> {
  const isWhole = (backend.topologies?.length ?? 0) <= 1;
  return Math.max(0, totalBytes - (await sumReserved(sql, name, isWhole ? undefined : segments)));
}

/**
 * The first of the spaces that are wanted into which it fits; undefined where the backend reports none. RESOURCE_EXHAUSTED when there
 * is none now, OUT_OF_RANGE (or `tooLarge`) when it fits into no space of the pool, whatever is deleted.
 */
export async function requireSpace(
  sql: Sql,
  { pool, spaces }: { readonly pool: Pool; readonly spaces: readonly Space[] | undefined },
  { bytes, heldBytes = 0, topologies, tooLarge = 'OUT_OF_RANGE' }: Wanted,
): Promise<Space | undefined> {
  if (!spaces) return undefined;
  const largest = Math.max(...spaces.map(({ totalBytes }) => totalBytes));
  if (bytes > largest)
    throw new Problem(tooLarge, `${bytes} bytes are more than the ${largest} of pool "${pool.name}"`);
  await sql.lock('pool', pool.name);
  // What was made before the pool's topology was known, or changed, is in its only space, too.
  const wanted =
    topologies && spaces.length > 1
      ? topologies.flatMap(segments => spaces.find(space => sameJson(space.segments, segments)) ?? [])
      : spaces;
  const moreBytes = bytes - heldBytes;
  let mostLeft = 0;
  for (const space of wanted) {
    const left = await availableIn(sql, pool, space);
    if (moreBytes <= left) return space;
    mostLeft = Math.max(mostLeft, left);
  }
  throw new Problem(
    'RESOURCE_EXHAUSTED',
    `pool "${pool.name}" has ${mostLeft} bytes left, and ${moreBytes} are needed`,
  );
}

import { asProblem, Problem } from '../../src/api/problem.ts';
import type { Segments } from '../../src/api/topology.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Reader, Sql } from '../store.ts';
import { sumReserved } from '../tables/reservations.ts';
import type { Pool } from './pools.ts';

/** What the storage has in one of its places, or in all where it has none. */
export type Room = { readonly place: Segments | undefined; readonly totalBytes: number };

/** What is to be reserved, `heldBytes` of it already, in the first of these places in which there is room. */
export type Wanted = {
  readonly bytes: number;
  readonly heldBytes?: number;
  readonly places: readonly Segments[] | undefined;
  /** What it is when the whole pool is smaller: nobody chooses the size of a snapshot. */
  readonly tooLarge?: 'OUT_OF_RANGE' | 'RESOURCE_EXHAUSTED';
};

/** All rooms of the pool; undefined where its backend reports none. It is asked before a transaction, never within. */
export async function measureRooms({ backend }: Pool): Promise<readonly Room[] | undefined> {
  const { capacity, places = [undefined] } = backend;
  if (!capacity) return undefined;
  try {
    const measure = async (place: Room['place']): Promise<Room> => {
      const { totalBytes } = await capacity(place);
      return { place, totalBytes };
    };
    return await Promise.all(places.map(measure));
  } catch (error) {
    throw asProblem(error);
  }
}

/** How many bytes of the room are not reserved. */
export async function leftIn(
  sql: Reader,
  { name, backend }: Pool,
  { place, totalBytes }: Room,
): Promise<number> {
  const isWhole = (backend.places?.length ?? 0) <= 1;
  return Math.max(0, totalBytes - (await sumReserved(sql, name, isWhole ? undefined : place)));
}

/**
 * The first of the rooms that are wanted into which it fits; undefined where nobody knows. RESOURCE_EXHAUSTED when there
 * is none now, OUT_OF_RANGE (or `tooLarge`) when it fits into no room of the pool, whatever is deleted.
 */
export async function requireRoom(
  sql: Sql,
  { pool, rooms }: { readonly pool: Pool; readonly rooms: readonly Room[] | undefined },
  { bytes, heldBytes = 0, places, tooLarge = 'OUT_OF_RANGE' }: Wanted,
): Promise<Room | undefined> {
  if (!rooms) return undefined;
  const largest = Math.max(...rooms.map(({ totalBytes }) => totalBytes));
  if (bytes > largest)
    throw new Problem(tooLarge, `${bytes} bytes are more than the ${largest} of pool "${pool.name}"`);
  await sql.lock('pool', pool.name);
  // What was made before the pool's place was told, or told otherwise, is in its only room, too.
  const wanted =
    places && rooms.length > 1
      ? places.flatMap(place => rooms.find(room => sameJson(room.place, place)) ?? [])
      : rooms;
  const moreBytes = bytes - heldBytes;
  let mostLeft = 0;
  for (const room of wanted) {
    const left = await leftIn(sql, pool, room);
    if (moreBytes <= left) return room;
    mostLeft = Math.max(mostLeft, left);
  }
  throw new Problem(
    'RESOURCE_EXHAUSTED',
    `pool "${pool.name}" has ${mostLeft} bytes left, and ${moreBytes} are needed`,
  );
}

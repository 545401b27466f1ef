import { Problem } from '../../../src/api/problem.ts';
import type { Segments } from '../../../src/api/topology.ts';
import { sameJson } from '../../../src/lib/json.ts';

/** So many bytes, in a place or anywhere. */
export type Room = { readonly totalBytes: number; readonly place?: Segments };

/** What may be put where. */
export interface Rooms {
  readonly all: readonly Room[];
  readonly largestBytes: number;
  /** The room in this place; with no places, the one that there is. */
  find(place: Segments | undefined): Room | undefined;
  /** Counts so many bytes more as used in the room, or less where it is below zero. */
  use(room: Room, moreBytes: number): void;
  /** Bytes that are free in the room. */
  freeBytes(room: Room): number;
  /** The first of the rooms in these places into which it fits; RESOURCE_EXHAUSTED when it fits into none. */
  choose(sizeBytes: number, places: readonly Segments[] | undefined): Room;
}

/** Rooms that are empty. */
export function createRooms(given: number | readonly Room[]): Rooms {
  const all: readonly Room[] = typeof given === 'number' ? [{ totalBytes: given }] : given;
  const find = (place: Segments | undefined): Room | undefined =>
    all.find(room => room.place === undefined || sameJson(room.place, place));
  const used = new Map<Room, number>();
  const usedBytes = (room: Room): number => used.get(room) ?? 0;
  const freeBytes = (room: Room): number => room.totalBytes - usedBytes(room);
  return {
    all,
    largestBytes: Math.max(...all.map(({ totalBytes }) => totalBytes)),
    find,
    use: (room, more) => void used.set(room, usedBytes(room) + more),
    freeBytes,
    choose(sizeBytes, places) {
      const wanted = places ? places.flatMap(place => find(place) ?? []) : all;
      const room = wanted.find(one => sizeBytes <= freeBytes(one));
      if (room) return room;
      const left = wanted.map(freeBytes).join(' or ');
      throw new Problem('RESOURCE_EXHAUSTED', `${sizeBytes} bytes do not fit into the ${left} that are left`);
    },
  };
}

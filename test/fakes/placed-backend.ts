import { openMemory, type MemoryBackend } from '../../gateway/backends/memory.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Segments } from '../../src/api/topology.ts';

/** So many bytes in a place. */
export type Room = { readonly totalBytes: number; readonly place: Segments };

/** A memory backend whose storage is in several places, each with bytes of its own. */
export function openPlaced(rooms: readonly Room[]): MemoryBackend {
  const inner = openMemory({ capacity: 0 });
  const placeOf = new Map<string, Segments | undefined>();
  return {
    ...inner,
    places: rooms.map(({ place }) => place),
    async create(volume) {
      const made = await inner.create(volume);
      const place = placeOf.get(volume.id) ?? (volume.places ?? rooms.map(one => one.place))[0];
      placeOf.set(volume.id, place);
      return { ...made, ...(place && { place }) };
    },
    async delete(volume) {
      await inner.delete(volume);
      placeOf.delete(volume.id);
    },
    async capacity(place) {
      return { totalBytes: rooms.find(room => sameJson(room.place, place))?.totalBytes ?? 0 };
    },
  };
}

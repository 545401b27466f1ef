import { openMemory, type MemoryBackend } from '../../gateway/backends/memory.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Segments } from '../../src/api/topology.ts';

/** The capacity in one topology. */
export type Space = { readonly totalBytes: number; readonly segments: Segments };

/** Opens a memory backend whose storage spans several topologies, each with a capacity of its own. */
export function openPlaced(spaces: readonly Space[]): MemoryBackend {
  const inner = openMemory({ capacity: 0 });
  const segmentsOf = new Map<string, Segments | undefined>();
  return {
    ...inner,
    topologies: spaces.map(({ segments }) => segments),
    async create(volume) {
      const made = await inner.create(volume);
      const segments = segmentsOf.get(volume.id) ?? (volume.topologies ?? spaces.map(one => one.segments))[0];
      segmentsOf.set(volume.id, segments);
      return { ...made, ...(segments && { segments }) };
    },
    async delete(volume) {
      await inner.delete(volume);
      segmentsOf.delete(volume.id);
    },
    async capacity(segments) {
      return { totalBytes: spaces.find(space => sameJson(space.segments, segments))?.totalBytes ?? 0 };
    },
  };
}

import type { Capacity, CapacitySpec } from '../../src/api/storage.ts';
import { requireOffered } from './features.ts';
import type { Segments } from '../../src/api/topology.ts';
import type { Backend, PoolCapacity, VolumeSizes } from '../backend.ts';
import { checkVolumeParameters, offers } from './validate.ts';
import { choosePlaces, readRequirement } from './placement.ts';

const none: Capacity = { availableBytes: 0 };

/**
 * The room for new volumes of a kind, over all places that are meant; none for what the backend does not offer, and
 * where it has no place. INVALID_ARGUMENT for parameters that no volume can have.
 */
export async function findCapacity(backend: Backend, spec: CapacitySpec): Promise<Capacity> {
  const { capabilities = [], parameters, topology } = spec;
  const capacity = requireOffered(backend, backend.capacity, 'capacity');
  checkVolumeParameters(backend, parameters, capabilities);
  if (!capabilities.every(capability => offers(backend, capability))) return none;
  const left = async (place?: Segments): Promise<Capacity> =>
    toCapacity(await capacity(place), backend.sizes);
  if (!backend.places) return left();
  const asked = readRequirement(topology && { requisite: [topology] });
  const places = choosePlaces(backend.places, asked);
  const found = await Promise.all(places.map(left));
  return found.length === 0 ? none : found.reduce(add);
}

function toCapacity(
  { totalBytes, availableBytes = totalBytes }: PoolCapacity,
  sizes: VolumeSizes | undefined,
): Capacity {
  if (!sizes) return { availableBytes };
  const { minimumBytes, stepBytes, maximumBytes = Infinity } = sizes;
  return {
    availableBytes,
    minimumVolumeBytes: minimumBytes,
    maximumVolumeBytes: Math.min(Math.floor(availableBytes / stepBytes) * stepBytes, maximumBytes),
  };
}

/** A volume is in one place: the largest that can be had is that of the best place. */
function add(a: Capacity, b: Capacity): Capacity {
  const maximum = combine(Math.max, a.maximumVolumeBytes, b.maximumVolumeBytes);
  const minimum = combine(Math.min, a.minimumVolumeBytes, b.minimumVolumeBytes);
  return {
    // More than this no number tells exactly, and no client reads.
    availableBytes: Math.min(a.availableBytes + b.availableBytes, Number.MAX_SAFE_INTEGER),
    ...(maximum !== undefined && { maximumVolumeBytes: maximum }),
    ...(minimum !== undefined && { minimumVolumeBytes: minimum }),
  };
}

/** A bound that one of them does not know is not known. */
function combine(
  pick: (a: number, b: number) => number,
  a: number | undefined,
  b: number | undefined,
): number | undefined {
  return a === undefined || b === undefined ? undefined : pick(a, b);
}

import type { Capacity, CapacitySpec } from '../../src/api/storage.ts';
import type { Segments } from '../../src/api/topology.ts';
import type { PoolCapacity, VolumeSizes } from '../backend.ts';
import { choosePool, poolsOf } from '../pools/choice.ts';
import { requireOffered } from '../pools/features.ts';
import type { Pools } from '../pools/pools.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { choosePlaces, readRequirement } from './placement.ts';
import { canUse, readVolumeParameters } from './validate.ts';

const none: Capacity = { availableBytes: 0 };

/**
 * The room for new volumes of a kind, over all places that are meant; none for what the backend does not offer, and
 * where it has no place. INVALID_ARGUMENT for parameters that no volume can have.
 */
export async function findCapacity(pools: Pools, cluster: Cluster, spec: CapacitySpec): Promise<Capacity> {
  const { capabilities = [], parameters, topology } = spec;
  const { pool, own } = choosePool(poolsOf(pools, cluster), parameters);
  const { backend } = pool;
  const capacity = requireOffered(pool, backend.capacity, 'capacity');
  readVolumeParameters(pool, own, capabilities);
  if (!capabilities.every(capability => canUse(backend, capability))) return none;
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

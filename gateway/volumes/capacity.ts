import type { Capacity, CapacitySpec } from '../../src/api/storage.ts';
import type { VolumeSizes } from '../backend.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { choosePool, poolsOf } from '../pools/choice.ts';
import { requireOffered } from '../pools/features.ts';
import { availableIn, measureSpaces } from '../pools/space.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { chooseTopologies, isOneOf, readRequirement } from './placement.ts';
import { canUse, readVolumeParameters } from './validate.ts';

const none: Capacity = { availableBytes: 0 };

/** The space left for new volumes. */
export interface Capacities {
  /**
   * Over all topologies that are meant; none for what the backend does not offer, and where it has no topology.
   * INVALID_ARGUMENT for parameters that no volume can have.
   */
  find(cluster: Cluster, spec: CapacitySpec): Promise<Capacity>;
}

/** Makes the service. */
export function createCapacities({ engine, pools }: Pick<ServiceOptions, 'engine' | 'pools'>): Capacities {
  return {
    async find(cluster, spec) {
      const { capabilities = [], parameters, topology } = spec;
      const { pool, own } = choosePool(poolsOf(pools, cluster), parameters);
      const { backend } = pool;
      const spaces = requireOffered(pool, await measureSpaces(pool), 'capacity');
      readVolumeParameters(pool, own, capabilities);
      if (!capabilities.every(capability => canUse(backend, capability))) return none;
      const asked = readRequirement(topology && { requisite: [topology] });
      const topologies = backend.topologies && chooseTopologies(backend.topologies, asked);
      const meant = spaces.filter(
        ({ segments }) => !segments || (topologies && isOneOf(segments, topologies)),
      );
      const found = await Promise.all(
        meant.map(async space => toCapacity(await availableIn(engine.reader, pool, space), backend.sizes)),
      );
      return found.length === 0 ? none : found.reduce(add);
    },
  };
}

function toCapacity(availableBytes: number, sizes: VolumeSizes | undefined): Capacity {
  if (!sizes) return { availableBytes };
  const { minimumBytes, stepBytes, maximumBytes = Infinity } = sizes;
  return {
    availableBytes,
    minimumVolumeBytes: minimumBytes,
    maximumVolumeBytes: Math.min(Math.floor(availableBytes / stepBytes) * stepBytes, maximumBytes),
  };
}

/** A volume is in one topology: the largest that can be had is that of the best topology. */
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

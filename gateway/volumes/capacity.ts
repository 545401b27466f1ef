import type { Capacity, CapacitySpec } from '../../src/api/storage.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { type Choice, choosePool, poolsOf } from '../pools/choice.ts';
import { requireOffered } from '../pools/features.ts';
import { availableIn, measureSpaces } from '../pools/space.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { quotaLeft } from '../tenancy/quotas.ts';
import { chooseTopologies, isOneOf, readRequirement } from './placement.ts';
import { capabilityProblem, readVolumeParameters } from './validate.ts';

/** Makes what reports the space left for new volumes. */
export function createCapacities({ engine, pools }: Pick<ServiceOptions, 'engine' | 'pools'>) {
  return {
    /**
     * Over all topologies that are meant, and no more than the cluster's quota leaves; 0 for what the pool does not offer.
     * INVALID_ARGUMENT for bad parameters.
     */
    async find(cluster: Cluster, spec: CapacitySpec): Promise<Capacity> {
      const choice = choosePool(poolsOf(pools, cluster), spec.parameters);
      const capacity = await findIn(choice, spec);
      const leftBytes = await quotaLeft(engine.reader, cluster, choice.pool.name);
      if (leftBytes === Infinity) return capacity;
      const { availableBytes, maximumVolumeBytes = leftBytes } = capacity;
      return {
        ...capacity,
        availableBytes: Math.min(availableBytes, leftBytes),
        maximumVolumeBytes: Math.min(maximumVolumeBytes, leftBytes),
      };
    },
  };

  async function findIn({ pool, own }: Choice, spec: CapacitySpec): Promise<Capacity> {
    const { capabilities = [], topology } = spec;
    const { topologies = [], sizes } = pool.backend;
    const isOffered = capabilities.every(capability => !capabilityProblem(pool, capability));
    if (pool.backend.available) {
      const known = readVolumeParameters(pool, own, capabilities);
      return isOffered ? pool.backend.available({ ...spec, parameters: known }) : { availableBytes: 0 };
    }
    const spaces = requireOffered(pool, await measureSpaces(pool), 'capacity');
    readVolumeParameters(pool, own, capabilities);
    if (!isOffered) return { availableBytes: 0 };
    const meant = chooseTopologies(topologies, readRequirement(topology && { requisite: [topology] }));
    const available = await Promise.all(
      spaces
        .filter(({ segments }) => !segments || isOneOf(segments, meant))
        .map(space => availableIn(engine.reader, pool, space)),
    );
    if (available.length === 0) return { availableBytes: 0 };
    const sumBytes = available.reduce((a, b) => a + b);
    // More than this no number tells exactly, and no client reads.
    const availableBytes = Math.min(sumBytes, Number.MAX_SAFE_INTEGER);
    if (!sizes) return { availableBytes };
    const { minimumBytes: minimumVolumeBytes, stepBytes, maximumBytes = Infinity } = sizes;
    // A volume is in one topology: the largest that can be had is that of the best topology.
    const fittingBytes = Math.floor(Math.max(...available) / stepBytes) * stepBytes;
    return { availableBytes, minimumVolumeBytes, maximumVolumeBytes: Math.min(fittingBytes, maximumBytes) };
  }
}

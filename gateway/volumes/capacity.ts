import type { Capacity, CapacitySpec } from '../../src/api/storage.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { type Choice, choosePool, poolsOf } from '../pools/choice.ts';
import { requireOffered } from '../pools/features.ts';
import { findClosure } from '../tables/closures.ts';
import { availableIn, measureSpaces } from '../pools/space.ts';
import type { Cluster } from '../callers/cluster.ts';
import { quotaLeft } from '../pools/quotas.ts';
import { chooseTopologies, isOneOf, readRequirement } from './placement.ts';
import { capabilityFaults, readVolumeParameters } from './validate.ts';
import { neededBytesOf } from './filesystem.ts';
import { minSizeOf } from './size.ts';
import { maxOf } from '../../src/lib/numbers.ts';

/** Creates the reports of the space left for new volumes. */
export function createCapacities({ engine, pools }: Pick<ServiceOptions, 'engine' | 'pools'>) {
  return {
    /**
     * Returns the space in all requested topologies, limited by the cluster's quota; 0 if the pool does not
     * offer such volumes, or is being drained. INVALID_ARGUMENT for bad parameters.
     */
    async find(cluster: Cluster, spec: CapacitySpec): Promise<Capacity> {
      const choice = choosePool(poolsOf(pools, cluster), spec.parameters);
      const capacity = await findIn(choice, spec);
      if ((await findClosure(engine.reader, 'pool', choice.pool.name)) !== undefined)
        return { availableBytes: 0 };
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
    const isOffered = capabilities.every(capability => capabilityFaults(pool, capability, true).length === 0);
    const use = { capabilities, parameters: spec.parameters };
    if (pool.backend.available) {
      const known = readVolumeParameters(pool, own, capabilities);
      if (!isOffered) return { availableBytes: 0 };
      const answer = await pool.backend.available({ ...spec, parameters: known });
      const { minimumVolumeBytes: ownBytes = 0, ...found } = answer;
      const minBytes = Math.max(ownBytes, neededBytesOf(pool.backend, use));
      return { ...found, ...(minBytes > 0 && { minimumVolumeBytes: minBytes }) };
    }
    const spaces = requireOffered(pool, await measureSpaces(pool), 'capacity');
    readVolumeParameters(pool, own, capabilities);
    if (!isOffered) return { availableBytes: 0 };
    const neededBytes = neededBytesOf(pool.backend, use);
    const requested = chooseTopologies(topologies, readRequirement(topology && { requisite: [topology] }));
    const available = await Promise.all(
      spaces
        .filter(({ segments }) => !segments || isOneOf(segments, requested))
        .map(space => availableIn(engine.reader, pool, space)),
    );
    if (available.length === 0) return { availableBytes: 0 };
    const sumBytes = available.reduce((a, b) => a + b);
    // Larger numbers are not exact, and no client reads them.
    const availableBytes = Math.min(sumBytes, Number.MAX_SAFE_INTEGER);
    if (!sizes) return { availableBytes, ...(neededBytes > 0 && { minimumVolumeBytes: neededBytes }) };
    const { stepBytes, maximumBytes = Infinity } = sizes;
    // A volume is in one topology, so the topology with the most space limits its size.
    const fittingBytes = Math.floor(maxOf(available) / stepBytes) * stepBytes;
    return {
      availableBytes,
      minimumVolumeBytes: minSizeOf(sizes, neededBytes),
      maximumVolumeBytes: Math.min(fittingBytes, maximumBytes),
    };
  }
}

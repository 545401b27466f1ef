import { unavailableProblem } from '../../../src/api/problem.ts';
import { hasFeature, type Capabilities } from '../../../src/api/storage.ts';
import type { VolumeSizes } from '../../backend.ts';
import { toParameters } from './parameters.ts';
import type { Vendor } from './vendor.ts';

/** The capabilities of the chosen pool of the storage. */
export type Offer = Omit<Capabilities, 'version' | 'pools'>;

/** The maximum size of the capabilities without parameter schemas, in bytes of JSON; every cluster gets them. */
const maxOfferBytes = 65_536;
const usualBytes = 2 ** 30;

/** Reads the capabilities of the storage's pool. UNAVAILABLE if there is no such pool, or the capabilities are too large. */
export async function readOffer(vendor: Vendor, pool: string | undefined): Promise<Offer> {
  const { version: _, pools, ...all } = await vendor.ask('getCapabilities', {});
  const names = pools.map(({ name }) => `"${name}"`).join(', ');
  if (pool === undefined && pools.length > 1)
    throw unavailableProblem(`the storage has several pools; set "pool" to one of ${names}`);
  const found = pool === undefined ? { ...all, ...pools[0] } : pools.find(({ name }) => name === pool);
  if (!found) throw unavailableProblem(`the storage has no pool "${pool}"; it has ${names || 'none'}`);
  const { parameters: _schemas, ...bounded } = found;
  const { length } = JSON.stringify(bounded);
  if (length > maxOfferBytes)
    throw unavailableProblem(
      `the capabilities of the storage have ${length} bytes, more than the ${maxOfferBytes} allowed`,
    );
  return found;
}

/**
 * Returns the backend's static members. Volumes that may hold old data when they are new get no filesystem, only
 * block access.
 */
export function describe(offer: Offer) {
  const { areShares, cannotCutOff, zeroed, accessTypes, topologies = [], limits, parameters = {} } = offer;
  const canRestore = hasFeature(offer, 'snapshots') && hasFeature(offer, 'restore');
  return {
    name: 'rest',
    accessModes: offer.accessModes,
    accessTypes: areShares || zeroed ? accessTypes : accessTypes.filter(type => type === 'block'),
    ...(areShares && { areShares }),
    ...(cannotCutOff && { cannotCutOff }),
    ...(hasFeature(offer, 'node-details') && { needsNodeDetails: true as const }),
    parameters: toParameters(parameters.volume, 'volume'),
    ...(hasFeature(offer, 'topology') && topologies.length > 0 && { topologies }),
    ...(limits && { sizes: toSizes(limits) }),
    sources: [
      ...(canRestore ? (['snapshot'] as const) : []),
      ...(hasFeature(offer, 'clone') ? (['volume'] as const) : []),
    ],
  };
}

function toSizes(limits: NonNullable<Offer['limits']>): VolumeSizes {
  const { minimumVolumeBytes = 0, maximumVolumeBytes, stepBytes = 1 } = limits;
  const minimumBytes = Math.max(minimumVolumeBytes, 1);
  return {
    minimumBytes,
    stepBytes,
    defaultBytes: Math.max(minimumBytes, usualBytes),
    ...(maximumVolumeBytes !== undefined && { maximumBytes: maximumVolumeBytes }),
  };
}

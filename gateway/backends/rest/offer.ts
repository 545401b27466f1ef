import { hasFeature, type Feature } from '../../../src/api/storage.ts';
import type { Backend, VolumeSizes } from '../../backend.ts';
import { createAttachments } from './attachments.ts';
import { toParameters } from './parameters.ts';
import { createSnapshots } from './snapshots.ts';
import { listVolumes, type Offer, ownParameters, type Storage } from './storage.ts';
import { createExpand, createHealth, createModification, createVolumes } from './volumes.ts';

const usualBytes = 2 ** 30;

/** Makes a backend of the storage's offer. Members that the storage does not offer are absent. */
export function toBackend(storage: Storage): Backend {
  const { vendor, offer } = storage;
  const has = (feature: Feature): boolean => hasFeature(offer, feature);
  const rest = createSnapshots(storage);
  return {
    ...describe(offer),
    ...createVolumes(storage, rest),
    ...createAttachments(storage),
    ...(has('expand') && { expand: createExpand(storage) }),
    ...(has('modify') && { modification: createModification(storage) }),
    ...(has('snapshots') && {
      snapshots: { ...rest.snapshots, ...(has('groups') && { createGroup: rest.createGroup }) },
      ...(has('changes') && { changes: rest.changes }),
    }),
    ...(has('health') && { volumeHealth: createHealth(storage) }),
    ...(has('capacity') && {
      available: ({ parameters, ...kind }) =>
        vendor.ask('getCapacity', { body: { ...kind, parameters: ownParameters(storage, parameters) } }),
    }),
    async *list(signal) {
      for await (const { name, id } of listVolumes(storage, signal))
        if (storage.names.isOf(id, name)) yield name;
    },
  };
}

/**
 * The backend's static members. Volumes that may hold old data when they are new get no filesystem, only block
 * access.
 */
function describe(offer: Offer) {
  const { areShares, zeroed, accessTypes, topologies = [], limits, parameters = {} } = offer;
  const canRestore = hasFeature(offer, 'snapshots') && hasFeature(offer, 'restore');
  return {
    name: 'rest',
    accessModes: offer.accessModes,
    accessTypes: areShares || zeroed ? accessTypes : accessTypes.filter(type => type === 'block'),
    ...(areShares && { areShares }),
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

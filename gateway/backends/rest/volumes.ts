import { Problem, unavailableProblem } from '../../../src/api/problem.ts';
import { formatSegments, meetsTerm } from '../../../src/api/topology.ts';
import type { Backend, HealthEntry, Modification, NewVolume } from '../../backend.ts';
import { toParameters } from './parameters.ts';
import type { RestSnapshots } from './snapshots.ts';
import { findIds, ownParameters, requireId, type Storage } from './storage.ts';

/** What creates volumes and deletes them. */
export function createVolumes(storage: Storage, rest: RestSnapshots): Pick<Backend, 'create' | 'delete'> {
  const { vendor, names } = storage;
  return {
    async create(volume) {
      const { id, nonce, source, topologies, capabilities, parameters } = volume;
      const { requiredBytes, limitBytes, mutableParameters = {} } = volume;
      const from = source && (await sourceOf(source));
      const made = await vendor.ask('createVolume', {
        volumeId: names.idOf({ id, nonce }),
        body: {
          name: id,
          requiredBytes,
          limitBytes,
          capabilities: [...capabilities],
          parameters: ownParameters(storage, parameters),
          ...(from && { source: from }),
          ...(Object.keys(mutableParameters).length > 0 && { mutableParameters: { ...mutableParameters } }),
          ...(topologies && { topology: { requisite: [...topologies], preferred: [...topologies] } }),
        },
      });
      const [segments] = made.topology ?? [];
      if (segments && topologies?.every(asked => !meetsTerm(segments, asked)))
        throw unavailableProblem(
          `the storage made volume "${id}" in "${formatSegments(segments)}", which was not asked for`,
        );
      return { sizeBytes: made.sizeBytes, context: made.context, ...(segments && { segments }) };
    },
    async delete(volume) {
      for (const volumeId of await findIds(storage, volume)) await vendor.ask('deleteVolume', { volumeId });
    },
  };

  async function sourceOf(source: NonNullable<NewVolume['source']>) {
    return source.kind === 'volume'
      ? ({ kind: 'volume', volumeId: await requireId(storage, source.volume) } as const)
      : ({ kind: 'snapshot', snapshotId: await rest.requireId(source.snapshot) } as const);
  }
}

/** What expands volumes. */
export function createExpand(storage: Storage): NonNullable<Backend['expand']> {
  return async (volume, { requiredBytes, limitBytes }) => {
    const volumeId = await requireId(storage, volume);
    const body = { requiredBytes, limitBytes };
    const { sizeBytes, nodeExpansionRequired = false } = await storage.vendor.ask('expandVolume', {
      volumeId,
      body,
    });
    return { sizeBytes, nodeExpansionRequired };
  };
}

/** What changes mutable parameters, of which the schema says which there are. */
export function createModification({ vendor, ...storage }: Storage): Modification {
  return {
    parameters: toParameters(storage.offer.parameters?.mutable, 'mutable'),
    async apply(volume, parameters) {
      const volumeId = await requireId({ vendor, ...storage }, volume);
      await vendor.ask('modifyVolume', { volumeId, body: { mutableParameters: { ...parameters } } });
    },
  };
}

/** What reports what is wrong with volumes. */
export function createHealth(storage: Storage): NonNullable<Backend['volumeHealth']> {
  const missing: HealthEntry = {
    status: 'DATA_LOSS',
    reason: 'VolumeMissing',
    message: 'the storage does not know the volume',
  };
  return async volume => {
    const [volumeId] = await findIds(storage, volume);
    if (volumeId === undefined) return [missing];
    try {
      return (await storage.vendor.ask('getVolumeHealth', { volumeId })).entries;
    } catch (error) {
      if (error instanceof Problem && error.code === 'NOT_FOUND') return [missing];
      throw error;
    }
  };
}

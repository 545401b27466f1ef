import { toPrintable } from '../../../src/api/http/printable.ts';
import { Problem, unavailableProblem } from '../../../src/api/problem.ts';
import { formatSegments, meetsTerm } from '../../../src/api/topology.ts';
import type { Backend, HealthEntry, Modification, NewVolume } from '../../backend.ts';
import { toParameters } from './parameters.ts';
import type { RestSnapshots } from './snapshots.ts';
import { findIds, ownParameters, requireId, type Storage } from './storage.ts';

export function createVolumes(storage: Storage, rest: RestSnapshots): Pick<Backend, 'create' | 'delete'> {
  const { vendor, names } = storage;
  return {
    async create(volume) {
      const { id, nonce, source, topologies, capabilities, parameters } = volume;
      const { requiredBytes, limitBytes, mutableParameters = {} } = volume;
      const from = source && (await sourceOf(source));
      const created = await vendor.ask('createVolume', {
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
      const [segments] = created.topology ?? [];
      if (segments && topologies?.every(term => !meetsTerm(segments, term)))
        throw unavailableProblem(
          `the storage created volume "${id}" in "${formatSegments(segments)}", outside the requested topology`,
        );
      return { sizeBytes: created.sizeBytes, context: created.context, ...(segments && { segments }) };
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

/** Creates the modification of mutable parameters, by the storage's schema. */
export function createModification({ vendor, ...storage }: Storage): Modification {
  return {
    parameters: toParameters(storage.offer.parameters?.mutable, 'mutable'),
    async apply(volume, parameters) {
      const volumeId = await requireId({ vendor, ...storage }, volume);
      await vendor.ask('modifyVolume', { volumeId, body: { mutableParameters: { ...parameters } } });
    },
  };
}

/** The maximum number of health entries of one volume. */
const maxHealthEntries = 16;

function toPrintableEntry({ status, reason, message }: HealthEntry): HealthEntry {
  return { status, reason: toPrintable(reason, 64), message: toPrintable(message, 1_024) };
}

/** Creates the health report of volumes. */
export function createHealth(storage: Storage): NonNullable<Backend['volumeHealth']> {
  const missing: HealthEntry = {
    status: 'DATA_LOSS',
    reason: 'VolumeMissing',
    message: 'the storage has no such volume',
  };
  return async volume => {
    const [volumeId] = await findIds(storage, volume);
    if (volumeId === undefined) return [missing];
    try {
      const { entries } = await storage.vendor.ask('getVolumeHealth', { volumeId });
      return entries.slice(0, maxHealthEntries).map(toPrintableEntry);
    } catch (error) {
      if (error instanceof Problem && error.code === 'NOT_FOUND') return [missing];
      throw error;
    }
  };
}

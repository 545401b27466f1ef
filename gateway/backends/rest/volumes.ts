import { toPrintable } from '../../../src/api/http/printable.ts';
import { Problem, unavailableProblem } from '../../../src/api/problem.ts';
import { formatSegments, meetsTerm } from '../../../src/api/topology.ts';
import type { Backend, HealthEntry, NewVolume } from '../../backend.ts';
import { toParameters } from './parameters.ts';
import type { Storage } from './storage.ts';

type VolumeMembers =
  | 'create'
  | 'take'
  | 'delete'
  | 'list'
  | 'expand'
  | 'modification'
  | 'volumeHealth'
  | 'available';

const maxHealthEntries = 16;

const missing: HealthEntry = {
  status: 'DATA_LOSS',
  reason: 'VolumeMissing',
  message: 'the storage has no such volume',
};

/** Creates the backend's members for volumes. Members that the storage does not offer are absent. */
export function createVolumes(storage: Storage): Pick<Backend, VolumeMembers> {
  const { vendor, names, offer, has } = storage;
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
          parameters: storage.ownParameters(parameters),
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
    ...(has('import') && {
      async take({ id, nonce, existing, sizeBytes, capabilities, segments }) {
        const body = {
          name: id,
          requiredBytes: sizeBytes,
          limitBytes: sizeBytes,
          capabilities: [...capabilities],
          existing,
          ...(segments && { topology: { requisite: [segments], preferred: [segments] } }),
        };
        return vendor.ask('createVolume', { volumeId: names.idOf({ id, nonce }), body });
      },
    }),
    async delete(volume) {
      for (const volumeId of await storage.findIds(volume)) await vendor.ask('deleteVolume', { volumeId });
    },
    async *list(signal) {
      for await (const { name, id } of storage.listVolumes(signal)) if (names.isOf(id, name)) yield name;
    },
    ...(has('expand') && {
      async expand(volume, { requiredBytes, limitBytes }) {
        const volumeId = await storage.requireId(volume);
        const body = { requiredBytes, limitBytes };
        const { sizeBytes, nodeExpansionRequired = false } = await vendor.ask('expandVolume', {
          volumeId,
          body,
        });
        return { sizeBytes, nodeExpansionRequired };
      },
    }),
    ...(has('modify') && {
      modification: {
        parameters: toParameters(offer.parameters?.mutable, 'mutable'),
        async apply(volume, parameters) {
          const volumeId = await storage.requireId(volume);
          await vendor.ask('modifyVolume', { volumeId, body: { mutableParameters: { ...parameters } } });
        },
      },
    }),
    ...(has('health') && {
      async volumeHealth(volume) {
        const [volumeId] = await storage.findIds(volume);
        if (volumeId === undefined) return [missing];
        try {
          const { entries } = await vendor.ask('getVolumeHealth', { volumeId });
          return entries.slice(0, maxHealthEntries).map(toPrintableEntry);
        } catch (error) {
          if (error instanceof Problem && error.code === 'NOT_FOUND') return [missing];
          throw error;
        }
      },
    }),
    ...(has('capacity') && {
      available: ({ parameters, ...kind }) =>
        vendor.ask('getCapacity', { body: { ...kind, parameters: storage.ownParameters(parameters) } }),
    }),
  };

  async function sourceOf(source: NonNullable<NewVolume['source']>) {
    return source.kind === 'volume'
      ? ({ kind: 'volume', volumeId: await storage.requireId(source.volume) } as const)
      : ({ kind: 'snapshot', snapshotId: await storage.requireSnapshotId(source.snapshot) } as const);
  }
}

function toPrintableEntry({ status, reason, message }: HealthEntry): HealthEntry {
  return { status, reason: toPrintable(reason, 64), message: toPrintable(message, 1_024) };
}

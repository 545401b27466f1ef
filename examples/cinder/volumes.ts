import { accessModes, isWithin, Problem, sizeFor } from 'fairlead/vendor';
import type { Offer, VendorOperations, Volume, VolumeSource } from 'fairlead/vendor';
import type { Cinder, CinderResource } from './cinder.ts';
import type { Environment } from './keystone.ts';
import { gibibyte, requireSame, specOf, toShown, type Named } from './names.ts';
import { heldProblem, type Records } from './records.ts';

/** The parts of a create request that must be equal in a repetition. */
type Identity = Pick<Volume, 'name' | 'parameters' | 'mutableParameters' | 'source'>;

const none = { type: 'object', additionalProperties: false };
const limits = { minimumVolumeBytes: gibibyte, stepBytes: gibibyte };

export function toCapabilities({ PROTOCOLS = 'iscsi,nvme-tcp', ZEROED = 'true' }: Environment): Offer {
  return {
    version: '1.0.0',
    features: ['expand', 'snapshots', 'restore', 'clone', 'nodes', 'node-details'],
    accessModes: accessModes.filter(mode => mode.startsWith('SINGLE_NODE_')),
    accessTypes: ['mount', 'block'],
    protocols: PROTOCOLS.split(',') as Offer['protocols'],
    zeroed: ZEROED === 'true',
    limits,
    parameters: {
      volume: { ...none, properties: { type: { type: 'string' }, availabilityZone: { type: 'string' } } },
      snapshot: none,
    },
  };
}

/** Creates the operations on volumes. A volume's name in Cinder is its id. */
export function createVolumes(
  cinder: Cinder,
  records: Records,
  kinds: Readonly<Record<'volumes' | 'snapshots', Named>>,
) {
  const { volumes, snapshots } = kinds;

  function show(found: CinderResource): Volume {
    const shown = { ...specOf<Identity>(found), ...toShown(found) };
    const attached = records.attachmentsOf(shown.id).filter(one => one.isDone);
    const attachments = attached.map(({ nodeId, readonly }) => ({
      nodeId,
      state: 'attached' as const,
      readonly,
    }));
    return { ...shown, attachments, context: {} };
  }

  /** Works on the source of a new volume, if it has one, as Cinder names it. */
  function withOrigin<T>(
    source: VolumeSource | undefined,
    work: (origin: object, bytes: number) => Promise<T>,
  ) {
    if (!source) return work({}, 0);
    if (source.kind === 'volume')
      return volumes.use(source.volumeId, ({ id, size }) => work({ source_volid: id }, size * gibibyte));
    return snapshots.use(source.snapshotId, ({ id, size }) => work({ snapshot_id: id }, size * gibibyte));
  }

  async function extend({ id, status }: CinderResource, bytes: number): Promise<CinderResource> {
    await cinder.send('POST', `/volumes/${id}/action`, { 'os-extend': { new_size: bytes / gibibyte } });
    const found = await cinder.settle('volume', id, ['extending']);
    if (found && !found.status.startsWith('error')) return found;
    const reason = await cinder.messageAbout(id);
    await cinder.send('POST', `/volumes/${id}/action`, { 'os-reset_status': { status } });
    throw new Problem('RESOURCE_EXHAUSTED', `Cinder cannot extend volume "${id}": ${reason}`);
  }

  return {
    getVolume: async ({ volumeId }) => [200, show(await volumes.require(volumeId))],

    async listVolumes(request) {
      const { entries, ...more } = await volumes.list({ request, show });
      return [200, { volumes: entries, ...more }];
    },

    async createVolume({ volumeId: id, body }) {
      const { name, parameters = {}, mutableParameters = {}, source } = body;
      const spec: Identity = { name, parameters, mutableParameters, ...(source && { source }) };
      const earlier = await volumes.find(id);
      requireSame(earlier, spec, !earlier || isWithin(earlier.size * gibibyte, body));
      const { type: volume_type, availabilityZone: availability_zone } = parameters;
      const { isNew, found } = await withOrigin(earlier ? undefined : source, async (origin, bytes) => {
        const size = earlier?.size ?? sizeFor(body, limits, bytes) / gibibyte;
        return volumes.ensure(id, { spec, body: { ...origin, size, volume_type, availability_zone } });
      });
      return [isNew ? 201 : 200, show(found)];
    },

    async deleteVolume({ volumeId }) {
      const [holder] = records.attachmentsOf(volumeId);
      if (holder) throw heldProblem(holder);
      await volumes.remove(volumeId);
      return [204];
    },

    async expandVolume({ volumeId, body }) {
      const grown = await volumes.use(volumeId, async found => {
        const bytes = found.size * gibibyte;
        if (body.limitBytes && body.limitBytes < bytes)
          throw new Problem('OUT_OF_RANGE', `volume "${volumeId}" has ${bytes} bytes, more than the limit`);
        return (body.requiredBytes ?? 0) <= bytes ? found : extend(found, sizeFor(body, limits));
      });
      return [200, { ...show(grown), nodeExpansionRequired: true }];
    },
  } satisfies VendorOperations;
}

import { accessModes, isWithin, Problem, sizeFor } from 'fairlead/vendor';
import type { Offer, VendorOperations, Volume, VolumeSource } from 'fairlead/vendor';
import type { Cinder, CinderResource } from './cinder.ts';
import type { Environment } from './keystone.ts';
import { gibibyte, requireSame, specOf, toShown, type Named } from './names.ts';
import { heldProblem, type Records } from './records.ts';

/** The parts of a create request that must be equal in a repetition. */
type Identity = Pick<Volume, 'name' | 'parameters' | 'mutableParameters' | 'source'>;
type Kinds = Readonly<Record<'volumes' | 'snapshots', Named>>;

const none = { type: 'object', additionalProperties: false };
const text = { type: 'string' };
const limits = { minimumVolumeBytes: gibibyte, stepBytes: gibibyte };

export function toCapabilities(env: Environment): Offer {
  const { PROTOCOLS = 'iscsi,nvme-tcp', ZEROED = 'true', SHARED = 'false' } = env;
  return {
    version: '1.0.0',
    features: ['expand', 'modify', 'snapshots', 'restore', 'clone', 'nodes', 'node-details'],
    accessModes: accessModes.filter(mode => SHARED === 'true' || mode.startsWith('SINGLE_NODE_')),
    accessTypes: ['mount', 'block'],
    protocols: PROTOCOLS.split(',') as Offer['protocols'],
    zeroed: ZEROED === 'true',
    limits,
    parameters: {
      volume: { ...none, properties: { type: text, availabilityZone: text } },
      mutable: { ...none, properties: { type: text } },
      snapshot: none,
    },
  };
}

/** Creates the operations on volumes. A volume's name in Cinder is its id. */
export function createVolumes(cinder: Cinder, records: Records, { volumes, snapshots }: Kinds) {
  function show(found: CinderResource): Volume {
    const { volume_type: type } = found;
    const shown = { ...specOf<Identity>(found), ...toShown(found), mutableParameters: type ? { type } : {} };
    const attached = records.attachmentsOf(shown.id).filter(one => one.isDone);
    const state = 'attached' as const;
    const attachments = attached.map(({ nodeId, readonly }) => ({ nodeId, state, readonly }));
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

  /** Lets Cinder change a volume, and returns it as it then is. */
  async function change(volume: CinderResource, action: object, status: string): Promise<CinderResource> {
    await cinder.send('POST', `/volumes/${volume.id}/action`, action);
    const found = await cinder.settle('volume', { ...volume, status });
    if (found) return found;
    throw new Problem('UNAVAILABLE', `volume "${volume.id}" disappeared while Cinder changed it`);
  }

  async function extend(volume: CinderResource, bytes: number): Promise<CinderResource> {
    const found = await change(volume, { 'os-extend': { new_size: bytes / gibibyte } }, 'extending');
    if (found.size * gibibyte >= bytes) return found;
    const { id, name, status, updated_at: since } = volume;
    const failure = await cinder.failure(`extend volume "${name}"`, { id, since }, 'RESOURCE_EXHAUSTED');
    // Cinder refuses it to users without the role of an operator.
    await cinder.send('POST', `/volumes/${id}/action`, { 'os-reset_status': { status } }).catch(() => {});
    throw failure;
  }

  /** Changes the type, which brings other QoS specs. The volume stays on its storage: a move would copy it. */
  async function retype(volume: CinderResource, type: string): Promise<CinderResource> {
    const retyping = { 'os-retype': { new_type: type, migration_policy: 'never' } };
    const found = await change(volume, retyping, 'retyping');
    if (found.volume_type === type) return found;
    // Cinder tells users no reason.
    throw new Problem('FAILED_PRECONDITION', `Cinder cannot give it the type "${type}"; see Cinder's logs`);
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
      const type = requireName(mutableParameters['type'] ?? parameters['type']);
      const more = { volume_type: type, availability_zone: parameters['availabilityZone'] };
      const { isNew, found } = await withOrigin(earlier ? undefined : source, async (origin, bytes) => {
        const size = earlier?.size ?? sizeFor(body, limits, bytes) / gibibyte;
        return volumes.ensure(id, { spec, body: { ...origin, ...more, size } });
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

    async modifyVolume({ volumeId, body: { mutableParameters } }) {
      const type = requireName(mutableParameters['type']);
      const modified = await volumes.use(volumeId, async found =>
        type === undefined || type === found.volume_type ? found : retype(found, type),
      );
      return [200, show(modified)];
    },
  } satisfies VendorOperations;
}

/** Refuses the id of a volume type: Cinder shows the name, which an id never equals. */
function requireName(type: string | undefined): string | undefined {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(type ?? '')) return type;
  throw new Problem('INVALID_ARGUMENT', `type "${type}" is an id: give the name of the volume type`);
}

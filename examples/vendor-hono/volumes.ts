import { accessModes, Problem, toPage } from 'fairlead/vendor';
import type { Offer, VendorOperations, Volume } from 'fairlead/vendor';
import { volumeNamed, type Disk, type Document } from './disk.ts';

/** The parts of a create request that must be equal in a repetition. */
type Identity = Pick<Volume, 'name' | 'parameters' | 'mutableParameters' | 'source'>;

/** The JSON Schema of an empty set of parameters. */
const none = { type: 'object', additionalProperties: false };

/** Makes the capabilities of the storage. */
export function toCapabilities({ limits }: Disk): Offer {
  return {
    version: '1.0.0',
    features: ['capacity', 'expand', 'modify', 'snapshots', 'restore', 'clone'],
    accessModes: accessModes.filter(mode => mode.startsWith('SINGLE_NODE_')),
    accessTypes: ['mount', 'block'],
    protocols: ['loop'],
    zeroed: true,
    limits,
    parameters: {
      volume: { ...none, properties: { department: { type: 'string' } } },
      mutable: { ...none, properties: { label: { type: 'string' } } },
      snapshot: none,
    },
  };
}

/** Creates the operations on volumes. */
export function createVolumes(disk: Disk) {
  return {
    getCapacity: () => [200, { availableBytes: disk.freeBytes(), ...disk.limits }],
    getVolume: ({ volumeId }) => [200, show(disk.require(volumeNamed(volumeId)))],

    listVolumes(request) {
      const { entries, ...more } = toPage(disk.list('volume'), request);
      return [200, { volumes: entries.map(show), ...more }];
    },

    async createVolume({ volumeId, body }) {
      const { name, parameters = {}, mutableParameters = {}, source } = body;
      const spec: Identity = { name, parameters, mutableParameters, ...(source && { source }) };
      const wanted = { ...volumeNamed(volumeId), spec };
      const [status, volume] = await disk.create(wanted, body, source);
      return [status, show(volume)];
    },

    deleteVolume({ volumeId }) {
      requireFree(disk.find(volumeNamed(volumeId))?.attached?.resource.nodeId);
      disk.remove(volumeNamed(volumeId));
      return [204];
    },

    async expandVolume({ volumeId, body }) {
      const volume = await disk.expand(disk.require(volumeNamed(volumeId)), body);
      return [200, { ...show(volume), nodeExpansionRequired: true }];
    },

    modifyVolume({ volumeId, body }) {
      const volume = disk.require(volumeNamed(volumeId));
      const mutableParameters = { ...show(volume).mutableParameters, ...body.mutableParameters };
      return [200, show(disk.put({ ...volume, mutableParameters }))];
    },
  } satisfies VendorOperations;
}

/** Throws FAILED_PRECONDITION for a volume that a node has. */
export function requireFree(holder: string | undefined): void {
  if (holder) throw new Problem('FAILED_PRECONDITION', `the volume is attached to node "${holder}"`);
}

function show({ id, spec, sizeBytes, createdAt, attached, mutableParameters }: Document): Volume {
  const { nodeId = '', readonly = false } = attached?.resource ?? {};
  const attachments = attached ? [{ nodeId, state: 'attached' as const, readonly }] : [];
  const changed = mutableParameters && { mutableParameters };
  const shown = { ...(spec as Identity), ...changed, id, sizeBytes, createdAt, attachments };
  return { ...shown, state: 'ready', context: {} };
}

import { isDeepStrictEqual } from 'node:util';
import { volumeNamed, type Disk } from '../../../../examples/vendor-hono/disk.ts';
import { requireFree } from '../../../../examples/vendor-hono/volumes.ts';
import { Problem } from '../../../../src/sdk/server/vendor.ts';
import type {
  AttachmentResource,
  AttachmentSpec,
  VendorOperations,
  Volume,
} from '../../../../src/sdk/server/vendor.ts';
import { openRecord, type BasicOperations } from './groups-and-nodes.ts';

/** The nodes that have a volume, each with its request and its attachment. */
type Holders = Readonly<
  Record<string, { readonly spec: AttachmentSpec; readonly resource: AttachmentResource }>
>;

/** Changes the reference vendor's operations so that several nodes may have a volume. */
export function withSharing<Right extends BasicOperations>(right: Right, disk: Disk) {
  const holders = openRecord<Holders>(disk, 'holders');
  const holdersOf = (volumeId: string): Holders => holders.find(volumeId) ?? {};
  const show = (volume: Volume): Volume => ({
    ...volume,
    attachments: Object.values(holdersOf(volume.id)).map(({ resource: { nodeId, readonly } }) => ({
      nodeId,
      state: 'attached',
      readonly,
    })),
  });
  return {
    ...right,
    async createVolume(asked) {
      const [status, volume] = await right.createVolume(asked);
      return [status, show(volume)];
    },
    getVolume(asked) {
      const [status, volume] = right.getVolume(asked);
      return [status, show(volume)];
    },
    async expandVolume(asked) {
      const [status, volume] = await right.expandVolume(asked);
      return [status, { ...show(volume), nodeExpansionRequired: true }];
    },
    modifyVolume(asked) {
      const [status, volume] = right.modifyVolume(asked);
      return [status, show(volume)];
    },
    listVolumes(asked) {
      const [status, { volumes, ...more }] = right.listVolumes(asked);
      return [status, { ...more, volumes: volumes.map(show) }];
    },
    deleteVolume(asked) {
      requireFree(Object.keys(holdersOf(asked.volumeId))[0]);
      return right.deleteVolume(asked);
    },
    attachVolume(asked) {
      const { volumeId, nodeId, body } = asked;
      disk.require(volumeNamed(volumeId));
      const { [nodeId]: known, ...others } = holdersOf(volumeId);
      const isReader = body.capability.accessMode.endsWith('_READER_ONLY');
      const spec = { ...body, readonly: body.readonly || isReader };
      const conflict = Object.values(others).find(other => !mayShare(other.spec, spec));
      requireFree(conflict?.resource.nodeId);
      if (known && isDeepStrictEqual(known.spec, spec)) return [200, known.resource];
      if (known) throw new Problem('ALREADY_EXISTS', `volume "${volumeId}" is attached differently`);
      const [, resource] = right.attachVolume(asked);
      right.detachVolume(asked);
      holders.put(volumeId, { ...others, [nodeId]: { spec, resource } });
      return [201, resource];
    },
    getAttachment({ volumeId, nodeId }) {
      const known = holdersOf(volumeId)[nodeId];
      if (known) return [200, known.resource];
      throw new Problem('NOT_FOUND', `volume "${volumeId}" is not attached to node "${nodeId}"`);
    },
    detachVolume({ volumeId, nodeId }) {
      const { [nodeId]: _, ...others } = holdersOf(volumeId);
      if (Object.keys(others).length > 0) holders.put(volumeId, others);
      else holders.remove(volumeId);
      return [204];
    },
  } satisfies VendorOperations;
}

/** True if two nodes may have the volume at a time: two of them write only if the mode of both allows it. */
function mayShare(one: AttachmentSpec, other: AttachmentSpec): boolean {
  const modes = [one, other].map(({ capability }) => capability.accessMode);
  const areWriters = !one.readonly && !other.readonly;
  return (
    modes.every(mode => mode.startsWith('MULTI_NODE_')) &&
    (!areWriters || modes.every(mode => mode === 'MULTI_NODE_MULTI_WRITER'))
  );
}

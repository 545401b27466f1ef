import type { OperationId, Operations } from '../../src/api/operations.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Backend } from '../backend.ts';
import type { Services } from '../services.ts';
import { findCapacity } from '../volumes/capacity.ts';
import { featuresOf } from '../volumes/features.ts';
import type { Handler } from './handle.ts';

/** What the handlers work with. */
export type HandlerDeps = Services & { readonly backend: Backend; readonly version: string };

/** One handler for each row of the table of operations. */
export type Handlers = { readonly [Id in OperationId]: Handler<Operations[Id]> };

/** Makes the handlers: each is one call of a service. */
export function createHandlers(deps: HandlerDeps): Handlers {
  const { backend, version, volumes, expansion, modification, health } = deps;
  return {
    async getCapabilities() {
      const { name, accessModes, accessTypes } = backend;
      return {
        backend: name,
        version,
        accessModes: [...accessModes],
        accessTypes: [...accessTypes],
        features: featuresOf(backend),
      };
    },
    getCapacity: ({ body }) => findCapacity(backend, body),

    listVolumes: ({ cluster, ...page }) => volumes.list(cluster.name, page),
    async createVolume({ cluster, volumeId, body }) {
      const { volume, created } = await volumes.create(cluster.name, volumeId, body);
      return { value: volume, created };
    },
    getVolume: ({ cluster, volumeId }) => volumes.get(cluster.name, volumeId),
    deleteVolume: ({ cluster, volumeId }) => volumes.delete(cluster.name, volumeId),
    validateVolume: ({ cluster, volumeId, body }) => volumes.validate(cluster.name, volumeId, body),
    expandVolume: ({ cluster, volumeId, body }) => expansion.expand(cluster.name, volumeId, body),
    modifyVolume: ({ cluster, volumeId, body }) =>
      modification.modify(cluster.name, volumeId, body.mutableParameters),
    getVolumeHealth: ({ cluster, volumeId }) => health.get(cluster.name, volumeId),
    listVolumeHealth: ({ cluster, ...page }) => health.list(cluster.name, page),

    ...createAttachmentHandlers(deps),
    ...createSnapshotHandlers(deps),
  };
}

type AttachmentIds = OperationId &
  (`${string}Attachment` | `attach${string}` | `detach${string}` | `${string}Node`);

function createAttachmentHandlers({ attachments, nodes }: Services): Pick<Handlers, AttachmentIds> {
  return {
    async attachVolume({ body, ...key }) {
      const { attachment, created } = await attachments.attach(key, body);
      return { value: attachment, created };
    },
    async getAttachment(key) {
      const found = await attachments.find(key);
      if (!found)
        throw new Problem('NOT_FOUND', `volume "${key.volumeId}" is not attached to node "${key.nodeId}"`);
      return found;
    },
    detachVolume: key => attachments.detach(key),
    detachVolumeFromAllNodes: key => attachments.detach(key),

    async putNode({ cluster, nodeId, body }) {
      const { node, created } = await nodes.put(cluster.name, nodeId, body);
      return { value: node, created };
    },
    getNode: ({ cluster, nodeId }) => nodes.get(cluster.name, nodeId),
    deleteNode: ({ cluster, nodeId }) => nodes.delete(cluster.name, nodeId),
  };
}

type SnapshotIds = OperationId &
  (`${string}Snapshot` | `${string}Snapshots` | `${string}Group` | 'listBlocks');

function createSnapshotHandlers({ snapshots, groups, blocks }: Services): Pick<Handlers, SnapshotIds> {
  return {
    listSnapshots: ({ cluster, ...query }) => snapshots.list(cluster.name, query),
    async createSnapshot({ cluster, snapshotId, body }) {
      const { snapshot, created } = await snapshots.create(cluster.name, snapshotId, body);
      return { value: snapshot, created };
    },
    getSnapshot: ({ cluster, snapshotId }) => snapshots.get(cluster.name, snapshotId),
    deleteSnapshot: ({ cluster, snapshotId }) => snapshots.delete(cluster.name, snapshotId),
    listBlocks: ({ cluster, snapshotId, ...range }) => blocks.list(cluster.name, snapshotId, range),

    async createGroup({ cluster, groupId, body }) {
      const { group, created } = await groups.create(cluster.name, groupId, body);
      return { value: group, created };
    },
    getGroup: ({ cluster, groupId }) => groups.get(cluster.name, groupId),
    deleteGroup: ({ cluster, groupId }) => groups.delete(cluster.name, groupId),
  };
}

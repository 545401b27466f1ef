import type { OperationId, Operations } from '../../src/api/operations.ts';
import type { Feature } from '../../src/api/storage.ts';
import type { Admin } from '../admin/admin.ts';
import { capabilitiesOf } from '../pools/features.ts';
import type { Pools } from '../pools/pools.ts';
import type { Services } from '../services.ts';
import type { Handler } from './handle.ts';

/** What the handlers work with. */
export type HandlerDeps = Services & {
  readonly pools: Pools;
  readonly admin: Admin;
  readonly version: string;
};

/** One handler for each row of the table of operations. */
export type Handlers = { readonly [Id in OperationId]: Handler<Operations[Id]> };

/** What some pool must offer for an operation, or it is UNIMPLEMENTED; others need nothing. */
export const neededFeatures: Readonly<Partial<Record<OperationId, Feature>>> = {
  expandVolume: 'expand',
  modifyVolume: 'modify',
  getVolumeHealth: 'health',
  listVolumeHealth: 'health',
  listSnapshots: 'snapshots',
  createSnapshot: 'snapshots',
  getSnapshot: 'snapshots',
  deleteSnapshot: 'snapshots',
  listBlocks: 'changes',
  createGroup: 'groups',
  getGroup: 'groups',
  deleteGroup: 'groups',
};

/** Makes the handlers: each is one call of a service. */
export function createHandlers(deps: HandlerDeps): Handlers {
  const { pools, version, capacities, volumes, changes, health } = deps;
  return {
    getCapabilities: async ({ cluster }) => ({ version, ...capabilitiesOf(pools, cluster) }),
    getCapacity: ({ cluster, body }) => capacities.find(cluster, body),

    listVolumes: ({ cluster, ...page }) => volumes.list(cluster, page),
    async createVolume({ cluster, volumeId, body }) {
      const { volume, created } = await volumes.create(cluster, volumeId, body);
      return { value: volume, created };
    },
    getVolume: ({ cluster, volumeId }) => volumes.get(cluster, volumeId),
    deleteVolume: ({ cluster, volumeId }) => volumes.delete(cluster, volumeId),
    validateVolume: ({ cluster, volumeId, body }) => volumes.validate(cluster, volumeId, body),
    expandVolume: ({ cluster, volumeId, body }) => changes.expand(cluster, volumeId, body),
    modifyVolume: ({ cluster, volumeId, body: { mutableParameters } }) =>
      changes.modify(cluster, volumeId, mutableParameters),
    getVolumeHealth: ({ cluster, volumeId }) => health.get(cluster, volumeId),
    listVolumeHealth: ({ cluster, ...page }) => health.list(cluster, page),

    ...createAttachmentHandlers(deps),
    ...createSnapshotHandlers(deps),
    ...deps.admin,
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
    getAttachment: key => attachments.get(key),
    detachVolume: key => attachments.detach(key),
    detachVolumeFromAllNodes: key => attachments.detach(key),

    async putNode({ cluster, nodeId, body }) {
      const { node, created } = await nodes.put(cluster, nodeId, body);
      return { value: node, created };
    },
    getNode: ({ cluster, nodeId }) => nodes.get(cluster, nodeId),
    deleteNode: ({ cluster, nodeId }) => nodes.delete(cluster, nodeId),
  };
}

type SnapshotIds = OperationId &
  (`${string}Snapshot` | `${string}Snapshots` | `${string}Group` | 'listBlocks');

function createSnapshotHandlers({ snapshots, groups, blocks }: Services): Pick<Handlers, SnapshotIds> {
  return {
    listSnapshots: ({ cluster, ...query }) => snapshots.list(cluster, query),
    async createSnapshot({ cluster, snapshotId, body }) {
      const { snapshot, created } = await snapshots.create(cluster, snapshotId, body);
      return { value: snapshot, created };
    },
    getSnapshot: ({ cluster, snapshotId }) => snapshots.get(cluster, snapshotId),
    deleteSnapshot: ({ cluster, snapshotId }) => snapshots.delete(cluster, snapshotId),
    listBlocks: ({ cluster, snapshotId, ...range }) => blocks.list(cluster, snapshotId, range),

    async createGroup({ cluster, groupId, body }) {
      const { group, created } = await groups.create(cluster, groupId, body);
      return { value: group, created };
    },
    getGroup: ({ cluster, groupId }) => groups.get(cluster, groupId),
    deleteGroup: ({ cluster, groupId }) => groups.delete(cluster, groupId),
  };
}

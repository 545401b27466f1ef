import type { OperationId, Operations } from '../../src/api/operations.ts';
import type { Admin } from '../admin/admin.ts';
import { capabilitiesOf } from '../pools/features.ts';
import type { Pools } from '../pools/pools.ts';
import type { Services } from '../services.ts';
import type { Handler, CreateResult } from './handle.ts';

export type HandlerDeps = Services & {
  readonly pools: Pools;
  readonly admin: Admin;
  readonly version: string;
};

export type Handlers = { readonly [Id in OperationId]: Handler<Operations[Id]> };

export function createHandlers(deps: HandlerDeps): Handlers {
  const { volumes, changes, health, attachments, nodes, snapshots, groups, copyGrants } = deps;
  return {
    getCapabilities: async ({ cluster }) => ({
      version: deps.version,
      ...capabilitiesOf(deps.pools, cluster),
      ...(cluster.deadNodes && { deadNodes: { afterMs: cluster.deadNodes.after } }),
    }),
    getCapacity: ({ cluster, body }) => deps.capacities.find(cluster, body),

    listVolumes: ({ cluster, ...page }) => volumes.list(cluster, page),
    createVolume: ({ cluster, volumeId, body }) =>
      toCreateResult('volume', volumes.create(cluster, volumeId, body)),
    getVolume: ({ cluster, volumeId }) => volumes.get(cluster, volumeId),
    deleteVolume: ({ cluster, volumeId }) => volumes.delete(cluster, volumeId),
    validateVolume: ({ cluster, volumeId, body }) => volumes.validate(cluster, volumeId, body),
    expandVolume: ({ cluster, volumeId, body }) => changes.expand(cluster, volumeId, body),
    modifyVolume: ({ cluster, volumeId, body: { mutableParameters } }) =>
      changes.modify(cluster, volumeId, mutableParameters),
    getVolumeHealth: ({ cluster, volumeId }) => health.get(cluster, volumeId),
    listVolumeHealth: ({ cluster, ...page }) => health.list(cluster, page),

    grantVolume: ({ body, ...key }) => deps.sharing.grant(key, body),
    revokeGrant: key => deps.sharing.revoke(key),
    grantVolumeCopies: ({ volumeId: id, ...key }) => copyGrants.grant({ kind: 'volume', id }, key),
    revokeVolumeCopies: ({ volumeId: id, ...key }) => copyGrants.revoke({ kind: 'volume', id }, key),
    grantSnapshotCopies: ({ snapshotId: id, ...key }) => copyGrants.grant({ kind: 'snapshot', id }, key),
    revokeSnapshotCopies: ({ snapshotId: id, ...key }) => copyGrants.revoke({ kind: 'snapshot', id }, key),
    grantGroupCopies: ({ groupId: id, ...key }) => copyGrants.grant({ kind: 'group', id }, key),
    revokeGroupCopies: ({ groupId: id, ...key }) => copyGrants.revoke({ kind: 'group', id }, key),

    attachVolume: ({ body, ...key }) => toCreateResult('attachment', attachments.attach(key, body)),
    getAttachment: key => attachments.get(key),
    detachVolume: key => attachments.detach(key),
    detachVolumeFromAllNodes: key => attachments.detach(key),

    listNodes: ({ cluster, ...page }) => nodes.list(cluster, page),
    putNode: ({ cluster, nodeId, body }) => toCreateResult('node', nodes.put(cluster, nodeId, body)),
    getNode: ({ cluster, nodeId }) => nodes.get(cluster, nodeId),
    detachDeadNode: ({ cluster, nodeId }) => deps.detachDeadNode(cluster, nodeId),
    deleteNode: ({ cluster, nodeId }) => nodes.delete(cluster, nodeId),

    listSnapshots: ({ cluster, ...query }) => snapshots.list(cluster, query),
    createSnapshot: ({ cluster, snapshotId, body }) =>
      toCreateResult('snapshot', snapshots.create(cluster, snapshotId, body)),
    getSnapshot: ({ cluster, snapshotId }) => snapshots.get(cluster, snapshotId),
    deleteSnapshot: ({ cluster, snapshotId }) => snapshots.delete(cluster, snapshotId),
    listBlocks: ({ cluster, snapshotId, ...range }) => deps.blocks.list(cluster, snapshotId, range),

    createGroup: ({ cluster, groupId, body }) =>
      toCreateResult('group', groups.create(cluster, groupId, body)),
    getGroup: ({ cluster, groupId }) => groups.get(cluster, groupId),
    deleteGroup: ({ cluster, groupId }) => groups.delete(cluster, groupId),

    ...deps.admin,
  };
}

/** Moves a resource from its name to `value`. */
async function toCreateResult<
  N extends string,
  R extends Readonly<Record<N, unknown>> & { readonly created: boolean },
>(name: N, result: Promise<R>): Promise<CreateResult<R[N]>> {
  const { [name]: value, created } = await result;
  return { value, created };
}

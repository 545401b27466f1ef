import * as admin from '../admin.ts';
import { queryText } from '../storage.ts';
import * as volumes from '../volume.ts';
import { type Operation, page, pageOf } from './row.ts';

/** The query of a list over all clusters. */
const listing = page.extend({
  cluster: queryText('Only the entries of this cluster.', 'east'),
  id: queryText('Only the entry with this id.', 'east.pvc-1'),
});

/** Volumes and snapshots can be many, so their lists can be searched. */
const searchable = listing.extend({
  search: queryText('Only the entries whose id contains this text.', 'pvc-1'),
});

const ofVolume = queryText('Only the entries of this volume.', 'east.pvc-1');

export const operatorOperations = {
  getStatus: {
    route: 'GET /v1/admin/status',
    doc: 'Returns the health of the answering gateway and its store, and the findings of the last check.',
    answers: { 200: admin.statusSchema },
  },
  check: {
    route: 'GET /v1/admin/check',
    doc: 'Returns the differences between the storage and the store. Records only when each was first seen, and when each pool was checked.',
    query: admin.checkQuery,
    answers: { 200: admin.checkResultSchema },
  },
  repair: {
    route: 'PUT /v1/admin/repair',
    doc: 'Finishes stuck work and removes unknown volumes and snapshots, or only shows these steps.',
    body: admin.repairSpecSchema,
    answers: { 200: admin.repairSchema },
  },
  listDeletedVolumes: {
    route: 'GET /v1/admin/deleted-volumes',
    doc: 'Returns one page of deleted volumes that can be restored, by id.',
    query: page,
    answers: { 200: admin.deletedVolumePageSchema },
  },
  restoreVolume: {
    route: 'PUT /v1/admin/deleted-volumes/{volumeId}/restore',
    doc: 'Restores a soft-deleted volume. If the volume is ready, nothing happens.',
    answers: { 204: null },
  },
  listAllVolumes: {
    route: 'GET /v1/admin/volumes',
    doc: 'Returns one page of the volumes of all clusters with their attachments, in any state, by id.',
    ...pageOf(searchable.extend(admin.allVolumesQuery), admin.allVolumesPageSchema),
  },
  getAdminVolumeHealth: {
    route: 'GET /v1/admin/volumes/{volumeId}/health',
    doc: 'Asks the storage for the faults of the volume.',
    answers: { 200: volumes.healthSchema },
    problems: ['UNIMPLEMENTED'],
  },
  listAllSnapshots: {
    route: 'GET /v1/admin/snapshots',
    doc: 'Returns one page of the snapshots of all clusters, in any state, by id.',
    ...pageOf(searchable.extend({ volumeId: ofVolume }), admin.allSnapshotsPageSchema),
  },
  listAllAttachments: {
    route: 'GET /v1/admin/attachments',
    doc: 'Returns one page of the attachments of all clusters, by volume, cluster and node; with a node or a cluster in the query, by that first.',
    ...pageOf(
      listing.extend({
        volumeId: ofVolume,
        nodeId: queryText('Only the attachments at this node.', 'node-1'),
      }),
      admin.allAttachmentsPageSchema,
    ),
  },
  listAllNodes: {
    route: 'GET /v1/admin/nodes',
    doc: 'Returns one page of the nodes that all clusters have reported, by cluster and node.',
    ...pageOf(listing, admin.allNodesPageSchema),
  },
  detachNode: {
    route: 'PUT /v1/admin/nodes/{cluster}/{nodeId}/detachment',
    doc: 'Detaches all volumes of a cluster from a node, such as a replaced machine, and answers once the node can no longer read or write. If a pool cannot cut the node off, the answer says so.',
    body: admin.nodeDetachmentSpecSchema,
    answers: { 200: admin.nodeDetachmentSchema },
    problems: ['ABORTED', 'FAILED_PRECONDITION'],
  },
  listPools: {
    route: 'GET /v1/admin/pools',
    doc: 'Returns the pools by name; with a cluster, only the pools that it may use.',
    ...pageOf(listing, admin.poolPageSchema),
  },
  listClusters: {
    route: 'GET /v1/admin/clusters',
    doc: 'Returns the enrolled clusters and other clusters that still have resources, by name.',
    ...pageOf(listing, admin.clusterPageSchema),
  },
  listOperations: {
    route: 'GET /v1/admin/operations',
    doc: 'Returns one page of the running operations of all gateways, by kind and id.',
    ...pageOf(listing, admin.operationPageSchema),
  },
  listQueues: {
    route: 'GET /v1/admin/queues',
    doc: 'Returns the running and waiting operations at the pools of the answering gateway, by pool and cluster.',
    ...pageOf(listing, admin.queuePageSchema),
  },
  grantAdminVolume: {
    route: 'PUT /v1/admin/volumes/{volumeId}/grants/{grantee}',
    doc: 'Shares a volume of any cluster with another one, which need not agree, or changes its access.',
    body: admin.adminGrantSpecSchema,
    answers: { 200: volumes.grantSchema },
    problems: ['ABORTED', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'],
  },
  revokeAdminGrant: {
    route: 'DELETE /v1/admin/volumes/{volumeId}/grants/{grantee}',
    doc: "Stops sharing the volume; with `force`, first detaches it from the cluster's nodes.",
    query: admin.revocationQuery,
    answers: { 204: null },
    problems: ['ABORTED', 'FAILED_PRECONDITION'],
  },
  transferVolume: {
    route: 'PUT /v1/admin/volumes/{volumeId}/owner',
    doc: 'Transfers the volume to another cluster, under a new id. The volume is first detached from all nodes.',
    body: admin.transferSpecSchema,
    answers: { 200: admin.ownedVolumeSchema },
    problems: ['ABORTED', 'ALREADY_EXISTS', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'],
  },
  detachAdminVolume: {
    route: 'PUT /v1/admin/volumes/{volumeId}/detachment',
    doc: 'Detaches the volume from one node or from all nodes, and answers once they can no longer read or write. If the pool cannot cut nodes off, the answer says so.',
    body: admin.detachmentSpecSchema,
    answers: { 200: admin.detachmentSchema },
    problems: ['ABORTED', 'FAILED_PRECONDITION'],
  },
  deleteAdminVolume: {
    route: 'PUT /v1/admin/volumes/{volumeId}/deletion',
    doc: 'Deletes a volume of any cluster, as its cluster would. FAILED_PRECONDITION while it is attached or needed.',
    body: admin.deletionSpecSchema,
    answers: { 200: admin.deletionSchema },
    problems: ['ABORTED', 'FAILED_PRECONDITION'],
  },
  deleteAdminSnapshot: {
    route: 'PUT /v1/admin/snapshots/{snapshotId}/deletion',
    doc: 'Deletes a snapshot of any cluster, as its cluster would. A member of a group can only be deleted with its group.',
    body: admin.deletionSpecSchema,
    answers: { 200: admin.snapshotDeletionSchema },
    problems: ['ABORTED', 'FAILED_PRECONDITION'],
  },
  deleteAdminGroup: {
    route: 'PUT /v1/admin/groups/{groupId}/deletion',
    doc: 'Deletes a group of any cluster with all its snapshots, as its cluster would.',
    body: admin.deletionSpecSchema,
    answers: { 200: admin.snapshotDeletionSchema },
    problems: ['ABORTED', 'FAILED_PRECONDITION'],
  },
  drainPool: {
    route: 'PUT /v1/admin/pools/{pool}/drain',
    doc: 'Stops the creation of volumes in the pool, or allows it again, and returns its remaining resources.',
    body: admin.drainSpecSchema,
    answers: { 200: admin.poolDrainSchema },
    problems: ['ABORTED'],
  },
  retireCluster: {
    route: 'PUT /v1/admin/clusters/{cluster}/retirement',
    doc: 'Refuses the tokens of the cluster, detaches everything from its nodes, and keeps, deletes or transfers its volumes. Its snapshots are kept or deleted.',
    body: admin.retirementSpecSchema,
    answers: { 200: admin.retirementSchema },
    problems: ['ABORTED', 'FAILED_PRECONDITION'],
  },
  importVolume: {
    route: 'PUT /v1/admin/imports/{volumeId}',
    doc: 'Imports an object that the storage has and the store does not know as a volume with this id.',
    body: admin.importSpecSchema,
    answers: { 200: admin.ownedVolumeSchema },
    problems: ['ABORTED', 'ALREADY_EXISTS', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED', 'UNIMPLEMENTED'],
  },
  listAuditLog: {
    route: 'GET /v1/admin/audit-log',
    doc: 'Returns one page of the audit log, newest first.',
    ...pageOf(page.extend(admin.auditLogQuery), admin.auditLogPageSchema),
  },
  listHistory: {
    route: 'GET /v1/admin/history',
    doc: 'Returns one page of the last 24 hours of all replicas, minute by minute, newest first.',
    ...pageOf(page.extend(admin.historyQuery), admin.historyPageSchema),
  },
} as const satisfies Readonly<Record<string, Operation>>;

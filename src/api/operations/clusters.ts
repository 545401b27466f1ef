import * as z from 'zod';
import {
  attachmentResourceSchema,
  attachmentSpecSchema,
  nodePageSchema,
  nodeSchema,
  nodeSpecSchema,
} from '../node.ts';
import * as snapshots from '../snapshot.ts';
import { capabilitiesSchema, capacitySchema, capacitySpecSchema, fromQuery, queryText } from '../storage.ts';
import * as volumes from '../volume.ts';
import { changed, created, deleted, limitOf, maxPageBlocks, type Operation, page, pageOf } from './row.ts';

const creation = ['ALREADY_EXISTS', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'] as const;

const blockRange = z.object({
  base: queryText('An older snapshot of the same volume.', 'east.snap-0'),
  offset: fromQuery(z.int()).default(0).describe('Only blocks that end after this byte; absent: all.'),
  limit: limitOf(maxPageBlocks, 'extents'),
});

/** The operations of clusters. Vendors serve some of them. */
export const clusterOperations = {
  getCapabilities: {
    route: 'GET /v1/capabilities',
    vendor: 'required',
    doc: 'Returns the capabilities of the storage.',
    answers: { 200: capabilitiesSchema },
  },
  getCapacity: {
    route: 'POST /v1/capacity',
    vendor: 'capacity',
    doc: 'Returns the bytes available for new volumes of a kind. Changes nothing.',
    body: capacitySpecSchema,
    answers: { 200: capacitySchema },
  },
  listVolumes: {
    route: 'GET /v1/volumes',
    vendor: 'required',
    doc: 'Returns one page of volumes with their attachments, by id.',
    ...pageOf(page, volumes.volumePageSchema),
  },
  createVolume: {
    route: 'PUT /v1/volumes/{volumeId}',
    vendor: 'required',
    doc: 'Creates the volume, or confirms that it exists as requested. Safe to repeat at any time.',
    body: volumes.volumeSpecSchema,
    answers: created(volumes.volumeSchema),
    problems: [...creation, 'OUT_OF_RANGE'],
  },
  getVolume: {
    route: 'GET /v1/volumes/{volumeId}',
    vendor: 'required',
    doc: 'Returns the volume.',
    answers: { 200: volumes.volumeSchema },
  },
  deleteVolume: {
    route: 'DELETE /v1/volumes/{volumeId}',
    vendor: 'required',
    doc: 'Deletes the volume. If it does not exist, nothing happens. FAILED_PRECONDITION while it is attached or needed.',
    answers: deleted(volumes.volumeSchema),
    problems: ['FAILED_PRECONDITION'],
  },
  validateVolume: {
    route: 'POST /v1/volumes/{volumeId}/validate',
    doc: 'Says whether the volume can be used this way. Changes nothing.',
    body: volumes.validationSpecSchema,
    answers: { 200: volumes.validationSchema },
  },
  expandVolume: {
    route: 'PUT /v1/volumes/{volumeId}/size',
    vendor: 'expand',
    doc: 'Grows the volume, attached or not, to a size within the bounds. It never shrinks.',
    body: volumes.sizeSpecSchema,
    answers: changed(volumes.volumeSchema),
    problems: ['FAILED_PRECONDITION', 'OUT_OF_RANGE', 'RESOURCE_EXHAUSTED'],
  },
  modifyVolume: {
    route: 'PUT /v1/volumes/{volumeId}/parameters',
    vendor: 'modify',
    doc: 'Changes the given mutable parameters; other parameters stay unchanged.',
    body: volumes.parametersSpecSchema,
    answers: changed(volumes.volumeSchema),
    problems: ['FAILED_PRECONDITION'],
  },
  getVolumeHealth: {
    route: 'GET /v1/volumes/{volumeId}/health',
    vendor: 'health',
    doc: 'Returns the faults of the volume.',
    answers: { 200: volumes.healthSchema },
  },
  listVolumeHealth: {
    route: 'GET /v1/health/volumes',
    feature: 'health',
    doc: 'Returns one page of the volumes that have faults.',
    ...pageOf(page, volumes.healthPageSchema),
  },
  grantVolume: {
    route: 'PUT /v1/volumes/{volumeId}/grants/{grantee}',
    doc: 'Shares the volume with another cluster, or changes its access. The other cluster sees and attaches the volume once it has agreed.',
    body: volumes.grantSpecSchema,
    answers: { 200: volumes.grantSchema },
    problems: ['ABORTED', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'],
  },
  revokeGrant: {
    route: 'DELETE /v1/volumes/{volumeId}/grants/{grantee}',
    doc: 'Stops sharing the volume; the owner and the other cluster may call this. FAILED_PRECONDITION while the volume is attached there.',
    answers: { 204: null },
    problems: ['FAILED_PRECONDITION'],
  },
  attachVolume: {
    route: 'PUT /v1/volumes/{volumeId}/attachments/{nodeId}',
    vendor: 'required',
    doc: 'Attaches the volume to the node, or confirms that it is attached as requested.',
    body: attachmentSpecSchema,
    answers: created(attachmentResourceSchema),
    problems: creation,
  },
  getAttachment: {
    route: 'GET /v1/volumes/{volumeId}/attachments/{nodeId}',
    vendor: 'required',
    doc: 'Returns the attachment.',
    answers: { 200: attachmentResourceSchema },
  },
  detachVolume: {
    route: 'DELETE /v1/volumes/{volumeId}/attachments/{nodeId}',
    vendor: 'required',
    doc: 'Detaches the volume from the node and answers once the node can no longer read or write.',
    answers: deleted(attachmentResourceSchema),
    problems: ['FAILED_PRECONDITION'],
  },
  detachVolumeFromAllNodes: {
    route: 'DELETE /v1/volumes/{volumeId}/attachments',
    doc: 'Detaches the volume from all nodes.',
    answers: deleted(volumes.volumeSchema),
    problems: ['FAILED_PRECONDITION'],
  },
  listSnapshots: {
    route: 'GET /v1/snapshots',
    vendor: 'snapshots',
    doc: 'Returns one page of created snapshots, of one volume or of all, by id.',
    ...pageOf(
      page.extend({ volumeId: queryText('Only the snapshots of this volume.', 'east.pvc-1') }),
      snapshots.snapshotPageSchema,
    ),
  },
  createSnapshot: {
    route: 'PUT /v1/snapshots/{snapshotId}',
    vendor: 'snapshots',
    doc: 'Creates the snapshot, or returns the state of an existing one.',
    body: snapshots.snapshotSpecSchema,
    answers: created(snapshots.snapshotSchema),
    problems: creation,
  },
  getSnapshot: {
    route: 'GET /v1/snapshots/{snapshotId}',
    vendor: 'snapshots',
    doc: 'Returns the snapshot.',
    answers: { 200: snapshots.snapshotSchema },
  },
  deleteSnapshot: {
    route: 'DELETE /v1/snapshots/{snapshotId}',
    vendor: 'snapshots',
    doc: 'Deletes the snapshot. If it does not exist, nothing happens. A member of a group can only be deleted with its group.',
    answers: deleted(snapshots.snapshotSchema),
    problems: ['FAILED_PRECONDITION'],
  },
  listBlocks: {
    route: 'GET /v1/snapshots/{snapshotId}/blocks',
    vendor: 'changes',
    doc: 'Returns one page of the blocks with data, or with `base`, of the blocks that differ from that snapshot.',
    query: blockRange,
    answers: { 200: snapshots.blockPageSchema },
    problems: ['ABORTED', 'OUT_OF_RANGE'],
  },
  createGroup: {
    route: 'PUT /v1/groups/{groupId}',
    vendor: 'groups',
    doc: 'Creates snapshots of all volumes at one point in time, or of none and returns the reason.',
    body: snapshots.groupSpecSchema,
    answers: created(snapshots.groupSchema),
    problems: creation,
  },
  getGroup: {
    route: 'GET /v1/groups/{groupId}',
    vendor: 'groups',
    doc: 'Returns the group with its snapshots.',
    answers: { 200: snapshots.groupSchema },
  },
  deleteGroup: {
    route: 'DELETE /v1/groups/{groupId}',
    vendor: 'groups',
    doc: 'Deletes the group with all its snapshots. If it does not exist, nothing happens.',
    answers: deleted(snapshots.groupSchema),
    problems: ['FAILED_PRECONDITION'],
  },
  listNodes: {
    route: 'GET /v1/nodes',
    doc: 'Returns one page of the nodes that the cluster has reported, by id.',
    ...pageOf(page, nodePageSchema),
  },
  putNode: {
    route: 'PUT /v1/nodes/{nodeId}',
    vendor: 'nodes',
    doc: 'Records a node; volumes can then be attached to it.',
    body: nodeSpecSchema,
    answers: { 200: nodeSchema, 201: nodeSchema },
    problems: ['FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'],
  },
  getNode: {
    route: 'GET /v1/nodes/{nodeId}',
    doc: 'Returns the node as it was recorded.',
    answers: { 200: nodeSchema },
  },
  detachDeadNode: {
    route: 'PUT /v1/nodes/{nodeId}/detachment',
    doc: 'Detaches all volumes from a node that is dead, and answers once it can no longer read or write. Until the node is reported again, no volume is attached to it. FAILED_PRECONDITION, with nothing changed, if the gateway does not allow this to the cluster, or if a pool cannot cut the node off.',
    answers: { 204: null },
    problems: ['ABORTED', 'FAILED_PRECONDITION'],
  },
  deleteNode: {
    route: 'DELETE /v1/nodes/{nodeId}',
    vendor: 'nodes',
    doc: 'Removes the node. If it does not exist, nothing happens.',
    answers: { 204: null },
    problems: ['FAILED_PRECONDITION'],
  },
} as const satisfies Readonly<Record<string, Operation>>;

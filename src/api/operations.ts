import * as z from 'zod';
import * as admin from './admin.ts';
import {
  attachmentResourceSchema,
  attachmentSpecSchema,
  nodePageSchema,
  nodeSchema,
  nodeSpecSchema,
} from './node.ts';
import { limits } from './limits.ts';
import { problemTable, type ProblemCode } from './problem.ts';
import * as snapshots from './snapshot.ts';
import {
  capabilitiesSchema,
  capacitySchema,
  capacitySpecSchema,
  type Feature,
  fromQuery,
  queryText,
} from './storage.ts';
import * as volumes from './volume.ts';

/** Maximum entries in one page, which is also the default; such a page stays well below gRPC's 4 MiB. */
export const maxPageEntries = limits.pageEntries.max;

export const maxPageBlocks = limits.blocksPerPage.max;

/** Maximum bytes in the body of a request. */
export const maxBodyBytes = limits.bodyBytes.max;

/** One operation of the Storage API: its route, inputs and answers. */
export type Operation = {
  /** The path contains ids as `{name}`. Only operators may call paths below `/v1/admin/`. */
  readonly route: `${'GET' | 'PUT' | 'POST' | 'DELETE'} /v1/${string}`;
  readonly doc: string;
  /** The query's parameters, read from text. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The successful answers by status; null means no body. An operation that may answer 202 accepts `Prefer`. */
  readonly answers: Readonly<Partial<Record<200 | 201 | 202 | 204, z.ZodType | null>>>;
  /** Problems of this operation in addition to the ones that `problemsOf` derives. */
  readonly problems?: readonly ProblemCode[];
  /** Vendors serve the operation: all of them (`required`), or those with this feature. Absent: only gateways serve it. */
  readonly vendor?: 'required' | Feature;
  /** The feature that a pool of the gateway must have, for an operation that vendors do not serve. */
  readonly feature?: Feature;
};

const creation = ['ALREADY_EXISTS', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'] as const;

const created = <Resource extends z.ZodType>(resource: Resource) =>
  ({ 200: resource, 201: resource, 202: resource }) as const;
const changed = <Resource extends z.ZodType>(resource: Resource) =>
  ({ 200: resource, 202: resource }) as const;
const deleted = <Resource extends z.ZodType>(resource: Resource) => ({ 202: resource, 204: null }) as const;

/** Makes the schema of a page's limit: 0, an absent limit, and one above `max` all mean `max`. */
const limitOf = (max: number, noun: string) =>
  fromQuery(z.int().min(0))
    .default(0)
    .transform(limit => Math.min(limit || max, max))
    .describe(`Maximum ${noun} in the page; 0 or absent: as many as one page holds.`);

const page = z.object({
  limit: limitOf(maxPageEntries, 'entries'),
  pageToken: queryText('The `nextPageToken` of the previous page.', 'volumes/east:east.pvc-1'),
});

/** The query of a list over all clusters. */
const listing = page.extend({
  cluster: queryText('Only the entries of this cluster.', 'east'),
  id: queryText('Only the entry with this id.', 'east.pvc-1'),
});

const ofVolume = queryText('Only the entries of this volume.', 'east.pvc-1');

const blockRange = z.object({
  base: queryText('An older snapshot of the same volume.', 'east.snap-0'),
  offset: fromQuery(z.int()).default(0).describe('Only blocks that end after this byte; absent: all.'),
  limit: limitOf(maxPageBlocks, 'extents'),
});

/** All operations of the Storage API v1 by id; the client, the gateway's routes and the OpenAPI document derive from them. */
export const operations = {
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
    problems: ['UNIMPLEMENTED'],
  },
  listVolumes: {
    route: 'GET /v1/volumes',
    vendor: 'required',
    doc: 'Returns one page of volumes with their attachments, by id.',
    query: page,
    answers: { 200: volumes.volumePageSchema },
    problems: ['ABORTED'],
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
    problems: ['FAILED_PRECONDITION', 'OUT_OF_RANGE', 'RESOURCE_EXHAUSTED', 'UNIMPLEMENTED'],
  },
  modifyVolume: {
    route: 'PUT /v1/volumes/{volumeId}/parameters',
    vendor: 'modify',
    doc: 'Changes the given mutable parameters; other parameters stay unchanged.',
    body: volumes.parametersSpecSchema,
    answers: changed(volumes.volumeSchema),
    problems: ['FAILED_PRECONDITION', 'UNIMPLEMENTED'],
  },
  getVolumeHealth: {
    route: 'GET /v1/volumes/{volumeId}/health',
    vendor: 'health',
    doc: 'Returns the faults of the volume.',
    answers: { 200: volumes.healthSchema },
    problems: ['UNIMPLEMENTED'],
  },
  listVolumeHealth: {
    route: 'GET /v1/health/volumes',
    feature: 'health',
    doc: 'Returns one page of the volumes that have faults.',
    query: page,
    answers: { 200: volumes.healthPageSchema },
    problems: ['ABORTED', 'UNIMPLEMENTED'],
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
    query: page.extend({ volumeId: queryText('Only the snapshots of this volume.', 'east.pvc-1') }),
    answers: { 200: snapshots.snapshotPageSchema },
    problems: ['ABORTED', 'UNIMPLEMENTED'],
  },
  createSnapshot: {
    route: 'PUT /v1/snapshots/{snapshotId}',
    vendor: 'snapshots',
    doc: 'Creates the snapshot, or returns the state of an existing one.',
    body: snapshots.snapshotSpecSchema,
    answers: created(snapshots.snapshotSchema),
    problems: [...creation, 'UNIMPLEMENTED'],
  },
  getSnapshot: {
    route: 'GET /v1/snapshots/{snapshotId}',
    vendor: 'snapshots',
    doc: 'Returns the snapshot.',
    answers: { 200: snapshots.snapshotSchema },
    problems: ['UNIMPLEMENTED'],
  },
  deleteSnapshot: {
    route: 'DELETE /v1/snapshots/{snapshotId}',
    vendor: 'snapshots',
    doc: 'Deletes the snapshot. If it does not exist, nothing happens. A member of a group can only be deleted with its group.',
    answers: deleted(snapshots.snapshotSchema),
    problems: ['FAILED_PRECONDITION', 'UNIMPLEMENTED'],
  },
  listBlocks: {
    route: 'GET /v1/snapshots/{snapshotId}/blocks',
    vendor: 'changes',
    doc: 'Returns one page of the blocks with data, or with `base`, of the blocks that differ from that snapshot.',
    query: blockRange,
    answers: { 200: snapshots.blockPageSchema },
    problems: ['ABORTED', 'OUT_OF_RANGE', 'UNIMPLEMENTED'],
  },
  createGroup: {
    route: 'PUT /v1/groups/{groupId}',
    vendor: 'groups',
    doc: 'Creates snapshots of all volumes at one point in time, or of none and returns the reason.',
    body: snapshots.groupSpecSchema,
    answers: created(snapshots.groupSchema),
    problems: [...creation, 'UNIMPLEMENTED'],
  },
  getGroup: {
    route: 'GET /v1/groups/{groupId}',
    vendor: 'groups',
    doc: 'Returns the group with its snapshots.',
    answers: { 200: snapshots.groupSchema },
    problems: ['UNIMPLEMENTED'],
  },
  deleteGroup: {
    route: 'DELETE /v1/groups/{groupId}',
    vendor: 'groups',
    doc: 'Deletes the group with all its snapshots. If it does not exist, nothing happens.',
    answers: deleted(snapshots.groupSchema),
    problems: ['FAILED_PRECONDITION', 'UNIMPLEMENTED'],
  },
  listNodes: {
    route: 'GET /v1/nodes',
    doc: 'Returns one page of the nodes that the cluster has reported, by id.',
    query: page,
    answers: { 200: nodePageSchema },
    problems: ['ABORTED'],
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
  deleteNode: {
    route: 'DELETE /v1/nodes/{nodeId}',
    vendor: 'nodes',
    doc: 'Removes the node. If it does not exist, nothing happens.',
    answers: { 204: null },
    problems: ['FAILED_PRECONDITION'],
  },
  getStatus: {
    route: 'GET /v1/admin/status',
    doc: 'Returns the health of the answering gateway and its store, and the findings of the last check.',
    answers: { 200: admin.statusSchema },
  },
  check: {
    route: 'GET /v1/admin/check',
    doc: 'Returns the differences between the storage and the store. Records only the time when each was first seen.',
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
    query: listing,
    answers: { 200: admin.allVolumesPageSchema },
    problems: ['ABORTED'],
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
    query: listing.extend({ volumeId: ofVolume }),
    answers: { 200: admin.allSnapshotsPageSchema },
    problems: ['ABORTED'],
  },
  listAllAttachments: {
    route: 'GET /v1/admin/attachments',
    doc: 'Returns one page of the attachments of all clusters, by volume, cluster and node; with a node or a cluster in the query, by that first.',
    query: listing.extend({
      volumeId: ofVolume,
      nodeId: queryText('Only the attachments at this node.', 'node-1'),
    }),
    answers: { 200: admin.allAttachmentsPageSchema },
    problems: ['ABORTED'],
  },
  listAllNodes: {
    route: 'GET /v1/admin/nodes',
    doc: 'Returns one page of the nodes that all clusters have reported, by cluster and node.',
    query: listing,
    answers: { 200: admin.allNodesPageSchema },
    problems: ['ABORTED'],
  },
  detachNode: {
    route: 'DELETE /v1/admin/nodes/{cluster}/{nodeId}/attachments',
    doc: 'Detaches all volumes of a cluster from a node, such as a replaced machine, and answers once the node can no longer read or write. A `dir` pool cannot cut a node off, so the machine must be off.',
    answers: { 204: null },
    problems: ['ABORTED', 'FAILED_PRECONDITION'],
  },
  listPools: {
    route: 'GET /v1/admin/pools',
    doc: 'Returns the pools by name; with a cluster, only the pools that it may use.',
    query: listing,
    answers: { 200: admin.poolPageSchema },
    problems: ['ABORTED'],
  },
  listClusters: {
    route: 'GET /v1/admin/clusters',
    doc: 'Returns the enrolled clusters and other clusters that still have resources, by name.',
    query: listing,
    answers: { 200: admin.clusterPageSchema },
    problems: ['ABORTED'],
  },
  listOperations: {
    route: 'GET /v1/admin/operations',
    doc: 'Returns one page of the running operations of all gateways, by kind and id.',
    query: listing,
    answers: { 200: admin.operationPageSchema },
    problems: ['ABORTED'],
  },
  listQueues: {
    route: 'GET /v1/admin/queues',
    doc: 'Returns the running and waiting operations at the pools of the answering gateway, by pool and cluster.',
    query: listing,
    answers: { 200: admin.queuePageSchema },
    problems: ['ABORTED'],
  },
  grantAdminVolume: {
    route: 'PUT /v1/admin/volumes/{volumeId}/grants/{grantee}',
    doc: 'Shares a volume of any cluster with another one, which need not agree, or changes its access.',
    body: volumes.grantSpecSchema,
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
  drainPool: {
    route: 'PUT /v1/admin/pools/{pool}/drain',
    doc: 'Stops the creation of volumes in the pool, or allows it again, and returns its remaining resources.',
    body: admin.drainSpecSchema,
    answers: { 200: admin.poolDrainSchema },
    problems: ['ABORTED'],
  },
  retireCluster: {
    route: 'PUT /v1/admin/clusters/{cluster}/retirement',
    doc: 'Detaches everything from the nodes of the cluster, keeps, deletes or transfers its volumes, and then refuses its tokens.',
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
    query: page.extend(admin.auditLogQuery),
    answers: { 200: admin.auditLogPageSchema },
    problems: ['ABORTED'],
  },
} as const satisfies Readonly<Record<string, Operation>>;

/** The header with the time until the caller gives up, in milliseconds. */
export const timeoutHeaderName = 'x-timeout-ms';

export type Operations = typeof operations;

export type OperationId = keyof Operations;

/** An operation with its id and the parts of its route; `tag` is the first part of its path after the version. */
export type NamedOperation = ReturnType<typeof toNamed>;

export const allOperations = (Object.keys(operations) as OperationId[]).map(toNamed);

function toNamed(id: OperationId) {
  const operation: Operation = operations[id];
  const [method = '', path = ''] = operation.route.split(' ');
  return { ...operation, id, method, path, tag: path.split('/')[2] ?? '' };
}

/** The operations that vendors serve, in the order of the table. */
export const vendorOperations = allOperations.filter(({ vendor }) => vendor !== undefined);

/** Lists all problems that an operation may answer; ABORTED and INTERNAL only for operations that may take long. */
export function problemsOf({ answers, problems = [] }: Operation): readonly ProblemCode[] {
  const always = [
    'UNAUTHENTICATED',
    'UNAVAILABLE',
    'DEADLINE_EXCEEDED',
    'NOT_FOUND',
    'INVALID_ARGUMENT',
  ] as const;
  const longRunning = answers[202] ? (['ABORTED', 'INTERNAL'] as const) : [];
  return [...always, ...longRunning, ...problems];
}

type IdsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [N in Name]: string } & IdsOf<Rest>
  : unknown;

/** The input of a call: the ids of the path, the query's parameters, and the body as `body`. */
export type Input<O extends Operation> = IdsOf<O['route']> &
  (O extends { readonly query: infer Query extends z.ZodType } ? Readonly<z.input<Query>> : unknown) &
  (O extends { readonly body: infer Body extends z.ZodType } ? { readonly body: z.input<Body> } : unknown);

/** The input of a handler: the input of the call, parsed by the schemas. */
export type Request<O extends Operation> = IdsOf<O['route']> &
  (O extends { readonly query: infer Query extends z.ZodType } ? Readonly<z.output<Query>> : unknown) &
  (O extends { readonly body: infer Body extends z.ZodType } ? { readonly body: z.output<Body> } : unknown);

/** The final answer of an operation; void for a deletion. */
export type Output<O extends Operation> = O['answers'] extends {
  readonly 200: infer Answer extends z.ZodType;
}
  ? z.output<Answer>
  : void;

/** The members of an RFC 9457 problem document that the client uses. */
export const problemSchema = z
  .object({
    code: z.enum(Object.keys(problemTable) as [ProblemCode]),
    detail: z.string().describe('A description for people.'),
    requestId: z.string().optional().describe('The value of the header `x-request-id`.'),
    type: z.string().optional(),
    title: z.string().optional(),
    status: z.int().optional(),
  })
  .meta({ id: 'Problem', description: 'An RFC 9457 problem document; `code` decides, `status` is a hint.' });

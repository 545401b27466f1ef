import { z } from 'zod';
import * as admin from './admin.ts';
import {
  attachmentResourceSchema,
  attachmentSpecSchema,
  nodePageSchema,
  nodeSchema,
  nodeSpecSchema,
} from './node.ts';
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

/** Most entries in one page, and how many a page has when nothing is asked; a page stays well below gRPC's 4 MiB. */
export const maxPageEntries = 1_000;

/** Most extents of blocks in one page. */
export const maxPageBlocks = 4_096;

/** Most bytes in a request's or answer's body. */
export const maxBodyBytes = 4 * 1024 * 1024;

/** One operation of the Storage API: a method on a path, what it takes, and what it may answer. */
export type Operation = {
  /** The path has ids in it as `{name}`. Operators, and nobody else, may call what is below `/v1/admin/`. */
  readonly route: `${'GET' | 'PUT' | 'POST' | 'DELETE'} /v1/${string}`;
  readonly doc: string;
  /** An object of the query's parameters, read from text. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The answers that are no problem, by status; null where there is no body. One that may be 202 takes `Prefer`. */
  readonly answers: Readonly<Partial<Record<200 | 201 | 202 | 204, z.ZodType | null>>>;
  /** Beside those that follow from the rest: see `problemsOf`. */
  readonly problems?: readonly ProblemCode[];
  /** Of the vendor's profile: each vendor serves it, or each with this feature. Absent: gateways alone serve it. */
  readonly vendor?: 'required' | Feature;
  /** What some pool of a gateway must offer, where the vendor's profile has not the operation. */
  readonly feature?: Feature;
};

const creation = ['ALREADY_EXISTS', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'] as const;

const created = <Resource extends z.ZodType>(resource: Resource) =>
  ({ 200: resource, 201: resource, 202: resource }) as const;
const changed = <Resource extends z.ZodType>(resource: Resource) =>
  ({ 200: resource, 202: resource }) as const;
const deleted = <Resource extends z.ZodType>(resource: Resource) => ({ 202: resource, 204: null }) as const;

/** How many entries a page may have: 0, none, and more than `most` all mean `most`. */
const limitOf = (most: number, what: string) =>
  fromQuery(z.int().min(0))
    .default(0)
    .transform(limit => Math.min(limit || most, most))
    .describe(`Most ${what} in the page; 0, or without it: as many as one page holds.`);

const page = z.object({
  limit: limitOf(maxPageEntries, 'entries'),
  pageToken: queryText('The `nextPageToken` of the page before.', 'volumes/east:east.pvc-1'),
});

/** A page of what all clusters have. */
const listing = page.extend({
  cluster: queryText('Only what this cluster has.', 'east'),
  id: queryText('Only the one with this id.', 'east.pvc-1'),
});

const ofVolume = queryText('Only those of this volume.', 'east.pvc-1');

const blockRange = z.object({
  base: queryText('An older snapshot of the same volume.', 'east.snap-0'),
  offset: fromQuery(z.int()).default(0).describe('Only blocks that end after this byte; without it all.'),
  limit: limitOf(maxPageBlocks, 'extents'),
});

/** Every operation of the Storage API v1 by its id. The client, the gateway's routes and the document come from here. */
export const operations = {
  getCapabilities: {
    route: 'GET /v1/capabilities',
    vendor: 'required',
    doc: 'What the storage can do.',
    answers: { 200: capabilitiesSchema },
  },
  getCapacity: {
    route: 'POST /v1/capacity',
    vendor: 'capacity',
    doc: 'The bytes available for new volumes of a kind. Changes nothing.',
    body: capacitySpecSchema,
    answers: { 200: capacitySchema },
    problems: ['UNIMPLEMENTED'],
  },
  listVolumes: {
    route: 'GET /v1/volumes',
    vendor: 'required',
    doc: 'One page of volumes with their attachments, by id.',
    query: page,
    answers: { 200: volumes.volumePageSchema },
    problems: ['ABORTED'],
  },
  createVolume: {
    route: 'PUT /v1/volumes/{volumeId}',
    vendor: 'required',
    doc: 'Creates the volume, or finds that it is there and fits. The same call may be repeated at any time.',
    body: volumes.volumeSpecSchema,
    answers: created(volumes.volumeSchema),
    problems: [...creation, 'OUT_OF_RANGE'],
  },
  getVolume: {
    route: 'GET /v1/volumes/{volumeId}',
    vendor: 'required',
    doc: 'The volume as it is now.',
    answers: { 200: volumes.volumeSchema },
  },
  deleteVolume: {
    route: 'DELETE /v1/volumes/{volumeId}',
    vendor: 'required',
    doc: 'Deletes the volume; an unknown one is fine. FAILED_PRECONDITION while it is attached or needed.',
    answers: deleted(volumes.volumeSchema),
    problems: ['FAILED_PRECONDITION'],
  },
  validateVolume: {
    route: 'POST /v1/volumes/{volumeId}/validate',
    doc: 'Can the volume be used this way? Changes nothing.',
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
    doc: 'Changes mutable parameters; those that are not named stay as they are.',
    body: volumes.parametersSpecSchema,
    answers: changed(volumes.volumeSchema),
    problems: ['FAILED_PRECONDITION', 'UNIMPLEMENTED'],
  },
  getVolumeHealth: {
    route: 'GET /v1/volumes/{volumeId}/health',
    vendor: 'health',
    doc: 'What is wrong with the volume.',
    answers: { 200: volumes.healthSchema },
    problems: ['UNIMPLEMENTED'],
  },
  listVolumeHealth: {
    route: 'GET /v1/health/volumes',
    feature: 'health',
    doc: 'One page of the volumes with which something is wrong.',
    query: page,
    answers: { 200: volumes.healthPageSchema },
    problems: ['ABORTED', 'UNIMPLEMENTED'],
  },
  grantVolume: {
    route: 'PUT /v1/volumes/{volumeId}/grants/{grantee}',
    doc: 'Shares the volume with another cluster, which then sees and attaches it, or changes how.',
    body: volumes.grantSpecSchema,
    answers: { 200: volumes.grantSchema },
    problems: ['ABORTED', 'FAILED_PRECONDITION'],
  },
  revokeGrant: {
    route: 'DELETE /v1/volumes/{volumeId}/grants/{grantee}',
    doc: 'Shares the volume no longer; what is not shared is fine. FAILED_PRECONDITION while it is attached there.',
    answers: { 204: null },
    problems: ['FAILED_PRECONDITION'],
  },
  attachVolume: {
    route: 'PUT /v1/volumes/{volumeId}/attachments/{nodeId}',
    vendor: 'required',
    doc: 'Attaches the volume to the node, or finds that it is attached and fits.',
    body: attachmentSpecSchema,
    answers: created(attachmentResourceSchema),
    problems: creation,
  },
  getAttachment: {
    route: 'GET /v1/volumes/{volumeId}/attachments/{nodeId}',
    vendor: 'required',
    doc: 'The attachment as it is now.',
    answers: { 200: attachmentResourceSchema },
  },
  detachVolume: {
    route: 'DELETE /v1/volumes/{volumeId}/attachments/{nodeId}',
    vendor: 'required',
    doc: 'Detaches the volume from the node, and answers once the node can no longer read or write.',
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
    doc: 'One page of snapshots that are created, of one volume or of all, by id.',
    query: page.extend({ volumeId: queryText('Only the snapshots of this volume.', 'east.pvc-1') }),
    answers: { 200: snapshots.snapshotPageSchema },
    problems: ['ABORTED', 'UNIMPLEMENTED'],
  },
  createSnapshot: {
    route: 'PUT /v1/snapshots/{snapshotId}',
    vendor: 'snapshots',
    doc: 'Creates the snapshot, or finds that it is there and reports its state.',
    body: snapshots.snapshotSpecSchema,
    answers: created(snapshots.snapshotSchema),
    problems: [...creation, 'UNIMPLEMENTED'],
  },
  getSnapshot: {
    route: 'GET /v1/snapshots/{snapshotId}',
    vendor: 'snapshots',
    doc: 'The snapshot as it is now.',
    answers: { 200: snapshots.snapshotSchema },
    problems: ['UNIMPLEMENTED'],
  },
  deleteSnapshot: {
    route: 'DELETE /v1/snapshots/{snapshotId}',
    vendor: 'snapshots',
    doc: 'Deletes the snapshot; an unknown one is fine. A member of a group goes with its group only.',
    answers: deleted(snapshots.snapshotSchema),
    problems: ['FAILED_PRECONDITION', 'UNIMPLEMENTED'],
  },
  listBlocks: {
    route: 'GET /v1/snapshots/{snapshotId}/blocks',
    vendor: 'changes',
    doc: 'One page of the blocks that hold data, or with `base` of those that differ from that snapshot.',
    query: blockRange,
    answers: { 200: snapshots.blockPageSchema },
    problems: ['ABORTED', 'OUT_OF_RANGE', 'UNIMPLEMENTED'],
  },
  createGroup: {
    route: 'PUT /v1/groups/{groupId}',
    vendor: 'groups',
    doc: 'Creates snapshots of all volumes at one point in time, or none, with the reason.',
    body: snapshots.groupSpecSchema,
    answers: created(snapshots.groupSchema),
    problems: [...creation, 'UNIMPLEMENTED'],
  },
  getGroup: {
    route: 'GET /v1/groups/{groupId}',
    vendor: 'groups',
    doc: 'The group with its snapshots as they are now.',
    answers: { 200: snapshots.groupSchema },
    problems: ['UNIMPLEMENTED'],
  },
  deleteGroup: {
    route: 'DELETE /v1/groups/{groupId}',
    vendor: 'groups',
    doc: 'Deletes the group with all its snapshots; an unknown one is fine.',
    answers: deleted(snapshots.groupSchema),
    problems: ['FAILED_PRECONDITION', 'UNIMPLEMENTED'],
  },
  listNodes: {
    route: 'GET /v1/nodes',
    doc: 'One page of the nodes that the cluster has reported, by id.',
    query: page,
    answers: { 200: nodePageSchema },
    problems: ['ABORTED'],
  },
  putNode: {
    route: 'PUT /v1/nodes/{nodeId}',
    vendor: 'nodes',
    doc: 'Records a node that volumes may be attached to.',
    body: nodeSpecSchema,
    answers: { 200: nodeSchema, 201: nodeSchema },
    problems: ['RESOURCE_EXHAUSTED'],
  },
  getNode: {
    route: 'GET /v1/nodes/{nodeId}',
    doc: 'The node as it was recorded.',
    answers: { 200: nodeSchema },
  },
  deleteNode: {
    route: 'DELETE /v1/nodes/{nodeId}',
    vendor: 'nodes',
    doc: 'Forgets the node; an unknown one is fine.',
    answers: { 204: null },
    problems: ['FAILED_PRECONDITION'],
  },
  audit: {
    route: 'GET /v1/admin/audit',
    doc: 'What the storage and the store do not agree on. Only when it was first seen is recorded.',
    query: admin.auditQuery,
    answers: { 200: admin.auditSchema },
  },
  repair: {
    route: 'PUT /v1/admin/repair',
    doc: 'Finishes what is stuck and removes what is unknown, or shows what it would do.',
    body: admin.repairSpecSchema,
    answers: { 200: admin.repairSchema },
  },
  listDeletedVolumes: {
    route: 'GET /v1/admin/deleted-volumes',
    doc: 'One page of volumes that are deleted and can be restored, by id.',
    query: page,
    answers: { 200: admin.deletedVolumePageSchema },
  },
  restoreVolume: {
    route: 'PUT /v1/admin/deleted-volumes/{volumeId}/restore',
    doc: 'Makes a soft-deleted volume ready again, as it was; one that is ready is fine.',
    answers: { 204: null },
  },
  listAnyVolumes: {
    route: 'GET /v1/admin/volumes',
    doc: 'One page of the volumes of all clusters with their attachments, in any state, by id.',
    query: listing,
    answers: { 200: admin.anyVolumePageSchema },
    problems: ['ABORTED'],
  },
  getAnyVolumeHealth: {
    route: 'GET /v1/admin/volumes/{volumeId}/health',
    doc: 'What is wrong with the volume, as the storage says now.',
    answers: { 200: volumes.healthSchema },
    problems: ['UNIMPLEMENTED'],
  },
  listAnySnapshots: {
    route: 'GET /v1/admin/snapshots',
    doc: 'One page of the snapshots of all clusters, in any state, by id.',
    query: listing.extend({ volumeId: ofVolume }),
    answers: { 200: admin.anySnapshotPageSchema },
    problems: ['ABORTED'],
  },
  listAnyAttachments: {
    route: 'GET /v1/admin/attachments',
    doc: 'One page of the attachments of all clusters, by volume, cluster and node.',
    query: listing.extend({ volumeId: ofVolume, nodeId: queryText('Only those at this node.', 'node-1') }),
    answers: { 200: admin.anyAttachmentPageSchema },
    problems: ['ABORTED'],
  },
  listAnyNodes: {
    route: 'GET /v1/admin/nodes',
    doc: 'One page of the nodes that all clusters have reported, by cluster and node.',
    query: listing,
    answers: { 200: admin.anyNodePageSchema },
    problems: ['ABORTED'],
  },
  listPools: {
    route: 'GET /v1/admin/pools',
    doc: 'The pools as they are now, by name; of a cluster those that it may use.',
    query: listing,
    answers: { 200: admin.poolPageSchema },
    problems: ['ABORTED'],
  },
  listClusters: {
    route: 'GET /v1/admin/clusters',
    doc: 'The clusters that may call, and those that have something, by name.',
    query: listing,
    answers: { 200: admin.clusterPageSchema },
    problems: ['ABORTED'],
  },
  listOperations: {
    route: 'GET /v1/admin/operations',
    doc: 'One page of what gateways work on now, by kind and id.',
    query: listing,
    answers: { 200: admin.operationPageSchema },
    problems: ['ABORTED'],
  },
  listQueues: {
    route: 'GET /v1/admin/queues',
    doc: 'What waits for its turn at the pools of the gateway that answers, by pool and cluster.',
    query: listing,
    answers: { 200: admin.queuePageSchema },
    problems: ['ABORTED'],
  },
  grantAnyVolume: {
    route: 'PUT /v1/admin/volumes/{volumeId}/grants/{grantee}',
    doc: 'Shares a volume of any cluster with another, or changes how.',
    body: volumes.grantSpecSchema,
    answers: { 200: volumes.grantSchema },
    problems: ['ABORTED', 'FAILED_PRECONDITION'],
  },
  revokeAnyGrant: {
    route: 'DELETE /v1/admin/volumes/{volumeId}/grants/{grantee}',
    doc: 'Shares the volume no longer; with `force` it is detached from the nodes of the cluster first.',
    query: admin.revocationQuery,
    answers: { 204: null },
    problems: ['ABORTED', 'FAILED_PRECONDITION'],
  },
  handOverVolume: {
    route: 'PUT /v1/admin/volumes/{volumeId}/owner',
    doc: 'Gives the volume to another cluster, under a new id. It is detached from all nodes first.',
    body: admin.handOverSpecSchema,
    answers: { 200: admin.ownedVolumeSchema },
    problems: ['ABORTED', 'ALREADY_EXISTS', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'],
  },
  importVolume: {
    route: 'PUT /v1/admin/imports/{volumeId}',
    doc: 'Takes what the storage has, and the store does not know, as a volume of this id.',
    body: admin.importSpecSchema,
    answers: { 200: admin.ownedVolumeSchema },
    problems: ['ABORTED', 'ALREADY_EXISTS', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED', 'UNIMPLEMENTED'],
  },
  listAuditLog: {
    route: 'GET /v1/admin/audit-log',
    doc: 'One page of who changed what, and how that ended, the newest first.',
    query: page.extend(admin.auditLogQuery),
    answers: { 200: admin.auditLogPageSchema },
    problems: ['ABORTED'],
  },
} as const satisfies Readonly<Record<string, Operation>>;

/** The header in which a caller says after how many milliseconds it gives up. */
export const timeoutHeaderName = 'x-timeout-ms';

/** The operations by their ids. */
export type Operations = typeof operations;

/** The id of an operation. */
export type OperationId = keyof Operations;

/** An operation with its id and its route in parts; `tag` is the first part of its path. */
export type NamedOperation = ReturnType<typeof toNamed>;

/** All operations, for whoever treats them alike. */
export const allOperations = (Object.keys(operations) as OperationId[]).map(toNamed);

function toNamed(id: OperationId) {
  const operation: Operation = operations[id];
  const [method = '', path = ''] = operation.route.split(' ');
  return { ...operation, id, method, path, tag: path.split('/')[2] ?? '' };
}

/** What a vendor serves, in the order of the table. */
export const vendorOperations = allOperations.filter(({ vendor }) => vendor !== undefined);

/** Every problem that the operation may answer: a request may be bad, what takes long may be under way already, or fail. */
export function problemsOf({ answers, problems = [] }: Operation): readonly ProblemCode[] {
  const always = [
    'UNAUTHENTICATED',
    'UNAVAILABLE',
    'DEADLINE_EXCEEDED',
    'NOT_FOUND',
    'INVALID_ARGUMENT',
  ] as const;
  const ofWork = answers[202] ? (['ABORTED', 'INTERNAL'] as const) : [];
  return [...always, ...ofWork, ...problems];
}

type IdsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [N in Name]: string } & IdsOf<Rest>
  : unknown;

/** What a caller gives: the ids of the path, the query's parameters, and the body as `body`. */
export type Input<O extends Operation> = IdsOf<O['route']> &
  (O extends { readonly query: infer Query extends z.ZodType } ? Readonly<z.input<Query>> : unknown) &
  (O extends { readonly body: infer Body extends z.ZodType } ? { readonly body: z.input<Body> } : unknown);

/** What a handler gets: the same, read by the schemas. */
export type Request<O extends Operation> = IdsOf<O['route']> &
  (O extends { readonly query: infer Query extends z.ZodType } ? Readonly<z.output<Query>> : unknown) &
  (O extends { readonly body: infer Body extends z.ZodType } ? { readonly body: z.output<Body> } : unknown);

/** What it answers once it is done; nothing where a deletion is done. */
export type Output<O extends Operation> = O['answers'] extends {
  readonly 200: infer Answer extends z.ZodType;
}
  ? z.output<Answer>
  : void;

/** An RFC 9457 problem document, as far as it decides anything. */
export const problemSchema = z
  .object({
    code: z.enum(Object.keys(problemTable) as [ProblemCode]),
    detail: z.string().describe('What was found, for people.'),
    requestId: z.string().optional().describe('The same as in the header `x-request-id`.'),
    type: z.string().optional(),
    title: z.string().optional(),
    status: z.int().optional(),
  })
  .meta({ id: 'Problem', description: 'An RFC 9457 problem document; `code` decides, `status` is a hint.' });

import { z } from 'zod';
import { auditQuery, auditSchema, deletedVolumePageSchema, repairSchema, repairSpecSchema } from './admin.ts';
import {
  attachmentResourceSchema as attachment,
  attachmentSpecSchema,
  nodeSchema as node,
  nodeSpecSchema,
} from './node.ts';
import { problemTable, type ProblemCode } from './problem.ts';
import {
  blockPageSchema,
  groupSchema as group,
  groupSpecSchema,
  snapshotPageSchema,
  snapshotSchema as snapshot,
  snapshotSpecSchema,
} from './snapshot.ts';
import { capabilitiesSchema, capacitySchema, capacitySpecSchema } from './storage.ts';
import {
  healthPageSchema,
  healthSchema,
  parametersSpecSchema,
  sizeSpecSchema,
  validationSchema,
  validationSpecSchema,
  volumePageSchema,
  volumeSchema as volume,
  volumeSpecSchema,
} from './volume.ts';

/** Most entries in one page, and how many a page has when nothing is asked; a page stays well below gRPC's 4 MiB. */
export const maxPageEntries = 1_000;

/** Most extents of blocks in one page. */
export const maxPageBlocks = 4_096;

/** Most bytes in a request's or answer's body. */
export const maxBodyBytes = 4 * 1024 * 1024;

/** One operation of the Storage API: a method on a path, what it takes, and what it may answer. */
export type Operation = {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** With the ids in it as `{name}`. */
  readonly path: `/${string}`;
  /** Operators, and nobody else, may call what is tagged `admin`. */
  readonly tag: 'storage' | 'volumes' | 'attachments' | 'snapshots' | 'groups' | 'nodes' | 'admin';
  readonly doc: string;
  /** An object of the query's parameters, read from text. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The answers that are no problem, by status; null where there is no body. One that may be 202 takes `Prefer`. */
  readonly answers: Readonly<Partial<Record<200 | 201 | 202 | 204, z.ZodType | null>>>;
  /** Beside `commonProblems`. */
  readonly problems?: readonly ProblemCode[];
};

/** What every operation may answer. */
export const commonProblems: readonly ProblemCode[] = ['UNAUTHENTICATED', 'UNAVAILABLE'];

const listing = ['INVALID_ARGUMENT', 'ABORTED'] as const;
const change = ['INVALID_ARGUMENT', 'NOT_FOUND', 'ABORTED'] as const;
const creation = [...change, 'ALREADY_EXISTS', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'] as const;
const deletion = ['FAILED_PRECONDITION', 'ABORTED'] as const;

/** How many entries a page may have: 0, none, and more than `most` all mean `most`. */
const limitOf = (most: number, what: string) =>
  z.coerce
    .number<number>()
    .int()
    .min(0)
    .default(0)
    .transform(limit => Math.min(limit || most, most))
    .describe(`Most ${what} in the page; 0: as many as one page holds.`);

/** A text of a query; an empty one is none. */
const textOf = (description: string, example: string) =>
  z
    .string()
    .optional()
    .transform(text => text || undefined)
    .meta({ description, examples: [example] });

const page = z.object({
  limit: limitOf(maxPageEntries, 'entries'),
  pageToken: textOf('The `nextPageToken` of the page before.', 'MTplYXN0LnB2Yy0x'),
});

const blockRange = z.object({
  base: textOf('An older snapshot of the same volume.', 'east.snap-0'),
  offset: z.coerce.number<number>().int().default(0).describe('Only blocks that end after this byte.'),
  limit: limitOf(maxPageBlocks, 'extents'),
});

/** Every operation of the Storage API v1 by its id. The client, the gateway's routes and the document come from here. */
export const operations = {
  getCapabilities: {
    method: 'GET',
    path: '/v1/capabilities',
    tag: 'storage',
    doc: 'What the storage can do.',
    answers: { 200: capabilitiesSchema },
  },
  getCapacity: {
    method: 'POST',
    path: '/v1/capacity',
    tag: 'storage',
    doc: 'The room left for new volumes of a kind. Changes nothing.',
    body: capacitySpecSchema,
    answers: { 200: capacitySchema },
    problems: ['INVALID_ARGUMENT', 'UNIMPLEMENTED'],
  },
  listVolumes: {
    method: 'GET',
    path: '/v1/volumes',
    tag: 'volumes',
    doc: 'One page of volumes with their attachments, by id.',
    query: page,
    answers: { 200: volumePageSchema },
    problems: listing,
  },
  createVolume: {
    method: 'PUT',
    path: '/v1/volumes/{volumeId}',
    tag: 'volumes',
    doc: 'Creates the volume, or finds that it is there and fits. The same call may be repeated at any time.',
    body: volumeSpecSchema,
    answers: { 200: volume, 201: volume, 202: volume },
    problems: [...creation, 'OUT_OF_RANGE'],
  },
  getVolume: {
    method: 'GET',
    path: '/v1/volumes/{volumeId}',
    tag: 'volumes',
    doc: 'The volume as it is now.',
    answers: { 200: volume },
    problems: ['NOT_FOUND'],
  },
  deleteVolume: {
    method: 'DELETE',
    path: '/v1/volumes/{volumeId}',
    tag: 'volumes',
    doc: 'Deletes the volume; an unknown one is fine. FAILED_PRECONDITION while it is attached or needed.',
    answers: { 202: volume, 204: null },
    problems: deletion,
  },
  validateVolume: {
    method: 'POST',
    path: '/v1/volumes/{volumeId}/validate',
    tag: 'volumes',
    doc: 'Can the volume be used this way? Changes nothing.',
    body: validationSpecSchema,
    answers: { 200: validationSchema },
    problems: ['INVALID_ARGUMENT', 'NOT_FOUND'],
  },
  expandVolume: {
    method: 'PUT',
    path: '/v1/volumes/{volumeId}/size',
    tag: 'volumes',
    doc: 'Grows the volume, attached or not, to a size within the bounds. It never shrinks.',
    body: sizeSpecSchema,
    answers: { 200: volume, 202: volume },
    problems: [...change, 'OUT_OF_RANGE', 'RESOURCE_EXHAUSTED', 'UNIMPLEMENTED'],
  },
  modifyVolume: {
    method: 'PUT',
    path: '/v1/volumes/{volumeId}/parameters',
    tag: 'volumes',
    doc: 'Changes mutable parameters; those that are not named stay as they are.',
    body: parametersSpecSchema,
    answers: { 200: volume, 202: volume },
    problems: [...change, 'UNIMPLEMENTED'],
  },
  getVolumeHealth: {
    method: 'GET',
    path: '/v1/volumes/{volumeId}/health',
    tag: 'volumes',
    doc: 'What is wrong with the volume.',
    answers: { 200: healthSchema },
    problems: ['NOT_FOUND', 'UNIMPLEMENTED'],
  },
  listVolumeHealth: {
    method: 'GET',
    path: '/v1/health/volumes',
    tag: 'volumes',
    doc: 'One page of the volumes with which something is wrong.',
    query: page,
    answers: { 200: healthPageSchema },
    problems: [...listing, 'UNIMPLEMENTED'],
  },
  attachVolume: {
    method: 'PUT',
    path: '/v1/volumes/{volumeId}/attachments/{nodeId}',
    tag: 'attachments',
    doc: 'Attaches the volume to the node, or finds that it is attached and fits.',
    body: attachmentSpecSchema,
    answers: { 200: attachment, 201: attachment, 202: attachment },
    problems: creation,
  },
  getAttachment: {
    method: 'GET',
    path: '/v1/volumes/{volumeId}/attachments/{nodeId}',
    tag: 'attachments',
    doc: 'The attachment as it is now.',
    answers: { 200: attachment },
    problems: ['NOT_FOUND'],
  },
  detachVolume: {
    method: 'DELETE',
    path: '/v1/volumes/{volumeId}/attachments/{nodeId}',
    tag: 'attachments',
    doc: 'Detaches the volume from the node, and answers once the node can no longer read or write.',
    answers: { 202: attachment, 204: null },
    problems: deletion,
  },
  detachVolumeFromAllNodes: {
    method: 'DELETE',
    path: '/v1/volumes/{volumeId}/attachments',
    tag: 'attachments',
    doc: 'Detaches the volume from all nodes.',
    answers: { 202: volume, 204: null },
    problems: deletion,
  },
  listSnapshots: {
    method: 'GET',
    path: '/v1/snapshots',
    tag: 'snapshots',
    doc: 'One page of snapshots that are created, of one volume or of all, by id.',
    query: page.extend({ volumeId: textOf('Only the snapshots of this volume.', 'east.pvc-1') }),
    answers: { 200: snapshotPageSchema },
    problems: [...listing, 'UNIMPLEMENTED'],
  },
  createSnapshot: {
    method: 'PUT',
    path: '/v1/snapshots/{snapshotId}',
    tag: 'snapshots',
    doc: 'Creates the snapshot, or finds that it is there and reports its state.',
    body: snapshotSpecSchema,
    answers: { 200: snapshot, 201: snapshot, 202: snapshot },
    problems: [...creation, 'UNIMPLEMENTED'],
  },
  getSnapshot: {
    method: 'GET',
    path: '/v1/snapshots/{snapshotId}',
    tag: 'snapshots',
    doc: 'The snapshot as it is now.',
    answers: { 200: snapshot },
    problems: ['NOT_FOUND', 'UNIMPLEMENTED'],
  },
  deleteSnapshot: {
    method: 'DELETE',
    path: '/v1/snapshots/{snapshotId}',
    tag: 'snapshots',
    doc: 'Deletes the snapshot; an unknown one is fine. A member of a group goes with its group only.',
    answers: { 202: snapshot, 204: null },
    problems: [...deletion, 'INVALID_ARGUMENT', 'UNIMPLEMENTED'],
  },
  listBlocks: {
    method: 'GET',
    path: '/v1/snapshots/{snapshotId}/blocks',
    tag: 'snapshots',
    doc: 'One page of the blocks that hold data, or with `base` of those that differ from that snapshot.',
    query: blockRange,
    answers: { 200: blockPageSchema },
    problems: [...change, 'OUT_OF_RANGE', 'UNIMPLEMENTED'],
  },
  createGroup: {
    method: 'PUT',
    path: '/v1/groups/{groupId}',
    tag: 'groups',
    doc: 'Creates snapshots of all volumes at one point in time, or none, with the reason.',
    body: groupSpecSchema,
    answers: { 200: group, 201: group, 202: group },
    problems: [...creation, 'UNIMPLEMENTED'],
  },
  getGroup: {
    method: 'GET',
    path: '/v1/groups/{groupId}',
    tag: 'groups',
    doc: 'The group with its snapshots as they are now.',
    answers: { 200: group },
    problems: ['NOT_FOUND', 'UNIMPLEMENTED'],
  },
  deleteGroup: {
    method: 'DELETE',
    path: '/v1/groups/{groupId}',
    tag: 'groups',
    doc: 'Deletes the group with all its snapshots; an unknown one is fine.',
    answers: { 202: group, 204: null },
    problems: [...deletion, 'UNIMPLEMENTED'],
  },
  putNode: {
    method: 'PUT',
    path: '/v1/nodes/{nodeId}',
    tag: 'nodes',
    doc: 'Records a node that volumes may be attached to.',
    body: nodeSpecSchema,
    answers: { 200: node, 201: node },
    problems: ['INVALID_ARGUMENT'],
  },
  getNode: {
    method: 'GET',
    path: '/v1/nodes/{nodeId}',
    tag: 'nodes',
    doc: 'The node as it was recorded.',
    answers: { 200: node },
    problems: ['NOT_FOUND'],
  },
  deleteNode: {
    method: 'DELETE',
    path: '/v1/nodes/{nodeId}',
    tag: 'nodes',
    doc: 'Forgets the node; an unknown one is fine.',
    answers: { 204: null },
    problems: ['FAILED_PRECONDITION'],
  },
  audit: {
    method: 'GET',
    path: '/v1/admin/audit',
    tag: 'admin',
    doc: 'What the storage and the store do not agree on. Only when it was first seen is recorded.',
    query: auditQuery,
    answers: { 200: auditSchema },
    problems: ['INVALID_ARGUMENT'],
  },
  repair: {
    method: 'PUT',
    path: '/v1/admin/repair',
    tag: 'admin',
    doc: 'Finishes what is stuck and removes what is unknown, or shows what it would do.',
    body: repairSpecSchema,
    answers: { 200: repairSchema },
    problems: ['INVALID_ARGUMENT'],
  },
  listDeletedVolumes: {
    method: 'GET',
    path: '/v1/admin/deleted-volumes',
    tag: 'admin',
    doc: 'One page of volumes that are deleted and can be restored, by id.',
    query: page,
    answers: { 200: deletedVolumePageSchema },
    problems: ['INVALID_ARGUMENT'],
  },
  restoreVolume: {
    method: 'PUT',
    path: '/v1/admin/deleted-volumes/{volumeId}/restore',
    tag: 'admin',
    doc: 'Makes a soft-deleted volume ready again, as it was; one that is ready is fine.',
    answers: { 204: null },
    problems: ['NOT_FOUND'],
  },
} as const satisfies Readonly<Record<string, Operation>>;

/** The operations by their ids. */
export type Operations = typeof operations;

/** The id of an operation. */
export type OperationId = keyof Operations;

/** All operations with their ids, for whoever treats them alike. */
export const allOperations = Object.entries(operations) as readonly (readonly [OperationId, Operation])[];

type IdsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [N in Name]: string } & IdsOf<Rest>
  : unknown;

/** What a caller gives: the ids of the path, the query's parameters, and the body as `body`. */
export type Input<O extends Operation> = IdsOf<O['path']> &
  (O extends { readonly query: infer Query extends z.ZodType } ? Readonly<z.input<Query>> : unknown) &
  (O extends { readonly body: infer Body extends z.ZodType } ? { readonly body: z.input<Body> } : unknown);

/** What a handler gets: the same, read by the schemas. */
export type Request<O extends Operation> = IdsOf<O['path']> &
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
  .meta({
    id: 'Problem',
    description: 'An RFC 9457 problem document. `code` decides; `status` is a hint.',
  });

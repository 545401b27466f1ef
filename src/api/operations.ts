import type { z } from 'zod';
import type { ProblemCode } from './problem.ts';
import * as resources from './resources.ts';
import { routes } from './routes.ts';
import * as snapshots from './snapshot-resources.ts';

/** One operation of the Storage API: a method on a path, what it takes, and what it may answer. */
export type Operation = {
  readonly id: string;
  readonly method: 'get' | 'put' | 'post' | 'delete';
  /** One of `routes`. */
  readonly path: string;
  readonly tag: 'storage' | 'volumes' | 'attachments' | 'snapshots' | 'groups' | 'nodes';
  readonly doc: string;
  /** Parameters of the query, by the names that `queryParameters` in openapi.ts describes. */
  readonly query?: readonly QueryName[];
  readonly body?: z.ZodType;
  /** The answers that are no problem, by status; null where there is no body. */
  readonly answers: Readonly<Record<number, z.ZodType | null>>;
  /** Beside those that every operation may answer. */
  readonly problems?: readonly ProblemCode[];
};

/** The name of a parameter of a query. */
export type QueryName = 'limit' | 'pageToken' | 'volumeId' | 'base' | 'offset' | 'blockLimit';

type Rest = Omit<Operation, 'id' | 'method' | 'path'>;

/** What every operation may answer. */
export const commonProblems: readonly ProblemCode[] = ['UNAUTHENTICATED', 'UNAVAILABLE'];

const { volumeSchema: volume, attachmentResourceSchema: attachment, nodeSchema: node } = resources;
const { snapshotSchema: snapshot, groupSchema: group } = snapshots;
const creation: readonly ProblemCode[] = [
  'INVALID_ARGUMENT',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'FAILED_PRECONDITION',
  'ABORTED',
  'RESOURCE_EXHAUSTED',
];
const page = ['limit', 'pageToken'] as const;
const made = (schema: z.ZodType): Operation['answers'] => ({ 200: schema, 201: schema });
const madeLater = (schema: z.ZodType): Operation['answers'] => ({ ...made(schema), 202: schema });
const goneLater = (schema: z.ZodType): Operation['answers'] => ({ 202: schema, 204: null });

/** Every operation of the Storage API v1. */
export const operations: readonly Operation[] = [
  get(routes.capabilities, 'getCapabilities', {
    tag: 'storage',
    doc: 'What the backend can do.',
    answers: { 200: resources.capabilitiesSchema },
  }),
  post(routes.capacity, 'getCapacity', {
    tag: 'storage',
    doc: 'The room left for new volumes of a kind. Changes nothing.',
    body: resources.capacitySpecSchema,
    answers: { 200: resources.capacitySchema },
    problems: ['INVALID_ARGUMENT', 'UNIMPLEMENTED'],
  }),
  get(routes.volumes, 'listVolumes', {
    tag: 'volumes',
    query: page,
    doc: 'One page of volumes with their attachments, by id.',
    answers: { 200: resources.volumePageSchema },
    problems: ['INVALID_ARGUMENT', 'ABORTED'],
  }),
  put(routes.volume, 'createVolume', {
    tag: 'volumes',
    doc: 'Makes the volume, or finds that it is there and fits. The same call may be repeated at any time.',
    body: resources.volumeSpecSchema,
    answers: madeLater(volume),
    problems: [...creation, 'OUT_OF_RANGE'],
  }),
  get(routes.volume, 'getVolume', {
    tag: 'volumes',
    doc: 'The volume as it is now.',
    answers: { 200: volume },
    problems: ['NOT_FOUND'],
  }),
  remove(routes.volume, 'deleteVolume', {
    tag: 'volumes',
    doc: 'Removes the volume; one that is not there is fine. Refused while it is attached or needed.',
    answers: goneLater(volume),
    problems: ['FAILED_PRECONDITION', 'ABORTED'],
  }),
  post(routes.validation, 'validateVolume', {
    tag: 'volumes',
    doc: 'Can the volume be used this way? Changes nothing.',
    body: resources.validationSpecSchema,
    answers: { 200: resources.validationSchema },
    problems: ['INVALID_ARGUMENT', 'NOT_FOUND'],
  }),
  put(routes.size, 'expandVolume', {
    tag: 'volumes',
    doc: 'Grows the volume, attached or not, to a size within the bounds. It never shrinks.',
    body: resources.sizeSpecSchema,
    answers: { 200: volume, 202: volume },
    problems: [
      'INVALID_ARGUMENT',
      'NOT_FOUND',
      'ABORTED',
      'OUT_OF_RANGE',
      'RESOURCE_EXHAUSTED',
      'UNIMPLEMENTED',
    ],
  }),
  put(routes.parameters, 'modifyVolume', {
    tag: 'volumes',
    doc: 'Changes mutable parameters; those that are not named stay as they are.',
    body: resources.parametersSpecSchema,
    answers: { 200: volume, 202: volume },
    problems: ['INVALID_ARGUMENT', 'NOT_FOUND', 'ABORTED', 'UNIMPLEMENTED'],
  }),
  get(routes.health, 'getVolumeHealth', {
    tag: 'volumes',
    doc: 'What is wrong with the volume.',
    answers: { 200: resources.healthSchema },
    problems: ['NOT_FOUND', 'UNIMPLEMENTED'],
  }),
  get(routes.volumesHealth, 'listVolumesHealth', {
    tag: 'volumes',
    query: page,
    doc: 'One page of the volumes with which something is wrong.',
    answers: { 200: resources.healthPageSchema },
    problems: ['INVALID_ARGUMENT', 'ABORTED', 'UNIMPLEMENTED'],
  }),
  put(routes.attachment, 'attachVolume', {
    tag: 'attachments',
    doc: 'Opens the way from the node to the volume, or finds that it is open and fits. The way from a machine whose place the node took (`n1@20` takes that of `n1@10`) is closed before; a node whose own place was taken is refused.',
    body: resources.attachmentSpecSchema,
    answers: madeLater(attachment),
    problems: [...creation],
  }),
  remove(routes.attachment, 'detachVolume', {
    tag: 'attachments',
    doc: 'Closes the way, and those from machines whose place the node took, and answers once they can no longer read or write.',
    answers: goneLater(attachment),
    problems: ['FAILED_PRECONDITION', 'ABORTED'],
  }),
  remove(routes.attachments, 'detachVolumeFromAll', {
    tag: 'attachments',
    doc: 'Closes the ways from all nodes to the volume.',
    answers: goneLater(volume),
    problems: ['FAILED_PRECONDITION', 'ABORTED'],
  }),
  get(routes.snapshots, 'listSnapshots', {
    tag: 'snapshots',
    doc: 'One page of snapshots that are cut, of one volume or of all, by id.',
    query: [...page, 'volumeId'],
    answers: { 200: snapshots.snapshotPageSchema },
    problems: ['INVALID_ARGUMENT', 'ABORTED', 'UNIMPLEMENTED'],
  }),
  put(routes.snapshot, 'createSnapshot', {
    tag: 'snapshots',
    doc: 'Cuts the snapshot, or finds that it is there and tells how it goes on.',
    body: snapshots.snapshotSpecSchema,
    answers: madeLater(snapshot),
    problems: [...creation, 'UNIMPLEMENTED'],
  }),
  get(routes.snapshot, 'getSnapshot', {
    tag: 'snapshots',
    doc: 'The snapshot as it is now.',
    answers: { 200: snapshot },
    problems: ['NOT_FOUND', 'UNIMPLEMENTED'],
  }),
  remove(routes.snapshot, 'deleteSnapshot', {
    tag: 'snapshots',
    doc: 'Removes the snapshot; one that is not there is fine. A member of a group goes with its group only.',
    answers: goneLater(snapshot),
    problems: ['INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'ABORTED', 'UNIMPLEMENTED'],
  }),
  get(routes.blocks, 'listBlocks', {
    tag: 'snapshots',
    doc: 'One page of the blocks that hold data, or with `base` of those that differ from that snapshot.',
    query: ['base', 'offset', 'blockLimit'],
    answers: { 200: snapshots.blockPageSchema },
    problems: ['INVALID_ARGUMENT', 'NOT_FOUND', 'ABORTED', 'OUT_OF_RANGE', 'UNIMPLEMENTED'],
  }),
  put(routes.group, 'createGroup', {
    tag: 'groups',
    doc: 'Cuts snapshots of all volumes at one point in time, or none, with the reason.',
    body: snapshots.groupSpecSchema,
    answers: madeLater(group),
    problems: [...creation, 'UNIMPLEMENTED'],
  }),
  get(routes.group, 'getGroup', {
    tag: 'groups',
    doc: 'The group with its snapshots as they are now.',
    answers: { 200: group },
    problems: ['NOT_FOUND', 'UNIMPLEMENTED'],
  }),
  remove(routes.group, 'deleteGroup', {
    tag: 'groups',
    doc: 'Removes the group with all its snapshots; one that is not there is fine.',
    answers: goneLater(group),
    problems: ['FAILED_PRECONDITION', 'ABORTED', 'UNIMPLEMENTED'],
  }),
  put(routes.node, 'putNode', {
    tag: 'nodes',
    doc: 'Tells of a node that volumes may be attached to.',
    body: resources.nodeSpecSchema,
    answers: made(node),
    problems: ['INVALID_ARGUMENT'],
  }),
  get(routes.node, 'getNode', {
    tag: 'nodes',
    doc: 'What was told of the node.',
    answers: { 200: node },
    problems: ['NOT_FOUND'],
  }),
  remove(routes.node, 'deleteNode', {
    tag: 'nodes',
    doc: 'Forgets the node; one that is not known is fine.',
    answers: { 204: null },
    problems: ['FAILED_PRECONDITION'],
  }),
];

function get(path: string, id: string, rest: Rest): Operation {
  return { id, method: 'get', path, ...rest };
}

function put(path: string, id: string, rest: Rest): Operation {
  return { id, method: 'put', path, ...rest };
}

function post(path: string, id: string, rest: Rest): Operation {
  return { id, method: 'post', path, ...rest };
}

function remove(path: string, id: string, rest: Rest): Operation {
  return { id, method: 'delete', path, ...rest };
}

import { createHttp, malformedProblem, type Call, type HttpOptions, type HttpRequest } from './http.ts';
import {
  allOperations,
  maxPageBlocks,
  maxPageEntries,
  type Input,
  type NamedOperation,
  type OperationId,
  type Operations,
  type Output,
} from './operations.ts';
import { byteLength } from './ids.ts';
import { limits } from './limits.ts';
import { Problem } from './problem.ts';
import type { BlockPage, Snapshot } from './snapshot.ts';
import { isForReaders } from './storage.ts';
import type { Grant, SizeSpec, Volume } from './volume.ts';
import { sameJson } from '../lib/json.ts';

/**
 * The Storage API v1 as functions, one per operation. A changing call returns only when its work is done. If the work still
 * runs at the deadline, the call is ABORTED, and the same call later joins the work. An answer that does not fit the request,
 * such as another volume's, is UNAVAILABLE. Every error is a `Problem`.
 */
export type StorageClient = {
  readonly [Id in OperationId]: (input: Input<Operations[Id]>, call: Call) => Promise<Output<Operations[Id]>>;
} & {
  /** Ends all connections at once; running calls fail with UNAVAILABLE. */
  close(): Promise<void>;
};

type AnyInput = Readonly<Record<string, unknown>>;
type Fault = string | undefined;
type AnyCheck = (answer: unknown, request: AnyInput) => readonly Fault[];

/** Checks that list where a final answer differs from its request; the ids of the path are checked elsewhere. */
const checks: {
  readonly [Id in OperationId]?: (
    answer: Output<Operations[Id]>,
    request: Input<Operations[Id]>,
  ) => readonly Fault[];
} = {
  listVolumes: (page, request) => pageFaults(page, page.volumes, request),
  createVolume: (volume, { body }) => [
    faultOf('name', volume.name, body.name),
    faultOf('state', volume.state, 'ready'),
    faultOf('source', volume.source, body.source),
    sizeFault(volume, body),
  ],
  expandVolume: (volume, { body }) => [faultOf('state', volume.state, 'ready'), sizeFault(volume, body)],
  modifyVolume: ({ state }) => [faultOf('state', state, 'ready')],
  listVolumeHealth: (page, request) => pageFaults(page, page.volumes, request),
  grantVolume: grantFaults,
  attachVolume({ attachment, state, readonly: found }, { body }) {
    const readonly = body.readonly || isForReaders(body.capability);
    return [
      faultOf('state', state, 'attached'),
      faultOf('readonly', found, readonly),
      faultOf('attachment.readonly', attachment?.readonly, readonly),
      sizeFault({ sizeBytes: attachment?.sizeBytes ?? 0 }),
    ];
  },
  listSnapshots: (page, request) => [
    ...pageFaults(page, page.snapshots, request),
    ...page.snapshots.map(one => faultOf('volumeId', one.volumeId, request.volumeId || one.volumeId)),
  ],
  createSnapshot: (snapshot, { body: { name, volumeId } }) => [
    faultOf('name', snapshot.name, name),
    faultOf('volumeId', snapshot.volumeId, volumeId),
    ...cutFaults(snapshot),
  ],
  listBlocks: (page, request) => blockFaults(page, request),
  createGroup: ({ name, snapshots }, { groupId, body }) => [
    faultOf('name', name, body.name),
    // A repeated request may name the volumes in another order.
    faultOf('volumes', snapshots.map(one => one.volumeId).toSorted(), body.volumeIds.toSorted()),
    ...snapshots.flatMap(one => [faultOf('groupId', one.groupId, groupId), ...cutFaults(one)]),
  ],
  getGroup: ({ snapshots }, { groupId }) => snapshots.map(one => faultOf('groupId', one.groupId, groupId)),
  listNodes: (page, request) => pageFaults(page, page.nodes, request),
  listAuditLog: (page, request) => pageFaults(page, page.entries, request),
  listHistory: (page, request) => pageFaults(page, page.minutes, request),
  listDeletedVolumes: (page, request) => pageFaults(page, page.volumes, request),
  listAllVolumes: (page, request) => pageFaults(page, page.volumes, request),
  listAllSnapshots: (page, request) => pageFaults(page, page.snapshots, request),
  listAllAttachments: (page, request) => pageFaults(page, page.attachments, request),
  listAllNodes: (page, request) => pageFaults(page, page.nodes, request),
  listPools: (page, request) => pageFaults(page, page.pools, request),
  listClusters: (page, request) => pageFaults(page, page.clusters, request),
  listOperations: (page, request) => pageFaults(page, page.operations, request),
  listQueues: (page, request) => pageFaults(page, page.queues, request),
  grantAdminVolume: grantFaults,
  transferVolume: ({ volume }, { volumeId, body: { cluster, name } }) =>
    ownedFaults(volume, `${cluster}.${name ?? volumeId.slice(volumeId.indexOf('.') + 1)}`),
  importVolume: ({ volume }, { volumeId, body: { pool, dryRun } }) => [
    // A dry run does not ask the storage for the size.
    ...ownedFaults(dryRun ? { ...volume, sizeBytes: volume.sizeBytes || 1 } : volume, volumeId),
    faultOf('pool', volume.pool, pool),
  ],
};

/** Creates a client. It opens connections when they are needed and keeps them. */
export function createClient(options: HttpOptions): StorageClient {
  const http = createHttp(options);
  const calls = allOperations.map(operation => [
    operation.id,
    async (input: AnyInput, call: Call) => {
      const ids = idsOf(operation, input);
      if (!ids && operation.method === 'DELETE') return undefined;
      if (!ids) throw nothingNamedProblem(operation, input);
      const request = { operation, ids, path: toPath(operation, ids, input), body: input['body'] };
      const answer = await http.send(request, call);
      const findFaults = checks[operation.id] as AnyCheck | undefined;
      const faults = findFaults?.(answer, input).filter(fault => fault !== undefined);
      if (faults && faults.length > 0) throw malformedProblem(request, faults.join('; '));
      return answer;
    },
  ]);
  return { ...Object.fromEntries(calls), close: () => http.close() } as StorageClient;
}

/** Returns the ids for the path; undefined if one of them cannot be an id. */
function idsOf(operation: NamedOperation, input: AnyInput): HttpRequest['ids'] | undefined {
  const ids = namesOf(operation).map(name => [name, String(input[name])] as const);
  return ids.some(([, id]) => !canBeId(id)) ? undefined : Object.fromEntries(ids);
}

function namesOf({ path }: NamedOperation): readonly string[] {
  return path.match(/(?<=\{)\w+/g) ?? [];
}

/** Maximum bytes of an id; a node's id is the longest kind. */
const maxIdBytes = limits.nodeIdBytes.max;
const maxShownId = 40;

/** False for text that is longer than any id or cannot be part of a path. */
function canBeId(id: string): boolean {
  return id !== '' && id !== '.' && id !== '..' && id.isWellFormed() && byteLength(id) <= maxIdBytes;
}

function nothingNamedProblem(operation: NamedOperation, input: AnyInput): Problem {
  const id = namesOf(operation)
    .map(name => String(input[name]))
    .find(one => !canBeId(one));
  return new Problem('NOT_FOUND', `nothing has the id ${JSON.stringify(shorten(id ?? ''))}`);
}

function shorten(id: string): string {
  return id.length <= maxShownId ? id : `${id.slice(0, maxShownId).toWellFormed()}…`;
}

function toPath({ path, query }: NamedOperation, ids: HttpRequest['ids'], input: AnyInput): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? ''));
  const given = Object.keys(query?.shape ?? {}).flatMap(key =>
    input[key] === undefined || input[key] === '' ? [] : [[key, String(input[key])]],
  );
  return given.length === 0 ? filled : `${filled}?${new URLSearchParams(given)}`;
}

function faultOf(what: string, found: unknown, requested: unknown): Fault {
  return sameJson(found, requested)
    ? undefined
    : `${what} is ${JSON.stringify(found)}, not ${JSON.stringify(requested)}`;
}

function sizeFault({ sizeBytes }: { readonly sizeBytes: number }, bounds: SizeSpec = {}): Fault {
  const min = Math.max(bounds.requiredBytes ?? 0, 1);
  const max = bounds.limitBytes || Infinity;
  return sizeBytes >= min && sizeBytes <= max ? undefined : `sizeBytes is ${sizeBytes}`;
}

function cutFaults({ state, ...snapshot }: Snapshot): readonly Fault[] {
  const isCut = state === 'processing' || state === 'ready';
  return [isCut ? undefined : `state is "${state}"`, sizeFault(snapshot)];
}

function grantFaults(
  { cluster, access }: Grant,
  { grantee, body }: Input<Operations['grantVolume']>,
): readonly Fault[] {
  return [faultOf('cluster', cluster, grantee), faultOf('access', access, body.access)];
}

function ownedFaults({ id, state, ...volume }: Volume, requestedId: string): readonly Fault[] {
  return [faultOf('id', id, requestedId), faultOf('state', state, 'ready'), sizeFault(volume)];
}

type Page = { readonly nextPageToken?: string | undefined };
type PageRequest = { readonly limit?: number | undefined; readonly pageToken?: string | undefined };

/** Lists the faults of a page: too many entries, or a token that leads to the same page for ever. */
function pageFaults(
  { nextPageToken }: Page,
  { length }: readonly unknown[],
  { limit, pageToken }: PageRequest,
): readonly Fault[] {
  return [
    length > (limit || maxPageEntries) ? `${length} entries` : undefined,
    nextPageToken !== undefined && nextPageToken === (pageToken ?? '')
      ? 'nextPageToken is its own'
      : undefined,
  ];
}

/** Lists the faults of a page of blocks: they must be in order, and the next page must follow, or a backup would miss blocks. */
function blockFaults(
  { sizeBytes, blocks, nextOffset }: BlockPage,
  { offset = 0, limit }: Pick<Input<Operations['listBlocks']>, 'offset' | 'limit'>,
): readonly Fault[] {
  const ends = blocks.map(block => block.offset + block.length);
  const stray = blocks.find((block, i) => block.offset < (ends[i - 1] ?? 0) || (ends[i] ?? 0) <= offset);
  const end = ends.at(-1) ?? 0;
  const leadsOn = nextOffset === undefined || (nextOffset > offset && nextOffset >= end);
  return [
    blocks.length > (limit || maxPageBlocks) ? `${blocks.length} blocks` : undefined,
    stray && `the block at ${stray.offset} is out of order`,
    leadsOn ? undefined : `nextOffset is ${nextOffset}`,
    Math.max(end, nextOffset ?? 0) > sizeBytes ? `more than its ${sizeBytes} bytes` : undefined,
  ];
}

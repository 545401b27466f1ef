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
import { Problem } from './problem.ts';
import type { BlockPage, Snapshot } from './snapshot.ts';
import type { Grant, SizeSpec, Volume } from './volume.ts';
import { sameJson } from '../lib/json.ts';

/**
 * The Storage API v1 as functions, one for each operation. A call that changes something returns only when it is done;
 * one that still runs at its deadline is ABORTED, and the same call later joins it. An answer that is not of what was
 * asked, such as another volume's, is UNAVAILABLE. Every error is a `Problem`.
 */
export type StorageClient = {
  readonly [Id in OperationId]: (input: Input<Operations[Id]>, call: Call) => Promise<Output<Operations[Id]>>;
} & {
  /** Ends all connections at once; calls that are under way fail with UNAVAILABLE. */
  close(): Promise<void>;
};

type AnyInput = Readonly<Record<string, unknown>>;
type Fault = string | undefined;
type AnyCheck = (answer: unknown, asked: AnyInput) => readonly Fault[];

/** What the answer to work that is done has that is not as it was asked for, beside the ids of the path. */
const checks: {
  readonly [Id in OperationId]?: (
    answer: Output<Operations[Id]>,
    asked: Input<Operations[Id]>,
  ) => readonly Fault[];
} = {
  listVolumes: (page, asked) => pageFaults(page, page.volumes, asked),
  createVolume: (volume, { body }) => [
    faultOf('name', volume.name, body.name),
    faultOf('state', volume.state, 'ready'),
    faultOf('source', volume.source, body.source),
    sizeFault(volume, body),
  ],
  expandVolume: (volume, { body }) => [faultOf('state', volume.state, 'ready'), sizeFault(volume, body)],
  modifyVolume: ({ state }) => [faultOf('state', state, 'ready')],
  listVolumeHealth: (page, asked) => pageFaults(page, page.volumes, asked),
  grantVolume: grantFaults,
  attachVolume({ attachment, state, readonly: found }, { body }) {
    const readonly = body.readonly || body.capability.accessMode.endsWith('_READER_ONLY');
    return [
      faultOf('state', state, 'attached'),
      faultOf('readonly', found, readonly),
      faultOf('attachment.readonly', attachment?.readonly, readonly),
      sizeFault({ sizeBytes: attachment?.sizeBytes ?? 0 }),
    ];
  },
  listSnapshots: (page, asked) => [
    ...pageFaults(page, page.snapshots, asked),
    ...page.snapshots.map(one => faultOf('volumeId', one.volumeId, asked.volumeId || one.volumeId)),
  ],
  createSnapshot: (snapshot, { body: { name, volumeId } }) => [
    faultOf('name', snapshot.name, name),
    faultOf('volumeId', snapshot.volumeId, volumeId),
    ...cutFaults(snapshot),
  ],
  listBlocks: (page, asked) => blockFaults(page, asked),
  createGroup: ({ name, snapshots }, { groupId, body }) => [
    faultOf('name', name, body.name),
    // The same group may be asked for again in another order.
    faultOf('volumes', snapshots.map(one => one.volumeId).toSorted(), body.volumeIds.toSorted()),
    ...snapshots.flatMap(one => [faultOf('groupId', one.groupId, groupId), ...cutFaults(one)]),
  ],
  getGroup: ({ snapshots }, { groupId }) => snapshots.map(one => faultOf('groupId', one.groupId, groupId)),
  listNodes: (page, asked) => pageFaults(page, page.nodes, asked),
  listAuditLog: (page, asked) => pageFaults(page, page.entries, asked),
  listDeletedVolumes: (page, asked) => pageFaults(page, page.volumes, asked),
  listAnyVolumes: (page, asked) => pageFaults(page, page.volumes, asked),
  listAnySnapshots: (page, asked) => pageFaults(page, page.snapshots, asked),
  listAnyAttachments: (page, asked) => pageFaults(page, page.attachments, asked),
  listAnyNodes: (page, asked) => pageFaults(page, page.nodes, asked),
  listPools: (page, asked) => pageFaults(page, page.pools, asked),
  listClusters: (page, asked) => pageFaults(page, page.clusters, asked),
  listOperations: (page, asked) => pageFaults(page, page.operations, asked),
  listQueues: (page, asked) => pageFaults(page, page.queues, asked),
  grantAnyVolume: grantFaults,
  handOverVolume: ({ volume }, { volumeId, body: { cluster, name } }) =>
    ownedFaults(volume, `${cluster}.${name ?? volumeId.slice(volumeId.indexOf('.') + 1)}`),
  importVolume: ({ volume }, { volumeId, body: { pool } }) => [
    ...ownedFaults(volume, volumeId),
    faultOf('pool', volume.pool, pool),
  ],
};

/** Makes a client; connections are opened when needed and kept. */
export function createClient(options: HttpOptions): StorageClient {
  const http = createHttp(options);
  const calls = allOperations.map(operation => [
    operation.id,
    async (input: AnyInput, call: Call) => {
      const ids = idsOf(operation, input);
      if (!ids && operation.method === 'DELETE') return undefined;
      if (!ids) throw new Problem('NOT_FOUND', `no path can hold ${JSON.stringify(input)}`);
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

/** The ids in the path; undefined when one of them cannot stand in a path. */
function idsOf({ path }: NamedOperation, input: AnyInput): HttpRequest['ids'] | undefined {
  const ids = path.match(/(?<=\{)\w+/g)?.map(name => [name, String(input[name])] as const) ?? [];
  const isBad = ([, id]: (typeof ids)[number]) =>
    id === '' || id === '.' || id === '..' || !id.isWellFormed();
  return ids.some(isBad) ? undefined : Object.fromEntries(ids);
}

/** The path with its ids escaped and the query. */
function toPath({ path, query }: NamedOperation, ids: HttpRequest['ids'], input: AnyInput): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? ''));
  const given = Object.keys(query?.shape ?? {}).flatMap(key =>
    input[key] === undefined || input[key] === '' ? [] : [[key, String(input[key])]],
  );
  return given.length === 0 ? filled : `${filled}?${new URLSearchParams(given)}`;
}

function faultOf(what: string, found: unknown, asked: unknown): Fault {
  return sameJson(found, asked)
    ? undefined
    : `${what} is ${JSON.stringify(found)}, not ${JSON.stringify(asked)}`;
}

function sizeFault({ sizeBytes }: { readonly sizeBytes: number }, bounds: SizeSpec = {}): Fault {
  const least = Math.max(bounds.requiredBytes ?? 0, 1);
  const most = bounds.limitBytes || Infinity;
  return sizeBytes >= least && sizeBytes <= most ? undefined : `sizeBytes is ${sizeBytes}`;
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

/** What a cluster got is there, under the id that it was to get. */
function ownedFaults({ id, state, ...volume }: Volume, asked: string): readonly Fault[] {
  return [faultOf('id', id, asked), faultOf('state', state, 'ready'), sizeFault(volume)];
}

type Page = { readonly nextPageToken?: string | undefined };
type PageAsked = { readonly limit?: number | undefined; readonly pageToken?: string | undefined };

/** A page that leads to itself would be read for ever. */
function pageFaults(
  { nextPageToken }: Page,
  { length }: readonly unknown[],
  { limit, pageToken }: PageAsked,
): readonly Fault[] {
  return [
    length > (limit || maxPageEntries) ? `${length} entries` : undefined,
    nextPageToken !== undefined && nextPageToken === (pageToken ?? '')
      ? 'nextPageToken is its own'
      : undefined,
  ];
}

/** What is missing from the blocks is missing from a backup: they come in order, and the next page goes on behind them. */
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

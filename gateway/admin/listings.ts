import type {
  AdminAttachment,
  AdminNode,
  AdminSnapshot,
  AdminVolume,
  RunningOperation,
} from '../../src/api/admin.ts';
import type { Operations as Rows, Request } from '../../src/api/operations.ts';
import { invalidProblem } from '../../src/api/problem.ts';
import type { VolumeSource } from '../../src/api/volume.ts';
import { toSnapshot } from '../snapshots/record.ts';
import type { Reader } from '../store.ts';
import { attachmentTable, type AttachmentRecord, type ShownAttachment } from '../tables/attachments.ts';
import { claimTable, type Claim } from '../tables/claims.ts';
import { readMissed } from '../tables/clock.ts';
import { countVolumesAt, findNodesByName, nodeTable } from '../tables/nodes.ts';
import {
  fromPageToken,
  readAllInPieces,
  readPage,
  type AllListName,
  type PieceStart,
} from '../tables/paging.ts';
import { snapshotTable, type SnapshotRecord } from '../tables/snapshots.ts';
import { findVolume, volumeTable, type VolumeRecord } from '../tables/volumes.ts';
import { notFoundProblem } from '../callers/ownership.ts';
import { createVolumesHealth } from '../volumes/health.ts';
import { findCopiers } from '../sharing/copies.ts';
import { restorableUntil } from '../volumes/record.ts';
import { createRelations, toVolume } from '../volumes/show.ts';
import { type IdFilters, type IdTable, pieceById, searchById } from '../tables/by-id.ts';
import { listFiltered } from '../tables/filtered-volumes.ts';
import { listOrdered } from '../tables/ordered-volumes.ts';
import { readClusters, readPools, readQueues, type ListRequest, type ListingOptions } from './state.ts';

/** Creates the lists over all clusters. The `id` of an entry is unique in its list and gives the order. */
export function createListings(options: ListingOptions) {
  const { slices } = options;
  const { reader } = options.engine;
  const health = createVolumesHealth(options);

  const take = <T>(piece: () => Promise<T>): Promise<T> => slices.take('operator', piece);

  /** Reads a page, each piece in its own time slice. */
  function page<N extends AllListName, T extends { readonly id: string }>(
    name: N,
    request: ListRequest,
    read: (afterId: string, count: number) => Promise<readonly T[]>,
  ) {
    return pageInSlices(name, request, (...from) => take(() => read(...from)));
  }

  /** Reads a piece of a list by id. */
  function readById<R>(
    table: IdTable<R>,
    {
      same,
      request,
      from,
    }: { readonly same: Partial<R>; readonly request: IdFilters; readonly from: PieceStart },
  ): Promise<readonly R[]> {
    if (request.search !== undefined)
      return searchById(reader, { table, same, filters: request, from }, take);
    return take(() => table.select(reader, same, ...pieceById(request, from)));
  }

  /** Reads a piece of the copies of a volume and of its snapshots: a piece of the copies of each, in the common order. */
  async function readCopies(
    volumeId: string,
    request: IdFilters,
    from: PieceStart,
  ): Promise<readonly VolumeRecord[]> {
    const copies: VolumeRecord[] = [];
    const add = async (source: VolumeSource): Promise<void> => {
      const tail = pieceById({ ...request, source }, from);
      copies.push(...(await take(() => volumeTable.select(reader, {}, ...tail))));
    };
    await add({ kind: 'volume', volumeId });
    const snapshots = readAllInPieces<SnapshotRecord>((last, limit) =>
      take(() => snapshotTable.select(reader, { volumeId }, ...pieceById({}, [last?.id ?? '', limit]))),
    );
    for await (const { id } of snapshots) await add({ kind: 'snapshot', snapshotId: id });
    return copies.toSorted((one, other) => (one.id < other.id ? -1 : 1)).slice(0, from[1]);
  }

  async function readVolumes(
    request: Request<Rows['listAllVolumes']>,
    from: PieceStart,
  ): Promise<readonly VolumeRecord[]> {
    const { copyOf, cluster, id, search, pool, state, orderBy } = request;
    if (orderBy !== undefined) {
      if ([copyOf, cluster, id, search, pool, state].some(filter => filter !== undefined))
        throw invalidProblem('orderBy: a list with a filter is by id; leave out the filter or the order');
      return take(() => listOrdered(reader, orderBy, from));
    }
    if (copyOf !== undefined) return readCopies(copyOf, request, from);
    if (id === undefined && search === undefined && (pool ?? state) !== undefined)
      return take(() => listFiltered(reader, { cluster, pool, state }, from));
    return readById(volumeTable, { same: given({ cluster }), request, from });
  }

  async function* showVolumes(
    request: Request<Rows['listAllVolumes']>,
    from: PieceStart,
  ): AsyncGenerator<AdminVolume, void> {
    const volumes = await readVolumes(request, from);
    const isDeleted = volumes.some(({ state }) => state === 'deleted');
    const missedMs = isDeleted ? await readMissed(reader) : 0;
    const copiers = await take(() => findCopiers(options, 'volume', volumes));
    const readRelations = createRelations(options, volumes, { take });
    for (const volume of volumes) {
      const { attachments, grants } = await readRelations(volume);
      const until = restorableUntil(volume, missedMs);
      yield {
        ...toVolume(volume, [], { grants }),
        ...ofOperator(volume, attachments),
        copyGrants: copiers.get(volume.id),
        ...(until !== undefined && { restorableUntil: new Date(until).toISOString() }),
      };
    }
  }

  return {
    listAllVolumes: (request: Request<Rows['listAllVolumes']>) =>
      pageInSlices('volumes', request, (...from) => showVolumes(request, from)),

    async getAdminVolumeHealth({ volumeId: id }: Request<Rows['getAdminVolumeHealth']>) {
      const volume = await findVolume(reader, id);
      if (!volume) throw notFoundProblem({ kind: 'volume', id });
      return health.find(volume);
    },

    listAllSnapshots: (request: Request<Rows['listAllSnapshots']>) =>
      pageInSlices('snapshots', request, async (...from) => {
        const { cluster, volumeId } = request;
        const same = given({ cluster, volumeId });
        const found = await readById(snapshotTable, { same, request, from });
        const copiers = await take(() => findCopiers(options, 'snapshot', found));
        return found.map(one => toAdminSnapshot(one, copiers.get(one.id)));
      }),

    listAllAttachments: (request: Request<Rows['listAllAttachments']>) =>
      page('attachments', request, async (...from) =>
        (await listAttachments(reader, request, from)).map(toAdminAttachment),
      ),

    listAllNodes: (request: ListRequest) =>
      page('nodes', request, async (...from): Promise<readonly AdminNode[]> => {
        const shown: AdminNode[] = [];
        for (const { cluster, nodeId, spec, goneMs } of await listNodes(reader, request, from)) {
          const { maxVolumes, topology } = spec;
          const volumes = await countVolumesAt(reader, { cluster, nodeId });
          const left = goneMs !== undefined && { missingSince: new Date(goneMs).toISOString() };
          shown.push({ id: `${cluster}/${nodeId}`, cluster, nodeId, maxVolumes, topology, volumes, ...left });
        }
        return shown;
      }),

    listOperations: (request: ListRequest) =>
      page('operations', request, async (...from) =>
        (await listClaims(reader, request, from)).map(toRunning),
      ),

    listPools: (request: ListRequest) =>
      page('pools', request, (...from) => readPools(options, request, from)),
    listQueues: (request: ListRequest) =>
      page('queues', request, async (...from) => readQueues(options, request, from)),
    listClusters: (request: ListRequest) =>
      page('clusters', request, (...from) => readClusters(options, request, from)),
  };
}

/** Reads a page, a few entries at a time. `read` takes its own time slices. */
async function pageInSlices<N extends AllListName, T extends { readonly id: string }>(
  name: N,
  { limit, pageToken }: ListRequest,
  read: (afterId: string, count: number) => Promise<readonly T[]> | AsyncIterable<T>,
) {
  const list = `all-${name}` as const;
  const afterId = fromPageToken(undefined, pageToken, list);
  const { entries, ...rest } = await readPage({ afterId, limit, list }, read);
  return { ...({ [name]: entries } as { readonly [K in N]: T[] }), ...rest };
}

/** The orders of attachments that have an index. */
const attachmentOrders = [
  ['volumeId', 'cluster', 'nodeId'],
  ['nodeId', 'cluster', 'volumeId'],
  ['cluster', 'nodeId', 'volumeId'],
] as const;

/** Returns a piece of the attachments, in the order of an index that keeps the requested ones together. */
async function listAttachments(
  reader: Reader,
  { id, cluster, volumeId, nodeId }: Request<Rows['listAllAttachments']>,
  [afterId, limit]: PieceStart,
): Promise<readonly AttachmentRecord[]> {
  const same = { ...(id !== undefined && attachmentKey(id)), ...given({ cluster, volumeId, nodeId }) };
  const used = attachmentOrders.find(([first]) => same[first] !== undefined) ?? attachmentOrders[0];
  const order = used.filter(column => same[column] === undefined);
  if (order.length === 0 && afterId !== '') return [];
  const piece = { order, last: attachmentKey(afterId), limit };
  const found = await attachmentTable.selectAfter(reader, same, piece);
  return found.filter(one => toAttachmentId(one) === (id ?? toAttachmentId(one)));
}

function attachmentKey(id: string): Pick<AttachmentRecord, 'volumeId' | 'cluster' | 'nodeId'> {
  const [volumeId = '', cluster = '', nodeId = ''] = partsOf(id, 3);
  return { volumeId, cluster, nodeId };
}

function toAttachmentId({ volumeId, cluster, nodeId }: AttachmentRecord): string {
  return `${volumeId}/${cluster}/${nodeId}`;
}

/**
 * Returns a piece of the nodes by cluster and id. An id without a key finds the nodes with that name, because
 * people know the name.
 */
async function listNodes(reader: Reader, { cluster, id }: ListRequest, [afterId, limit]: PieceStart) {
  const [[of = '', after = ''], [ofOne = '', one = '']] = [partsOf(afterId, 2), partsOf(id ?? '', 2)];
  const last = { cluster: of, nodeId: after };
  if (id === undefined)
    return cluster === undefined
      ? nodeTable.selectAfter(reader, {}, { order: ['cluster', 'nodeId'], last, limit })
      : nodeTable.selectAfter(reader, { cluster }, { order: ['nodeId'], last, limit });
  if (ofOne !== (cluster ?? ofOne)) return [];
  const exact = await nodeTable.find(reader, { cluster: ofOne, nodeId: one });
  if (!exact) return findNodesByName(reader, { cluster: ofOne, name: one }, { afterId: after, limit });
  return afterId === '' ? [exact] : [];
}

/** The kinds of resources with claims, in the order of the list. */
const kinds = ['group', 'snapshot', 'volume'] as const;

/** Returns a piece of the claims, by kind and id. */
async function listClaims(
  reader: Reader,
  { cluster, id }: ListRequest,
  [afterId, count]: PieceStart,
): Promise<readonly Claim[]> {
  const [ofKind = '', after = ''] = partsOf(afterId, 2);
  const [only, onlyId] = id === undefined ? [] : partsOf(id, 2);
  const found: Claim[] = [];
  for (const kind of kinds.filter(one => one >= ofKind && one === (only ?? one))) {
    const from = [kind === ofKind ? after : '', count - found.length] as const;
    found.push(...(await claimTable.select(reader, { kind }, ...pieceById({ cluster, id: onlyId }, from))));
  }
  return found;
}

/** Splits an id into parts. Only the last part may contain slashes. */
function partsOf(id: string, length: number): readonly string[] {
  const [first = '', ...rest] = id.split('/');
  return length === 1 ? [id] : [first, ...partsOf(rest.join('/'), length - 1)];
}

/** Returns the members that are not undefined. */
function given<T extends Readonly<Record<string, string | undefined>>>(members: T) {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    readonly [K in keyof T]?: string;
  };
}

/** Returns the members of a volume that only operators see. */
function ofOperator(record: VolumeRecord, attachments: readonly ShownAttachment[]) {
  const { cluster, pool, state, reservedBytes, spec, storageId } = record;
  return {
    cluster,
    pool,
    state,
    reservedBytes,
    capabilities: [...spec.capabilities],
    attachments: attachments.map(({ cluster: of, nodeId, state: now, readonly }) => ({
      cluster: of,
      nodeId,
      state: now,
      readonly,
    })),
    ...(storageId !== undefined && { storageId }),
  };
}

function toAdminSnapshot(record: SnapshotRecord, copyGrants: AdminSnapshot['copyGrants']): AdminSnapshot {
  const { cluster, pool, reservedBytes } = record;
  return { ...toSnapshot(record), cluster, pool, reservedBytes, copyGrants };
}

/** Shows an attachment without its reach, which only the node may know. */
function toAdminAttachment(record: AttachmentRecord): AdminAttachment {
  const { volumeId, cluster, nodeId, state, readonly, capability, reach, sizeBytes } = record;
  return {
    id: toAttachmentId(record),
    volumeId,
    cluster,
    nodeId,
    state,
    readonly,
    capability,
    ...(reach && { protocol: reach.protocol }),
    ...(sizeBytes !== undefined && { sizeBytes }),
  };
}

function toRunning({ kind, id: resourceId, operation, owner, sinceMs, untilMs }: Claim): RunningOperation {
  const [since = '', until = ''] = [sinceMs, untilMs].map(ms => new Date(ms).toISOString());
  return { id: `${kind}/${resourceId}`, kind, resourceId, operation, since, until, holder: owner };
}

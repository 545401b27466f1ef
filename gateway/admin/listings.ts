import type {
  AnyAttachment,
  AnyNode,
  AnySnapshot,
  AnyVolume,
  RunningOperation,
} from '../../src/api/admin.ts';
import { readNodeId } from '../../src/api/ids.ts';
import type { Operations as Rows, Request } from '../../src/api/operations.ts';
import { toSnapshot } from '../snapshots/record.ts';
import type { Reader, SqlValue } from '../store.ts';
import { attachmentTable, findAttachmentsOf, type AttachmentRecord } from '../tables/attachments.ts';
import { claimTable, type Claim } from '../tables/claims.ts';
import { countVolumesOnNodes, nodeTable } from '../tables/nodes.ts';
import { fromPageToken, readPage, type AnyListName } from '../tables/paging.ts';
import { snapshotTable, type SnapshotRecord } from '../tables/snapshots.ts';
import { findVolume, volumeTable, type VolumeRecord } from '../tables/volumes.ts';
import { notFoundProblem } from '../tenancy/ownership.ts';
import { createVolumesHealth } from '../volumes/health.ts';
import { toVolume } from '../volumes/record.ts';
import { grantsOf } from '../volumes/show.ts';
import { readClusters, readPools, readQueues, type Asked, type ListingOptions } from './state.ts';

/** Makes the lists of what all clusters have; `id` of an entry is unique in its list, and orders it. */
export function createListings(options: ListingOptions) {
  const { turns } = options;
  const { reader } = options.engine;
  const health = createVolumesHealth(options);

  /** One page, read a few entries at a time. */
  async function page<N extends AnyListName, T extends { readonly id: string }>(
    name: N,
    { limit, pageToken }: Asked,
    read: (afterId: string, count: number) => Promise<readonly T[]>,
  ) {
    const list = `any-${name}` as const;
    const afterId = fromPageToken(undefined, pageToken, list);
    const { entries, ...rest } = await readPage({ afterId, limit, list }, (after, count) =>
      turns.take('operator', () => read(after, count)),
    );
    return { ...({ [name]: entries } as { readonly [K in N]: T[] }), ...rest };
  }

  return {
    listAnyVolumes: (asked: Asked) =>
      page('volumes', asked, async (...from) => {
        const { cluster } = asked;
        const volumes = await volumeTable.select(reader, given({ cluster }), ...tailOf(['id'], asked, from));
        const attachments = await findAttachmentsOf(reader, volumes);
        const shown: AnyVolume[] = [];
        for (const volume of volumes) {
          const grants = await grantsOf(reader, volume);
          shown.push({
            ...toVolume(volume, [], { grants }),
            ...ofOperator(volume, attachments.get(volume.id)),
          });
        }
        return shown;
      }),

    async getAnyVolumeHealth({ volumeId: id }: Request<Rows['getAnyVolumeHealth']>) {
      const volume = await findVolume(reader, id);
      if (!volume) throw notFoundProblem({ kind: 'volume', id });
      return health.find(volume);
    },

    listAnySnapshots: (asked: Request<Rows['listAnySnapshots']>) =>
      page('snapshots', asked, async (...from) => {
        const { cluster, volumeId } = asked;
        const same = given({ cluster, volumeId });
        return (await snapshotTable.select(reader, same, ...tailOf(['id'], asked, from))).map(toAnySnapshot);
      }),

    listAnyAttachments: (asked: Request<Rows['listAnyAttachments']>) =>
      page('attachments', asked, async (...from) => {
        const { cluster, volumeId, nodeId } = asked;
        const tail = tailOf(['volume_id', 'cluster', 'node_id'], asked, from);
        const same = given({ cluster, volumeId, nodeId });
        return (await attachmentTable.select(reader, same, ...tail)).map(toAnyAttachment);
      }),

    listAnyNodes: (asked: Asked) =>
      page('nodes', asked, async (...from): Promise<readonly AnyNode[]> => {
        const tail = tailOf(['cluster', 'node_id'], asked, from);
        const exact = await nodeTable.select(reader, given({ cluster: asked.cluster }), ...tail);
        const nodes =
          asked.id === undefined || exact.length > 0 ? exact : await findByName(reader, asked.id, from);
        const counts = await countVolumesOnNodes(reader, nodes);
        return nodes.map(({ cluster, nodeId, spec: { maxVolumes, topology } }) => {
          const id = `${cluster}/${nodeId}`;
          return { id, cluster, nodeId, maxVolumes, topology, volumes: counts.get(id) ?? 0 };
        });
      }),

    listOperations: (asked: Asked) =>
      page('operations', asked, async (...from) => {
        const [tail, ...values] = tailOf(['kind', 'id'], asked, from);
        if (asked.cluster === undefined)
          return (await claimTable.select(reader, {}, tail, ...values)).map(toRunning);
        // Ids of a cluster begin with its name and a dot, which a slash follows.
        const between = [`${asked.cluster}.`, `${asked.cluster}/`];
        const own = `and id >= ? and id < ? ${tail}`;
        return (await claimTable.select(reader, {}, own, ...between, ...values)).map(toRunning);
      }),

    listPools: (asked: Asked) =>
      page('pools', asked, async (...from) => select(await readPools(options, asked), asked, from)),
    listQueues: (asked: Asked) =>
      page('queues', asked, async (...from) => select(readQueues(options, asked), asked, from)),
    listClusters: (asked: Asked) =>
      page('clusters', asked, async (...from) => select(await readClusters(options, asked), asked, from)),
  };
}

/** Nodes by their name without the key, as people know them. */
async function findByName(reader: Reader, id: string, [afterId, count]: From) {
  const [cluster = '', name] = partsOf(id, 2);
  const nodes = afterId === '' ? await nodeTable.select(reader, { cluster }, 'order by node_id') : [];
  return nodes.filter(({ nodeId }) => readNodeId(nodeId).name === name).slice(0, count);
}

/** After which id a piece begins, and how many entries it has. */
type From = readonly [afterId: string, count: number];

/** The end of a query for so many rows after an id, or for the one that is asked for. An id is a key's columns, with slashes between. */
function tailOf(
  key: readonly string[],
  { id }: Asked,
  [afterId, count]: From,
): readonly [string, ...SqlValue[]] {
  const columns = `(${key.join(', ')})`;
  const places = `(${key.map(() => '?').join(', ')})`;
  const only = id === undefined ? '' : `and ${columns} = ${places}`;
  const values = [afterId, ...(id === undefined ? [] : [id])].flatMap(one => partsOf(one, key.length));
  return [`and ${columns} > ${places} ${only} order by ${key.join(', ')} limit ?`, ...values, count];
}

/** The parts of an id, the last of which may have slashes in it. */
function partsOf(id: string, length: number): readonly string[] {
  const [first = '', ...rest] = id.split('/');
  return length === 1 ? [id] : [first, ...partsOf(rest.join('/'), length - 1)];
}

/** Those of what is in memory, by id. */
function select<T extends { readonly id: string }>(
  all: readonly T[],
  { id: asked }: Asked,
  [afterId, count]: From,
): readonly T[] {
  const found = all.filter(({ id }) => id > afterId && id === (asked ?? id));
  return found.toSorted((one, other) => (one.id < other.id ? -1 : 1)).slice(0, count);
}

/** The members that are given. */
function given<T extends Readonly<Record<string, string | undefined>>>(members: T) {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    readonly [K in keyof T]?: string;
  };
}

/** What operators see of a volume beside what its owner does. */
function ofOperator(record: VolumeRecord, attachments: readonly AttachmentRecord[] = []) {
  const { cluster, pool, state, reservedBytes, spec, restorableUntilMs, storageId } = record;
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
    ...(restorableUntilMs !== undefined && { restorableUntil: new Date(restorableUntilMs).toISOString() }),
  };
}

function toAnySnapshot(record: SnapshotRecord): AnySnapshot {
  const { cluster, pool, reservedBytes } = record;
  return { ...toSnapshot(record), cluster, pool, reservedBytes };
}

/** How a node reaches the volume is that node's alone. */
function toAnyAttachment(record: AttachmentRecord): AnyAttachment {
  const { volumeId, cluster, nodeId, state, readonly, capability, reach, sizeBytes } = record;
  return {
    id: `${volumeId}/${cluster}/${nodeId}`,
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

import type {
  AdminAttachment,
  AdminNode,
  AdminSnapshot,
  AdminVolume,
  AuditEntry,
  ClusterState,
  PoolState,
  Queue,
  RunningOperation,
} from '../api/admin.ts';
import type { Call } from '../api/http.ts';
import type { StorageClient } from '../api/client.ts';
import { clusterOf, readNodeId } from '../api/ids.ts';
import { formatSegments, type Segments } from '../api/topology.ts';
import { toAge, toSize } from './output/values.ts';
import { describeLastFailure, faultOf } from './pool-health.ts';

/** An entry of a list, as the gateway returns it. */
export type Entry = { readonly id: string };

/** The filters of a list; without any, everything is listed. */
export type Query = Readonly<
  Partial<Record<'cluster' | 'id' | 'volumeId' | 'nodeId' | 'resource' | 'since' | 'until', string>>
> & { readonly limit?: number };

type Value = string | number | undefined;

/** A column of a table. Rows are sorted by its values, which `show` makes readable. */
export type Column<E extends Entry = Entry> = {
  readonly head: string;
  of(entry: E, nowMs: number): Value;
  show?(value: number): string;
  /** True for a column of `-o wide` only. */
  readonly isWide?: boolean;
};

/** A kind of entry that operators list. */
export type Kind<E extends Entry = Entry> = {
  /** The word for one entry. */
  readonly one: string;
  /** Other names of the list in commands. */
  readonly aliases: readonly string[];
  readonly doc: string;
  readonly columns: readonly Column<E>[];
  /** True for a log: entries never change, the newest comes first, and a list without a limit would be too long. */
  readonly isLog?: boolean;
  /** Makes the query for a name that a user typed, in `cluster` when one is chosen. A query with an `id` finds at most one entry. */
  ask(name: string, cluster?: string): Query;
  page(client: StorageClient, query: Query & { readonly pageToken: string }, call: Call): Promise<Page<E>>;
};

type Page<E> = { readonly entries: readonly E[]; readonly nextPageToken?: string | undefined };

/** Infers the type of a kind's entries from its row. */
function kind<E extends Entry>(row: Kind<E>): Kind<E> {
  return row;
}

const age = {
  head: 'age',
  of: ({ createdAt }: { createdAt: string }, nowMs: number) => nowMs - Date.parse(createdAt),
  show: toAge,
};
const size = (head: string, of: (entry: never) => number | undefined) => ({ head, of, show: toSize });
/** The node's name, which is its id without the key. */
const nameOf = (nodeId: string): string => readNodeId(nodeId).name;
const wide = <C extends object>(column: C) => ({ ...column, isWide: true });
const list = (words: readonly string[] = []): string => words.join(',');
const showTopologies = (topologies: readonly Segments[] | undefined): string =>
  list(topologies?.map(formatSegments));

const volumes = kind<AdminVolume>({
  one: 'volume',
  aliases: ['volume', 'vol'],
  doc: 'volumes in any state, soft-deleted ones included',
  ask: ofCluster('.'),
  page: async (client, query, call) => toPage(await client.listAllVolumes(query, call), 'volumes'),
  columns: [
    { head: 'id', of: ({ id }) => id },
    { head: 'state', of: ({ state, pending = [] }) => [state, ...pending].join('+') },
    { head: 'pool', of: ({ pool }) => pool },
    size('size', ({ sizeBytes }: AdminVolume) => sizeBytes),
    { head: 'attached', of: ({ attachments }) => list(attachments.map(({ nodeId }) => nameOf(nodeId))) },
    age,
    wide({ head: 'cluster', of: ({ cluster }: AdminVolume) => cluster }),
    wide(size('reserved', ({ reservedBytes }: AdminVolume) => reservedBytes)),
    wide({
      head: 'modes',
      of: ({ capabilities }: AdminVolume) =>
        list([...new Set(capabilities.map(({ accessType, accessMode }) => `${accessType}:${accessMode}`))]),
    }),
    wide({
      head: 'shared',
      of: ({ grants }: AdminVolume) =>
        list(
          grants?.map(
            ({ cluster, access, isAccepted }) =>
              `${cluster}:${access}${isAccepted === false ? ':not-accepted' : ''}`,
          ),
        ),
    }),
    wide({ head: 'topology', of: ({ topology }: AdminVolume) => showTopologies(topology) }),
    wide({ head: 'storage-id', of: ({ storageId }: AdminVolume) => storageId }),
    wide({ head: 'restorable', of: ({ restorableUntil }: AdminVolume) => restorableUntil }),
  ],
});

const snapshots = kind<AdminSnapshot>({
  one: 'snapshot',
  aliases: ['snapshot', 'snap'],
  doc: 'snapshots in any state, members of groups included',
  ask: ofCluster('.'),
  page: async (client, query, call) => toPage(await client.listAllSnapshots(query, call), 'snapshots'),
  columns: [
    { head: 'id', of: ({ id }) => id },
    { head: 'volume', of: ({ volumeId }) => volumeId },
    { head: 'state', of: ({ state }) => state },
    { head: 'pool', of: ({ pool }) => pool },
    size('size', ({ sizeBytes }: AdminSnapshot) => sizeBytes),
    age,
    wide({ head: 'cluster', of: ({ cluster }: AdminSnapshot) => cluster }),
    wide({ head: 'group', of: ({ groupId }: AdminSnapshot) => groupId }),
    wide(size('reserved', ({ reservedBytes }: AdminSnapshot) => reservedBytes)),
    wide({ head: 'topology', of: ({ topology }: AdminSnapshot) => showTopologies(topology) }),
  ],
});

const attachments = kind<AdminAttachment>({
  one: 'attachment',
  aliases: ['attachment', 'att'],
  doc: 'attachments of volumes to nodes; a name is a volume, or volume/cluster/node',
  ask: (name, cluster) =>
    name.includes('/') ? { id: name } : { volumeId: ofCluster('.')(name, cluster).id ?? name },
  page: async (client, query, call) => toPage(await client.listAllAttachments(query, call), 'attachments'),
  columns: [
    { head: 'volume', of: ({ volumeId }) => volumeId },
    { head: 'node', of: ({ nodeId }) => nameOf(nodeId) },
    { head: 'cluster', of: ({ cluster }) => cluster },
    { head: 'state', of: ({ state }) => state },
    { head: 'writes', of: ({ readonly }) => (readonly ? 'no' : 'yes') },
    { head: 'protocol', of: ({ protocol }) => protocol },
    wide({ head: 'mode', of: ({ capability }: AdminAttachment) => capability.accessMode }),
    wide({
      head: 'type',
      of: ({ capability }: AdminAttachment) => capability.fsType ?? capability.accessType,
    }),
    wide(size('size', ({ sizeBytes }: AdminAttachment) => sizeBytes)),
  ],
});

const nodes = kind<AdminNode>({
  one: 'node',
  aliases: ['node'],
  doc: 'nodes that clusters have reported; a name is cluster/node, with or without the key in its id',
  ask: ofCluster('/'),
  page: async (client, query, call) => toPage(await client.listAllNodes(query, call), 'nodes'),
  columns: [
    { head: 'id', of: ({ cluster, nodeId }) => `${cluster}/${nameOf(nodeId)}` },
    { head: 'volumes', of: ({ volumes: attached }) => attached },
    { head: 'max', of: ({ maxVolumes }) => maxVolumes },
    { head: 'topology', of: ({ topology }) => (topology ? formatSegments(topology) : '') },
    {
      head: 'gone-for',
      of: ({ goneSince }, nowMs) => (goneSince === undefined ? undefined : nowMs - Date.parse(goneSince)),
      show: toAge,
    },
    wide({ head: 'cluster', of: ({ cluster }: AdminNode) => cluster }),
    wide({ head: 'node', of: ({ nodeId }: AdminNode) => nameOf(nodeId) }),
    wide({ head: 'key', of: ({ nodeId }: AdminNode) => readNodeId(nodeId).key }),
  ],
});

const pools = kind<PoolState>({
  one: 'pool',
  aliases: ['pool'],
  doc: 'pools, with their space and the reason why they wait',
  ask: id => ({ id }),
  page: async (client, query, call) => toPage(await client.listPools(query, call), 'pools'),
  columns: [
    { head: 'id', of: ({ id }) => id },
    { head: 'backend', of: ({ backend }) => backend },
    { head: 'state', of: ({ state, drainedSince }) => (drainedSince ? `${state}+drained` : state) },
    {
      head: 'answers',
      of: ({ answers, isPaused }) =>
        isPaused ? 'paused' : answers === undefined ? '' : answers ? 'yes' : 'no',
    },
    size('total', ({ totalBytes }: PoolState) => totalBytes),
    size('reserved', ({ reservedBytes }: PoolState) => reservedBytes),
    { head: 'used', of: usedOf, show: percent => `${percent}%` },
    { head: 'volumes', of: ({ volumes: count }) => count },
    { head: 'fault', of: faultOf },
    wide({ head: 'last-failure', of: (pool: PoolState) => describeLastFailure(pool) }),
    wide({
      head: 'failed-calls',
      of: ({ recentCalls }: PoolState) => recentCalls && `${recentCalls.failed}/${recentCalls.total} in 5m`,
    }),
    wide({
      head: 'oldest-call',
      of: ({ oldestCall }: PoolState) => oldestCall && `${oldestCall.method} since ${oldestCall.since}`,
    }),
    wide({ head: 'snapshots', of: ({ snapshots: count }: PoolState) => count }),
    wide({ head: 'features', of: ({ features }: PoolState) => list(features) }),
    wide({ head: 'topology', of: ({ topologies }: PoolState) => showTopologies(topologies) }),
  ],
});

const clusters = kind<ClusterState>({
  one: 'cluster',
  aliases: ['cluster'],
  doc: 'clusters, with their quotas and usage',
  ask: id => ({ id }),
  page: async (client, query, call) => toPage(await client.listClusters(query, call), 'clusters'),
  columns: [
    { head: 'id', of: ({ id }) => id },
    {
      head: 'enrolled',
      of: ({ isEnrolled, retiredSince, keyFaults = [] }) =>
        retiredSince ? 'retired' : isEnrolled ? (keyFaults.length > 0 ? 'faulty keys' : 'yes') : 'no',
    },
    { head: 'pools', of: ({ pools: usable }) => (usable ? list(usable) : 'all') },
    { head: 'volumes', of: ({ volumes: count }) => count },
    size('reserved', ({ use }: ClusterState) => use.reduce((sum, one) => sum + one.reservedBytes, 0)),
    { head: 'nodes', of: ({ nodes: count }) => count },
    { head: 'attachments', of: ({ attachments: count }) => count },
    { head: 'quota', of: ({ quotas }) => list(quotas.map(toQuota)) },
    {
      head: 'seen',
      of: ({ lastSeenAt }, nowMs) => (lastSeenAt === undefined ? undefined : nowMs - Date.parse(lastSeenAt)),
      show: toAge,
    },
    { head: 'fault', of: ({ keyFaults }) => keyFaults?.join('; ') },
    wide({ head: 'snapshots', of: ({ snapshots: count }: ClusterState) => count }),
    wide({
      head: 'use',
      of: ({ use }: ClusterState) => list(use.map(one => `${one.pool}:${toSize(one.reservedBytes)}`)),
    }),
  ],
});

const operations = kind<RunningOperation>({
  one: 'operation',
  aliases: ['operation', 'op'],
  doc: 'running operations; a name is a volume, or kind/id',
  ask: (name, cluster) =>
    name.includes('/') ? { id: name } : { id: `volume/${ofCluster('.')(name, cluster).id}` },
  page: async (client, query, call) => toPage(await client.listOperations(query, call), 'operations'),
  columns: [
    { head: 'id', of: ({ id }) => id },
    { head: 'operation', of: ({ operation }) => operation },
    { head: 'for', of: ({ since }, nowMs) => nowMs - Date.parse(since), show: toAge },
    { head: 'holder', of: ({ holder }) => holder.slice(0, 8) },
    wide({ head: 'since', of: ({ since }: RunningOperation) => since }),
    wide({ head: 'until', of: ({ until }: RunningOperation) => until }),
  ],
});

const queues = kind<Queue>({
  one: 'queue',
  aliases: ['queue'],
  doc: 'queues of operations that wait for a slot at a pool; a name is pool/cluster',
  ask: id => ({ id }),
  page: async (client, query, call) => toPage(await client.listQueues(query, call), 'queues'),
  columns: [
    { head: 'id', of: ({ id }) => id },
    { head: 'waiting', of: ({ waiting }) => waiting },
    { head: 'running', of: ({ running }) => running },
    { head: 'limit', of: ({ limit }) => limit },
    { head: 'oldest', of: ({ oldestWaitMs }) => oldestWaitMs, show: toAge },
    wide({ head: 'pool', of: ({ pool }: Queue) => pool }),
    wide({ head: 'cluster', of: ({ cluster }: Queue) => cluster }),
  ],
});

const audit = kind<AuditEntry>({
  one: 'entry',
  aliases: [],
  doc: 'the audit log: who changed which resource and the outcome; the newest 100 entries, or --limit; a name is the resource',
  isLog: true,
  ask: (name, cluster) => ({ resource: ofCluster('.')(name, cluster).id ?? name }),
  async page(client, query, call) {
    const { entries, nextPageToken } = await client.listAuditLog(query, call);
    return { entries, nextPageToken };
  },
  columns: [
    { head: 'at', of: ({ at }) => at },
    { head: 'actor', of: ({ actor }) => actor },
    { head: 'operation', of: ({ operation }) => operation },
    { head: 'resource', of: ({ resource }) => resource },
    { head: 'about', of: ({ about }) => about },
    { head: 'code', of: ({ code }) => code },
    { head: 'times', of: ({ count }) => count },
    { head: 'detail', of: ({ detail }) => detail },
    wide({ head: 'kind', of: ({ kind: of }: AuditEntry) => of }),
    wide({ head: 'first', of: ({ firstAt }: AuditEntry) => firstAt }),
    wide({ head: 'subject', of: ({ subject }: AuditEntry) => subject }),
    wide({ head: 'request', of: ({ requestId }: AuditEntry) => requestId }),
  ],
});

export type KindName =
  | 'volumes'
  | 'snapshots'
  | 'attachments'
  | 'nodes'
  | 'pools'
  | 'clusters'
  | 'operations'
  | 'queues'
  | 'audit';

/** All kinds of entries that operators list. */
export const kinds: Readonly<Record<KindName, Kind>> = {
  volumes,
  snapshots,
  attachments,
  nodes,
  pools,
  clusters,
  operations,
  queues,
  audit,
};

/** Formats a quota as `bytes:1Gi/10Gi`. */
export function toQuota({ path, used, limit }: ClusterState['quotas'][number]): string {
  const show = path.endsWith('bytes') ? toSize : String;
  return `${path}:${show(used)}/${show(limit)}`;
}

/** Calculates the reserved part of a pool in percent; undefined for a pool of unknown size. */
export function usedOf({ totalBytes, reservedBytes }: Pick<PoolState, 'totalBytes' | 'reservedBytes'>) {
  return totalBytes ? Math.round((100 * reservedBytes) / totalBytes) : undefined;
}

/** Makes queries by id, which put the chosen cluster in front of a name that has none. */
function ofCluster(separator: '.' | '/'): Kind['ask'] {
  return (name, cluster) => {
    const isWhole = cluster === undefined || name.includes('/') || (separator === '.' && clusterOf(name));
    return { id: isWhole ? name : `${cluster}${separator}${name}` };
  };
}

function toPage<N extends string, E extends Entry>(
  answer: { readonly [K in N]: readonly E[] } & { readonly nextPageToken?: string | undefined },
  name: N,
): Page<E> {
  return { entries: answer[name], nextPageToken: answer.nextPageToken };
}

import type { ClusterState, PoolState, Queue } from '../../src/api/admin.ts';
import type { Operations as Rows, Request } from '../../src/api/operations.ts';
import type { Failure } from '../pools/state/answers.ts';
import { canCutOff } from '../attachments/cut-off.ts';
import { featuresOf } from '../pools/features.ts';
import type { Operations } from '../operations/operation.ts';
import type { Pool } from '../pools/pools.ts';
import { type Probe, probePool } from '../pools/state/probe.ts';
import type { WaitingPool } from '../pools/state/waiting.ts';
import { readTimeChecked } from '../tables/clock.ts';
import { findClosure, listRetired, listUnfinishedRetirements } from '../tables/closures.ts';
import { listClustersCounted, readCount } from '../tables/counts.ts';
import type { PieceStart } from '../tables/paging.ts';
import { readPoolUsage, readUsage } from '../tables/reservations.ts';
import { findEntry } from '../callers/access.ts';
import type { EnrolledClusters } from '../callers/cluster.ts';
import type { RefusedTokens } from '../callers/visits.ts';
import { type KeyFault, keyFaultsInService } from '../configuration/read.ts';
import { readQuotas } from '../pools/quotas.ts';
import type { CheckOptions } from './check.ts';

/** The sources of the lists. `clusters` are the clusters of the present configuration. */
export type ListingOptions = Pick<CheckOptions, 'engine' | 'pools' | 'slices'> & {
  readonly clusters: EnrolledClusters;
  readonly operations: Pick<Operations, 'queues'>;
  readonly keyFaults: () => readonly KeyFault[];
  /** The time of the last request of a cluster's controller to this gateway, in milliseconds since the epoch. */
  readonly lastSeenMs: (cluster: string) => number | undefined;
  /** The refused tokens of the last 5 minutes. */
  readonly refusedTokens: () => readonly RefusedTokens[];
  readonly host?: string | undefined;
};

export type ListRequest = Request<Rows['listAllNodes']>;

/** Returns the present pools, including waiting ones; for a cluster, the pools that it may use. */
export async function readPools(
  { engine, pools, clusters, host }: ListingOptions,
  { cluster, id }: ListRequest,
  from: PieceStart,
): Promise<readonly PoolState[]> {
  const usable = cluster === undefined ? undefined : usableBy(findEntry(clusters, cluster));
  const names = [...pools.all().map(({ name }) => name), ...pools.waiting().keys()];
  const selected = names.filter(name => name === (id ?? name) && usable?.includes(name) !== false);
  return (await Promise.all(pieceOf(selected, from).map(readPool))).flat();

  /** Returns nothing for a waiting pool that is removed from the configuration meanwhile. */
  async function readPool(name: string): Promise<readonly PoolState[]> {
    const checking = pools.findLacks(name);
    const { bytes: reservedBytes, ...counts } = await readPoolUsage(engine.reader, name);
    const since = await findClosure(engine.reader, 'pool', name);
    const checkedMs = await readTimeChecked(engine.reader, name);
    const use = {
      reservedBytes,
      ...counts,
      ...(since !== undefined && { drainedSince: toTime(since) }),
      ...(checkedMs !== undefined && { checkedAt: toTime(checkedMs) }),
      ...(host !== undefined && { seenBy: host }),
    };
    const waiting = pools.waiting().get(name);
    if (waiting)
      return [
        {
          id: name,
          state: 'waiting',
          features: [],
          ...showWaiting(waiting),
          ...showLacks(await checking),
          ...use,
        },
      ];
    const pool = pools.all().find(one => one.name === name);
    if (!pool) return [];
    const isOffered = pools.offered().some(one => one.name === name);
    const { backend } = pool;
    const [probe, lacks] = await Promise.all([probePool(pool), checking]);
    const state: PoolState = {
      id: name,
      backend: backend.name,
      ...(pool.address !== undefined && { address: pool.address }),
      state: isOffered ? 'open' : 'removed',
      features: featuresOf(backend),
      ...(backend.topologies && { topologies: [...backend.topologies] }),
      ...(!canCutOff(pool) && { cannotCutOff: true }),
      ...showAnswers(pool, probe),
      ...showLacks(lacks),
      ...use,
    };
    return [state];
  }
}

function showLacks(lines: readonly string[] | undefined) {
  return lines && { machineLacks: [...lines] };
}

/** Returns the pools that a cluster may use; undefined for all. A cluster that is not configured may use none. */
function usableBy(entry: ReturnType<typeof findEntry>): readonly string[] | undefined {
  return entry ? entry.pools : [];
}

/** Returns the state of a pool that is not open yet: its failures, and its place in the settings. */
function showWaiting({ problem, reason, backend, address, outage, sinceMs, failedMs }: WaitingPool) {
  const { code } = problem;
  return {
    backend,
    ...(address !== undefined && { address }),
    waitingFor: reason,
    answers: false,
    ...(outage && { outage }),
    failingSince: toTime(sinceMs),
    ...(failedMs !== undefined && {
      lastFailure: { at: toTime(failedMs), method: 'open', code, detail: reason },
    }),
  };
}

/** Returns how the storage of an open pool answers. */
function showAnswers({ backend, answers }: Pool, probe: Probe) {
  if (!answers) return probe;
  const { calls, failedCalls, lastFailure, recentFailures, oldestCall, failingSinceMs } = answers.show();
  return {
    ...probe,
    ...(!probe.answers && failingSinceMs !== undefined && { failingSince: toTime(failingSinceMs) }),
    recentCalls: { total: calls, failed: failedCalls },
    ...(lastFailure && { lastFailure: toFailure(lastFailure) }),
    ...(recentFailures.length > 0 && { recentFailures: recentFailures.map(toFailure) }),
    ...(oldestCall && { oldestCall: { method: oldestCall.method, since: toTime(oldestCall.sinceMs) } }),
    ...(backend.isPaused?.() && { isPaused: true }),
  };
}

function toFailure({ atMs, ...failure }: Failure) {
  return { at: toTime(atMs), ...failure };
}

/** Shows refused tokens without the cluster that they name. */
export function showRefused({ count, lastMs, detail }: RefusedTokens) {
  return { count, lastAt: toTime(lastMs), detail };
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Returns the configured clusters, and the clusters that have anything. */
export async function readClusters(
  { engine: { reader }, clusters, keyFaults, refusedTokens, lastSeenMs }: ListingOptions,
  { cluster, id = cluster }: ListRequest,
  from: PieceStart,
): Promise<readonly ClusterState[]> {
  const enrolled = clusters();
  const retired = await listRetired(reader);
  const unfinished = await listUnfinishedRetirements(reader);
  if (id === undefined) {
    const names = [...Object.keys(enrolled), ...retired.keys(), ...(await listClustersCounted(reader, from))];
    return Promise.all(pieceOf(names, from).map(readCluster));
  }
  const selected = await Promise.all(pieceOf(id === (cluster ?? id) ? [id] : [], from).map(readCluster));
  return selected.filter(
    one => one.isEnrolled || one.retiredSince || one.use.length + one.nodes + one.attachments > 0,
  );

  async function readCluster(name: string): Promise<ClusterState> {
    const { pools, quota, deadNodes } = (Object.hasOwn(enrolled, name) && enrolled[name]) || {};
    const [usage, quotas, nodes, attachments] = await Promise.all([
      readUsage(reader, name),
      readQuotas(reader, { name, quota }),
      readCount(reader, name, 'nodes'),
      readCount(reader, name, 'attachments'),
    ]);
    const use = usage
      .filter(({ volumes, snapshots }) => volumes + snapshots > 0)
      .map(({ pool, bytes: reservedBytes, volumes, snapshots, deletedBytes, deletedVolumes }) => {
        return { pool, reservedBytes, volumes, snapshots, deletedBytes, deletedVolumes };
      });
    const seenMs = lastSeenMs(name);
    const retiredMs = retired.get(name);
    const refused = refusedTokens().find(({ cluster: whose }) => whose === name);
    const own = keyFaultsInService(keyFaults(), retired).filter(({ cluster: whose }) => whose === name);
    return {
      id: name,
      isEnrolled: Object.hasOwn(enrolled, name),
      ...(retiredMs !== undefined && { retiredSince: toTime(retiredMs) }),
      ...(unfinished.has(name) && { isRetirementUnfinished: true as const }),
      ...(refused && { refusedTokens: showRefused(refused) }),
      ...(own.length > 0 && { keyFaults: own.map(({ detail }) => detail) }),
      ...(seenMs !== undefined && { lastSeenAt: toTime(seenMs) }),
      ...(pools && { pools: [...pools] }),
      ...(deadNodes && { detachesDeadNodes: true as const }),
      volumes: use.reduce((all, { volumes }) => all + volumes, 0),
      snapshots: use.reduce((all, { snapshots }) => all + snapshots, 0),
      nodes,
      attachments,
      use,
      quotas: quotas.map(({ path, limit, used, deleted }) => ({ path, limit, used, deleted })),
    };
  }
}

/** Returns the queues of this replica. Every other replica has its own. */
export function readQueues(
  { operations }: ListingOptions,
  { cluster, id }: ListRequest,
  from: PieceStart,
): readonly Queue[] {
  const own = operations.queues().filter(one => one.cluster === (cluster ?? one.cluster));
  const queues = new Map(own.map(one => [`${one.pool}/${one.cluster}`, one]));
  const selected = [...queues.keys()].filter(one => one === (id ?? one));
  return pieceOf(selected, from).flatMap(one => {
    const queue = queues.get(one);
    return queue ? [{ ...queue, id: one, oldestWaitMs: Math.round(queue.oldestWaitMs) }] : [];
  });
}

function pieceOf(ids: readonly string[], [afterId, count]: PieceStart): readonly string[] {
  return [...new Set(ids)]
    .filter(id => id > afterId)
    .toSorted((one, other) => (one < other ? -1 : 1))
    .slice(0, count);
}

import type { ClusterState, PoolState, Queue } from '../../src/api/admin.ts';
import type { Operations as Rows, Request } from '../../src/api/operations.ts';
import { asProblem } from '../../src/api/problem.ts';
import { withinTime } from '../../src/lib/concurrency.ts';
import { featuresOf } from '../pools/features.ts';
import type { Operations } from '../operations/operation.ts';
import type { Pool } from '../pools/pools.ts';
import { measureSpaces } from '../pools/space.ts';
import { readUse, type Use } from '../tables/use.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { readQuotas } from '../tenancy/quotas.ts';
import type { AuditOptions } from './audit.ts';

/** What lists are made of; `clusters` are those that the configuration names now. */
export type ListingOptions = Pick<AuditOptions, 'engine' | 'pools' | 'turns'> & {
  readonly clusters: () => Readonly<Record<string, Pick<Cluster, 'pools' | 'quota'>>>;
  readonly operations: Pick<Operations, 'queues'>;
};

/** What is asked of each list. */
export type Asked = Request<Rows['listAnyVolumes']>;

/** How long a storage may take to say how large it is, in milliseconds. */
const answerMs = 2_000;

/** The pools as they are now, those that wait for their storage included; of a cluster those that it may use. */
export async function readPools(
  { engine, pools, clusters }: ListingOptions,
  { cluster, id }: Asked,
): Promise<readonly PoolState[]> {
  const use = await readUse(engine.reader);
  const usable = cluster === undefined ? undefined : clusters()[cluster]?.pools;
  const names = new Set([...pools.all().map(({ name }) => name), ...pools.waiting().keys()]);
  const asked = [...names].filter(name => name === (id ?? name) && usable?.includes(name) !== false);
  return Promise.all(asked.map(name => readPool(name)));

  async function readPool(name: string): Promise<PoolState> {
    const own = use.filter(({ pool }) => pool === name);
    const sums = {
      reservedBytes: sum(own, 'bytes'),
      volumes: sum(own, 'volumes'),
      snapshots: sum(own, 'snapshots'),
    };
    const waitingFor = pools.waiting().get(name)?.detail;
    if (waitingFor !== undefined) return { id: name, state: 'waiting', waitingFor, features: [], ...sums };
    const pool = pools.get(name);
    const isOffered = pools.offered().some(one => one.name === name);
    const { backend } = pool;
    return {
      id: name,
      backend: backend.name,
      state: isOffered ? 'open' : 'removed',
      features: featuresOf(backend),
      ...(backend.topologies && { topologies: [...backend.topologies] }),
      ...(await measure(pool)),
      ...sums,
    };
  }
}

/** How large the storage is, or why that is not known. */
async function measure(pool: Pool): Promise<Pick<PoolState, 'totalBytes' | 'fault'>> {
  try {
    const answer = await withinTime(measureSpaces(pool), answerMs);
    if (!answer) return { fault: `its storage did not answer within ${answerMs / 1_000} s` };
    return answer.value
      ? { totalBytes: answer.value.reduce((all, { totalBytes }) => all + totalBytes, 0) }
      : {};
  } catch (error) {
    return { fault: asProblem(error).detail };
  }
}

/** The clusters that the configuration names, and those that have something. */
export async function readClusters(
  { engine, clusters }: ListingOptions,
  { cluster, id }: Asked,
): Promise<readonly ClusterState[]> {
  const enrolled = clusters();
  const use = await readUse(engine.reader);
  const names = new Set([...Object.keys(enrolled), ...use.map(one => one.cluster)]);
  const asked = [...names].filter(name => name === (id ?? name) && name === (cluster ?? name));
  return Promise.all(asked.map(readCluster));

  async function readCluster(name: string): Promise<ClusterState> {
    const own = use.filter(one => one.cluster === name);
    const { pools, quota } = enrolled[name] ?? {};
    const quotas = await readQuotas(engine.reader, { name, quota });
    return {
      id: name,
      isEnrolled: enrolled[name] !== undefined,
      ...(pools && { pools: [...pools] }),
      volumes: sum(own, 'volumes'),
      snapshots: sum(own, 'snapshots'),
      nodes: sum(own, 'nodes'),
      attachments: sum(own, 'attachments'),
      use: own
        .filter(({ volumes, snapshots }) => volumes + snapshots > 0)
        .map(({ pool, bytes, volumes, snapshots }) => ({ pool, reservedBytes: bytes, volumes, snapshots })),
      quotas: quotas.map(({ path, limit, used }) => ({ path, limit, used })),
    };
  }
}

/** What waits for its turn here; another gateway of the store has queues of its own. */
export function readQueues({ operations }: ListingOptions, { cluster }: Asked): readonly Queue[] {
  const own = operations.queues().filter(one => one.cluster === (cluster ?? one.cluster));
  return own.map(one => ({
    id: `${one.pool}/${one.cluster}`,
    pool: one.pool,
    cluster: one.cluster,
    waiting: one.waiting,
    running: one.running,
    limit: one.limit,
    oldestWaitMs: Math.round(one.oldestWaitMs),
  }));
}

function sum(use: readonly Use[], what: Exclude<keyof Use, 'pool' | 'cluster'>): number {
  return use.reduce((all, one) => all + one[what], 0);
}

import { withinTime } from '../../src/lib/concurrency.ts';
import { sample, type Row } from '../../src/lib/metrics.ts';
import { type KeyFault, keyFaultsInService } from '../configuration/read.ts';
import type { Pools } from '../pools/pools.ts';
import { outages } from '../../src/api/problem.ts';
import { probePool } from '../pools/state/probe.ts';
import type { Queues } from '../scheduling/queues.ts';
import type { Reader } from '../store.ts';
import { areMissing } from '../tables/nodes.ts';
import { listRetired } from '../tables/closures.ts';
import { areOfOne, sums } from '../tables/reservations.ts';
import { maxOf, minOf } from '../../src/lib/numbers.ts';

/** The time limit for the answer of the store, in milliseconds. */
const timeoutMs = 2_000;
/** The maximum number of missing nodes, and of findings, that are counted. */
const maxCounted = 1_000;

/**
 * Reads the contents of the store by pool and cluster, and the resources that gateways work on. If the store does not
 * answer, this is the only row.
 */
export async function readStore(reader: Reader): Promise<readonly Row[]> {
  const contents = readContents(reader).catch(() => undefined);
  const { value: rows } = (await withinTime(contents, timeoutMs)) ?? {};
  return [
    ['fairlead_gateway_store_up', '1 if the store answered.', Number(rows !== undefined)],
    ...(rows ?? []),
  ];
}

async function readContents(reader: Reader): Promise<readonly Row[]> {
  // SQLite answers at once, so each statement waits for a new time slice.
  const read = (statement: string) => new Promise(setImmediate).then(() => reader.all(statement));
  const reserved = await read(
    `select pool, cluster, ${sums} from reservations where ${areOfOne} group by pool, cluster`,
  );
  const claims = await read(
    'select operation, count(*) as number, min(since_ms) as since from claims group by operation',
  );
  const missing = await read(
    `select cluster, count(*) as number
     from (select cluster from nodes where ${areMissing} order by cluster, node_id limit ${maxCounted}) as missing
     group by cluster`,
  );
  const findings = await read(
    `select pool, problem, count(*) as number
     from (select pool, problem from findings order by pool, kind, id, problem limit ${maxCounted}) as found
     where problem <> 'stuck' group by pool, problem`,
  );
  const byOwner = (column: string) =>
    reserved.map(row =>
      sample({ pool: String(row['pool']), cluster: String(row['cluster']) }, Number(row[column])),
    );
  const nowMs = Date.now();
  const oldestMs = minOf(
    claims.map(({ since }) => Number(since)),
    nowMs,
  );
  return [
    ['fairlead_gateway_volumes', 'Volumes, soft-deleted ones included.', byOwner('volumes')],
    ['fairlead_gateway_snapshots', 'Snapshots, members of groups included.', byOwner('snapshots')],
    ['fairlead_gateway_reserved_bytes', 'Bytes that volumes and snapshots reserve.', byOwner('bytes')],
    ['fairlead_gateway_deleted_volumes', 'Soft-deleted volumes.', byOwner('deleted_volumes')],
    [
      'fairlead_gateway_deleted_bytes',
      'Reserved bytes that soft-deleted volumes leave when room is needed.',
      byOwner('deleted_bytes'),
    ],
    [
      'fairlead_gateway_claims',
      'Resources that the gateways on this store work on, by operation.',
      claims.map(({ operation, number }) => sample({ operation: String(operation) }, Number(number))),
    ],
    [
      'fairlead_gateway_missing_nodes',
      'Nodes that their cluster no longer has although volumes are attached to them.',
      missing.map(({ cluster, number }) => sample({ cluster: String(cluster) }, Number(number))),
    ],
    [
      'fairlead_gateway_findings',
      'Differences between the storage and the store that the last check found.',
      findings.map(({ pool, problem, number }) =>
        sample({ pool: String(pool), problem: String(problem) }, Number(number)),
      ),
    ],
    ['fairlead_gateway_oldest_claim_seconds', 'Age of the oldest claim.', (nowMs - oldestMs) / 1_000],
  ];
}

export type CallerFacts = {
  /** The reasons why tokens of callers are refused. */
  readonly keyFaults: () => readonly KeyFault[];
  /** The time since the last request of each configured cluster's controller, in milliseconds. */
  readonly silentMs: () => ReadonlyMap<string, number>;
};

/**
 * Counts the faults of keys, and reads how long each cluster has been silent. Both leave out retired clusters, unless
 * the store does not answer.
 */
export async function readCallers(
  reader: Reader,
  { keyFaults, silentMs }: CallerFacts,
): Promise<readonly Row[]> {
  const closures = listRetired(reader).catch(() => undefined);
  const { value: retired } = (await withinTime(closures, timeoutMs)) ?? {};
  const inService = [...silentMs()].filter(([cluster]) => !retired?.has(cluster));
  return [
    [
      'fairlead_gateway_key_faults',
      'Key files with faults or without keys, and issuers with unreadable keys; none of a retired cluster.',
      keyFaultsInService(keyFaults(), retired).length,
    ],
    [
      'fairlead_gateway_cluster_silent_seconds',
      "Time since the last request of a configured cluster's controller to this gateway, or since the start; none for a retired cluster.",
      inService.map(([cluster, ms]) => sample({ cluster }, ms / 1_000)),
    ],
  ];
}

/** Reads the operations that wait and run at each pool, on this replica. */
export function readQueues(queues: Queues): readonly Row[] {
  const all = queues.show();
  const by = (name: 'waiting' | 'running') =>
    all.map(({ pool, cluster, ...state }) => sample({ pool, cluster }, state[name]));
  const limits = new Map(all.map(({ pool, limit }) => [pool, limit]));
  const oldestMs = maxOf(
    all.map(({ oldestWaitMs }) => oldestWaitMs),
    0,
  );
  return [
    ['fairlead_gateway_queue_waiting', 'Operations that wait for a slot at a pool.', by('waiting')],
    ['fairlead_gateway_queue_running', 'Operations that have a slot at a pool.', by('running')],
    [
      'fairlead_gateway_queue_limit',
      'Present limit of concurrent operations at a pool, for pools with operations.',
      [...limits].map(([pool, limit]) => sample({ pool }, limit)),
    ],
    [
      'fairlead_gateway_queue_oldest_seconds',
      'Longest time that an operation has been waiting for a slot.',
      oldestMs / 1_000,
    ],
  ];
}

/** Reports for each pool whether it was reached, whether it answers, and its capacity if it has one. */
export async function readPools(pools: Pools): Promise<readonly Row[]> {
  const probes = await Promise.all(
    pools.all().map(async pool => ({ pool: pool.name, probe: await probePool(pool) })),
  );
  const waiting = [...pools.waiting()].map(([pool, { outage }]) => {
    return { pool, isOpen: false, answers: false, outage };
  });
  const all = [...probes.map(({ pool, probe }) => ({ pool, isOpen: true, ...probe })), ...waiting];
  const answering = all.map(({ pool, answers }) => sample({ pool }, answers));
  const failing = all.flatMap(({ pool, outage }) =>
    outages.map(one => sample({ pool, outage: one }, one === outage)),
  );
  const sizes = probes.flatMap(({ pool, probe: { totalBytes } }) =>
    totalBytes === undefined ? [] : [sample({ pool }, totalBytes)],
  );
  return [
    [
      'fairlead_gateway_pool_reached',
      '1 if the pool was opened since the start.',
      all.map(({ pool, isOpen }) => sample({ pool }, isOpen)),
    ],
    [
      'fairlead_gateway_pool_answers',
      '1 if the storage of the pool answers now, or answered the last call, without a failure.',
      answering,
    ],
    [
      'fairlead_gateway_pool_outage',
      '1 for the way in which the storage of the pool fails: silent, errors, or foreign answers.',
      failing,
    ],
    ['fairlead_gateway_pool_capacity_bytes', 'Size of the pool, reserved and free.', sizes],
  ];
}

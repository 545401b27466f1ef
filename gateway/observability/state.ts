import { withinTime } from '../../src/lib/concurrency.ts';
import { sample, type Row } from '../../src/lib/metrics.ts';
import type { Pool, Pools } from '../pools/pools.ts';
import type { Queues } from '../pools/queues.ts';
import type { Reader } from '../store.ts';

/** How long the store and each pool's storage may take to say how they are, in milliseconds. */
const timeoutMs = 2_000;

/** What the store holds, by pool and cluster, and who works on what. While it does not answer, that alone is said. */
export async function readStore(reader: Reader): Promise<readonly Row[]> {
  const asked = readHeld(reader).catch(() => undefined);
  const { value: held } = (await withinTime(asked, timeoutMs)) ?? {};
  return [
    ['fairlead_gateway_store_up', 'Whether the store answered.', Number(held !== undefined)],
    ...(held ?? []),
  ];
}

async function readHeld(reader: Reader): Promise<readonly Row[]> {
  const [reserved, claims] = await Promise.all([
    reader.all(
      `select pool, cluster, sum(bytes) as bytes, sum(volumes) as volumes, sum(snapshots) as snapshots
       from reservations group by pool, cluster`,
    ),
    reader.all('select operation, count(*) as number, min(since_ms) as since from claims group by operation'),
  ]);
  const byOwner = (column: string) =>
    reserved.map(row =>
      sample({ pool: String(row['pool']), cluster: String(row['cluster']) }, Number(row[column])),
    );
  const nowMs = Date.now();
  const oldestMs = Math.min(nowMs, ...claims.map(({ since }) => Number(since)));
  return [
    ['fairlead_gateway_volumes', 'Volumes, soft-deleted ones included.', byOwner('volumes')],
    ['fairlead_gateway_snapshots', 'Snapshots, members of groups included.', byOwner('snapshots')],
    ['fairlead_gateway_reserved_bytes', 'What volumes and snapshots reserve.', byOwner('bytes')],
    [
      'fairlead_gateway_claims',
      'Resources that a gateway on this store works on, by operation.',
      claims.map(({ operation, number }) => sample({ operation: String(operation) }, Number(number))),
    ],
    [
      'fairlead_gateway_oldest_claim_seconds',
      'For how long the oldest claim is held.',
      (nowMs - oldestMs) / 1_000,
    ],
  ];
}

/** What waits and runs at each pool, on this replica. */
export function readQueues(queues: Queues): readonly Row[] {
  const all = queues.show();
  const by = (name: 'waiting' | 'running') =>
    all.map(({ pool, cluster, ...state }) => sample({ pool, cluster }, state[name]));
  const limits = new Map(all.map(({ pool, limit }) => [pool, limit]));
  const oldestMs = Math.max(0, ...all.map(({ oldestWaitMs }) => oldestWaitMs));
  return [
    ['fairlead_gateway_queue_waiting', 'Operations that wait for their turn at a pool.', by('waiting')],
    ['fairlead_gateway_queue_running', 'Operations that have their turn at a pool.', by('running')],
    [
      'fairlead_gateway_queue_limit',
      'How many operations a pool takes at a time now, of those that are asked for work.',
      [...limits].map(([pool, limit]) => sample({ pool }, limit)),
    ],
    [
      'fairlead_gateway_queue_oldest_seconds',
      'How long the oldest has waited for its turn.',
      oldestMs / 1_000,
    ],
  ];
}

/** Whether each pool could be reached, and what those have that say so. */
export async function readPools(pools: Pools): Promise<readonly Row[]> {
  const reached = [
    ...pools.all().map(({ name }) => sample({ pool: name }, true)),
    ...[...pools.waiting().keys()].map(name => sample({ pool: name }, false)),
  ];
  const capacities = await Promise.all(pools.all().map(readCapacity));
  return [
    ['fairlead_gateway_pool_reached', 'Whether a pool was reached since the start.', reached],
    ['fairlead_gateway_pool_capacity_bytes', 'What a pool has, reserved or not.', capacities.flat()],
  ];
}

async function readCapacity({ name, backend }: Pool): Promise<readonly (readonly [string, number])[]> {
  if (!backend.capacity) return [];
  const asked = backend.capacity().catch(() => undefined);
  const answer = await withinTime(asked, timeoutMs);
  return answer?.value ? [sample({ pool: name }, answer.value.totalBytes)] : [];
}

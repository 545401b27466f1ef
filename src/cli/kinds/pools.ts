import { poolSchema, type PoolState } from '../../api/admin.ts';
import { join, kind, showTopologies, sizeColumn, toPage, wide } from '../kind.ts';
import { describeLastFailure, faultOf, usedOf } from '../pool-health.ts';

/** The answers of a storage that fails. */
const answerWords = { silent: 'no', errors: 'errors', foreign: 'foreign' } as const;

export const pools = kind<PoolState>({
  one: 'pool',
  schema: poolSchema,
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
      of: ({ answers, isPaused, outage }) =>
        isPaused ? 'paused' : answers === undefined ? '' : answers ? 'yes' : answerWords[outage ?? 'silent'],
    },
    sizeColumn('total', ({ totalBytes }: PoolState) => totalBytes),
    sizeColumn('reserved', ({ reservedBytes }: PoolState) => reservedBytes),
    sizeColumn('deleted', ({ deletedBytes }: PoolState) => deletedBytes),
    { head: 'used', of: usedOf, unit: 'percent' },
    { head: 'volumes', of: ({ volumes: count }) => count },
    { head: 'fault', of: faultOf },
    wide({ head: 'address', of: ({ address }: PoolState) => address }),
    wide({ head: 'failing-since', of: ({ failingSince }: PoolState) => failingSince }),
    wide({ head: 'last-failure', of: (pool: PoolState) => describeLastFailure(pool) }),
    wide({
      head: 'failed-calls',
      of: ({ recentCalls }: PoolState) => recentCalls && `${recentCalls.failed}/${recentCalls.total} in 5m`,
    }),
    wide({
      head: 'oldest-call',
      of: ({ oldestCall }: PoolState) => oldestCall && `${oldestCall.method} since ${oldestCall.since}`,
    }),
    wide({ head: 'machine-lacks', of: ({ machineLacks = [] }: PoolState) => machineLacks.join('; ') }),
    wide({ head: 'checked', of: ({ checkedAt }: PoolState) => checkedAt ?? 'not checked yet' }),
    wide({ head: 'seen-by', of: ({ seenBy }: PoolState) => seenBy }),
    wide({ head: 'snapshots', of: ({ snapshots: count }: PoolState) => count }),
    wide({ head: 'features', of: ({ features }: PoolState) => join(features) }),
    wide({ head: 'topology', of: ({ topologies }: PoolState) => showTopologies(topologies) }),
  ],
});

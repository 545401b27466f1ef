import { clusterStateSchema, type ClusterState } from '../../api/admin.ts';
import { faultOfCluster } from '../cluster-health.ts';
import { join, kind, sizeColumn, toPage, wide, type View } from '../kind.ts';
import { toQuota } from '../output/values.ts';

export const clusters = kind<ClusterState>({
  one: 'cluster',
  schema: clusterStateSchema,
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
    { head: 'pools', of: ({ pools: usable }) => (usable ? join(usable) : 'all') },
    { head: 'volumes', of: ({ volumes: count }) => count },
    sizeColumn('reserved', ({ use }: ClusterState) => use.reduce((sum, one) => sum + one.reservedBytes, 0)),
    sizeColumn('deleted', ({ use }: ClusterState) =>
      use.reduce((sum, one) => sum + (one.deletedBytes ?? 0), 0),
    ),
    { head: 'nodes', of: ({ nodes: count }) => count },
    { head: 'attachments', of: ({ attachments: count }) => count },
    {
      head: 'quota',
      of: ({ quotas }, { numbers }) => join(quotas.map(quota => toQuota(quota, numbers.bytes))),
    },
    {
      head: 'seen',
      of: ({ lastSeenAt }, { nowMs }) =>
        lastSeenAt === undefined ? undefined : nowMs - Date.parse(lastSeenAt),
      unit: 'ms',
    },
    { head: 'fault', of: faultOfCluster },
    wide({ head: 'snapshots', of: ({ snapshots: count }: ClusterState) => count }),
    wide({
      head: 'use',
      of: ({ use }: ClusterState, { numbers }: View) =>
        join(use.map(one => `${one.pool}:${numbers.bytes(one.reservedBytes)}`)),
    }),
  ],
});

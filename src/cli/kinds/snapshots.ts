import { adminSnapshotSchema, type AdminSnapshot } from '../../api/admin.ts';
import {
  ageColumn,
  join,
  kind,
  ofCluster,
  showGrant,
  showTopologies,
  sizeColumn,
  toPage,
  wide,
} from '../kind.ts';

export const snapshots = kind<AdminSnapshot>({
  one: 'snapshot',
  schema: adminSnapshotSchema,
  aliases: ['snapshot', 'snap'],
  doc: 'snapshots in any state, members of groups included',
  ask: ofCluster('.'),
  page: async (client, query, call) => toPage(await client.listAllSnapshots(query, call), 'snapshots'),
  columns: [
    { head: 'id', of: ({ id }) => id },
    { head: 'volume', of: ({ volumeId }) => volumeId },
    { head: 'state', of: ({ state }) => state },
    { head: 'pool', of: ({ pool }) => pool },
    sizeColumn('size', ({ sizeBytes }: AdminSnapshot) => sizeBytes),
    ageColumn,
    wide({ head: 'cluster', of: ({ cluster }: AdminSnapshot) => cluster }),
    wide({ head: 'group', of: ({ groupId }: AdminSnapshot) => groupId }),
    wide(sizeColumn('reserved', ({ reservedBytes }: AdminSnapshot) => reservedBytes)),
    wide({ head: 'shared', of: ({ copyGrants }: AdminSnapshot) => join(copyGrants?.map(showGrant)) }),
    wide({ head: 'topology', of: ({ topology }: AdminSnapshot) => showTopologies(topology) }),
  ],
});

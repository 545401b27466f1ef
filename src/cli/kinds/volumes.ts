import { adminVolumeSchema, volumeOrders, volumeStates, type AdminVolume } from '../../api/admin.ts';
import type { VolumeSource } from '../../api/volume.ts';
import {
  ageColumn,
  join,
  kind,
  nameOf,
  ofCluster,
  showGrant,
  showTopologies,
  sizeColumn,
  toPage,
  wide,
} from '../kind.ts';

export const volumes = kind<AdminVolume>({
  one: 'volume',
  schema: adminVolumeSchema,
  aliases: ['volume', 'vol'],
  doc: 'volumes in any state, soft-deleted ones included',
  ask: ofCluster('.'),
  orders: volumeOrders,
  filter(head, value) {
    if (head === 'pool') return { pool: value };
    const state = volumeStates.find(one => one === value);
    return head === 'state' && state ? { state } : undefined;
  },
  page: async (client, query, call) => toPage(await client.listAllVolumes(query, call), 'volumes'),
  columns: [
    { head: 'id', of: ({ id }) => id },
    { head: 'state', of: ({ state, pending = [] }) => [state, ...pending].join('+') },
    { head: 'pool', of: ({ pool }) => pool },
    sizeColumn('size', ({ sizeBytes }: AdminVolume) => sizeBytes),
    { head: 'attached', of: ({ attachments }) => join(attachments.map(({ nodeId }) => nameOf(nodeId))) },
    ageColumn,
    wide({ head: 'cluster', of: ({ cluster }: AdminVolume) => cluster }),
    wide(sizeColumn('reserved', ({ reservedBytes }: AdminVolume) => reservedBytes)),
    wide({
      head: 'modes',
      of: ({ capabilities }: AdminVolume) =>
        join([...new Set(capabilities.map(({ accessType, accessMode }) => `${accessType}:${accessMode}`))]),
    }),
    wide({
      head: 'shared',
      of: ({ grants = [], copyGrants = [] }: AdminVolume) => join([...grants, ...copyGrants].map(showGrant)),
    }),
    wide({ head: 'source', of: ({ source }: AdminVolume) => source && sourceOf(source) }),
    wide({ head: 'topology', of: ({ topology }: AdminVolume) => showTopologies(topology) }),
    wide({ head: 'storage-id', of: ({ storageId }: AdminVolume) => storageId }),
    wide({ head: 'restorable', of: ({ restorableUntil }: AdminVolume) => restorableUntil }),
  ],
});

/** Returns the id of the snapshot or volume. */
export function sourceOf(source: VolumeSource): string {
  return source.kind === 'snapshot' ? source.snapshotId : source.volumeId;
}

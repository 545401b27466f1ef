import type { Snapshot, SnapshotPage, SnapshotSpec } from '../../src/api/snapshot.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireAnyOffers } from '../pools/features.ts';
import { pageOf, fromPageToken, type PageQuery } from '../tables/paging.ts';
import { snapshotTable, type SnapshotRecord } from '../tables/snapshots.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { notFoundProblem } from '../tenancy/ownership.ts';
import { readRequirement } from '../volumes/placement.ts';
import { createRecorded } from './create.ts';
import { deleteRecorded } from './delete.ts';
import { toSnapshot } from './documents.ts';

/** Makes the snapshots of all clusters; another cluster's are not there for the one that asks. */
export function createSnapshots(options: ServiceOptions) {
  const { engine, pools } = options;
  const requireAny = (): void => requireAnyOffers(pools, 'snapshots', 'snapshots');

  return {
    async get(cluster: Cluster, id: string): Promise<Snapshot> {
      requireAny();
      return show({ cluster, id }, await snapshotTable.find(engine.reader, { id }));
    },

    /** Creates the snapshot, or finds that it is there and returns how it goes on; `created` is false then. */
    async create(cluster: Cluster, id: string, { name, volumeId, parameters, topology }: SnapshotSpec) {
      requireAny();
      const requirement = readRequirement(topology);
      const asked = { kind: 'snapshot', id, name, volumeIds: [volumeId], parameters, requirement } as const;
      const { members, created } = await createRecorded(options, cluster, asked);
      return { snapshot: show({ cluster, id }, members[0]), created };
    },

    /** Those that are created, of one volume or of all. */
    async list(
      { name: cluster }: Cluster,
      { limit, pageToken, volumeId }: PageQuery & { readonly volumeId?: string | undefined },
    ): Promise<SnapshotPage> {
      requireAny();
      const afterId = pageToken === undefined ? '' : fromPageToken(cluster, pageToken, 'snapshots');
      const same = { cluster, ...(volumeId !== undefined && { volumeId }) };
      const created = "and id > ? and state in ('processing', 'ready') order by id limit ?";
      const records = await snapshotTable.select(engine.reader, same, created, afterId, limit + 1);
      const { entries, nextPageToken } = pageOf(records.map(toSnapshot), limit, 'snapshots');
      return { snapshots: [...entries], ...(nextPageToken !== undefined && { nextPageToken }) };
    },

    /** INVALID_ARGUMENT for a member of a group; one that is not there is fine. */
    async delete(cluster: Cluster, id: string): Promise<void> {
      requireAny();
      await deleteRecorded(options, cluster, { kind: 'snapshot', id });
    },
  };
}

function show(
  { cluster, id }: { readonly cluster: Cluster; readonly id: string },
  record: SnapshotRecord | undefined,
): Snapshot {
  if (record?.cluster !== cluster.name) throw notFoundProblem({ kind: 'snapshot', id });
  return toSnapshot(record);
}

import type { Group, GroupSpec, Snapshot, SnapshotPage, SnapshotSpec } from '../../src/api/snapshot.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { fromPageToken, type PageQuery, readPage } from '../tables/paging.ts';
import { type SnapshotRecord, snapshotTable } from '../tables/snapshots.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { notFoundProblem, requireOwn } from '../tenancy/ownership.ts';
import { createRecorded } from './create.ts';
import { deleteRecorded, undoRecorded } from './delete.ts';
import { findRecorded, type Recorded, toGroup, toSnapshot } from './record.ts';

/** Makes the snapshots of all clusters; another cluster's are not there for the one that asks. */
export function createSnapshots(options: ServiceOptions) {
  const { reader } = options.engine;
  return {
    async get(cluster: Cluster, id: string): Promise<Snapshot> {
      requireOwn(cluster, { kind: 'snapshot', id });
      return show({ cluster, id }, await snapshotTable.find(reader, { id }));
    },

    /** Creates the snapshot, or finds that it is there and returns how it goes on; `created` is false then. */
    async create(cluster: Cluster, id: string, { volumeId, ...spec }: SnapshotSpec) {
      const asked = { kind: 'snapshot', id, volumeIds: [volumeId], ...spec } as const;
      const { members, created } = await createRecorded(options, cluster, asked);
      return { snapshot: show({ cluster, id }, members[0]), created };
    },

    /** Those that are created, of one volume or of all. */
    async list(
      cluster: Cluster,
      { limit, pageToken, volumeId }: PageQuery & { readonly volumeId?: string | undefined },
    ): Promise<SnapshotPage> {
      const afterId = fromPageToken(cluster.name, pageToken, 'snapshots');
      const same = { cluster: cluster.name, ...(volumeId !== undefined && { volumeId }) };
      const created = "and id > ? and state in ('processing', 'ready') order by id limit ?";
      const { entries, ...rest } = await readPage({ afterId, limit, list: 'snapshots' }, (after, count) =>
        options.turns.take(cluster, async () =>
          (await snapshotTable.select(reader, same, created, after, count)).map(toSnapshot),
        ),
      );
      return { snapshots: entries, ...rest };
    },

    /** INVALID_ARGUMENT for a member of a group; one that is not there is fine. */
    delete: (cluster: Cluster, id: string): Promise<void> =>
      deleteRecorded(options, cluster, { kind: 'snapshot', id }),

    /** Removes what was begun and never finished; what is more than begun, or was made anew, stays. */
    undo: (id: string, recorded: Recorded): Promise<void> =>
      options.operations.run(
        undoRecorded(options.pools, { kind: 'snapshot', id }, { recorded, states: ['creating', 'deleting'] }),
      ),
  };
}

/** Makes snapshots of several volumes at one point in time; another cluster's are not there for the one that asks. */
export function createGroups(options: ServiceOptions) {
  return {
    async get(cluster: Cluster, id: string): Promise<Group> {
      requireOwn(cluster, { kind: 'group', id });
      const found = await findRecorded(options.engine.reader, { kind: 'group', id });
      if (found?.subject.cluster !== cluster.name) throw notFoundProblem({ kind: 'group', id });
      return toGroup(found);
    },

    /** Creates all members or none, or finds that they are there; `created` is false then. */
    async create(cluster: Cluster, id: string, spec: GroupSpec) {
      const asked = { kind: 'group', id, ...spec } as const;
      const { created, ...recorded } = await createRecorded(options, cluster, asked);
      return { group: toGroup(recorded), created };
    },

    /** Deletes the group with its members; one that is not there is fine. */
    delete: (cluster: Cluster, id: string): Promise<void> =>
      deleteRecorded(options, cluster, { kind: 'group', id }),

    /** Removes what was begun and never finished; what is more than begun, or was made anew, stays. */
    undo: (id: string, recorded: Recorded): Promise<void> =>
      options.operations.run(
        undoRecorded(options.pools, { kind: 'group', id }, { recorded, states: ['creating', 'deleting'] }),
      ),
  };
}

function show(
  { cluster, id }: { readonly cluster: Cluster; readonly id: string },
  record: SnapshotRecord | undefined,
): Snapshot {
  if (record?.cluster !== cluster.name) throw notFoundProblem({ kind: 'snapshot', id });
  return toSnapshot(record);
}

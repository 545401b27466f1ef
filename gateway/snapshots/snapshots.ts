import { clusterOf } from '../../src/api/ids.ts';
import type { Group, GroupSpec, Snapshot, SnapshotPage, SnapshotSpec } from '../../src/api/snapshot.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { fromPageToken, type PageQuery, readPage } from '../tables/paging.ts';
import { type SnapshotRecord, snapshotTable } from '../tables/snapshots.ts';
import { requireCopyable } from '../callers/access.ts';
import type { Cluster } from '../callers/cluster.ts';
import { notFoundProblem, requireOwn } from '../callers/ownership.ts';
import { createSnapshotSet } from './create.ts';
import { deleteSnapshotSet, foreseeDeletion, undoSnapshotSet } from './delete.ts';
import { findSnapshotSet, type SnapshotSet, toGroup, toSnapshot } from './record.ts';

/** Creates the snapshots of all clusters. Of other clusters' snapshots, a cluster gets those that it may copy. */
export function createSnapshots(options: ServiceOptions) {
  const { reader } = options.engine;
  return {
    async get(cluster: Cluster, id: string): Promise<Snapshot> {
      await requireCopyable(reader, cluster, { kind: 'snapshot', id });
      return show({ cluster, id }, await snapshotTable.find(reader, { id }));
    },

    /**
     * Creates the snapshot, or finds an existing one and returns its progress; `created` is false for an
     * existing one.
     */
    async create(cluster: Cluster, id: string, { volumeId, ...spec }: SnapshotSpec) {
      const request = { kind: 'snapshot', id, volumeIds: [volumeId], ...spec } as const;
      const { members, created } = await createSnapshotSet(options, cluster, request);
      return { snapshot: show({ cluster, id }, members[0]), created };
    },

    /** Lists the snapshots that have been created, of one volume or of all. */
    async list(
      cluster: Cluster,
      { limit, pageToken, volumeId }: PageQuery & { readonly volumeId?: string | undefined },
    ): Promise<SnapshotPage> {
      const afterId = fromPageToken(cluster.name, pageToken, 'snapshots');
      const same = { cluster: cluster.name, ...(volumeId !== undefined && { volumeId }) };
      const created = "and id > ? and state in ('processing', 'ready') order by id limit ?";
      const { entries, ...rest } = await readPage({ afterId, limit, list: 'snapshots' }, (after, count) =>
        options.slices.take(cluster, async () =>
          (await snapshotTable.select(reader, same, created, after, count)).map(toSnapshot),
        ),
      );
      return { snapshots: entries, ...rest };
    },

    /** Deletes the snapshot. INVALID_ARGUMENT for a member of a group; if it does not exist, nothing happens. */
    delete: (cluster: Cluster, id: string): Promise<void> =>
      deleteSnapshotSet(options, cluster, { kind: 'snapshot', id }),

    foreseeDeletion: (id: string) => foreseeDeletion(options, { kind: 'snapshot', id }),

    /** Deletes an unfinished snapshot. A finished one stays, and so does a newer one. */
    undo: (id: string, set: SnapshotSet): Promise<void> =>
      options.operations.run(
        undoSnapshotSet(options.pools, { kind: 'snapshot', id }, { set, states: ['creating', 'deleting'] }),
      ),
  };
}

/** Creates groups of snapshots of several volumes at one point in time. A cluster does not see other clusters' groups. */
export function createGroups(options: ServiceOptions) {
  return {
    async get(cluster: Cluster, id: string): Promise<Group> {
      requireOwn(cluster, { kind: 'group', id });
      // A group has many members, and their records may be long.
      const find = () => findSnapshotSet(options.engine.reader, { kind: 'group', id });
      const found = await options.slices.take(cluster, find);
      if (found?.subject.cluster !== cluster.name) throw notFoundProblem({ kind: 'group', id });
      return toGroup(found);
    },

    /** Creates all members or none, or finds existing ones; `created` is false for existing ones. */
    async create(cluster: Cluster, id: string, spec: GroupSpec) {
      const request = { kind: 'group', id, ...spec } as const;
      const { created, ...set } = await createSnapshotSet(options, cluster, request);
      return { group: toGroup(set), created };
    },

    /** Deletes the group with its members. If it does not exist, nothing happens. */
    delete: (cluster: Cluster, id: string): Promise<void> =>
      deleteSnapshotSet(options, cluster, { kind: 'group', id }),

    foreseeDeletion: (id: string) => foreseeDeletion(options, { kind: 'group', id }),

    /** Deletes an unfinished group. A finished one stays, and so does a newer one. */
    undo: (id: string, set: SnapshotSet): Promise<void> =>
      options.operations.run(
        undoSnapshotSet(options.pools, { kind: 'group', id }, { set, states: ['creating', 'deleting'] }),
      ),
  };
}

function show(
  { cluster, id }: { readonly cluster: Cluster; readonly id: string },
  record: SnapshotRecord | undefined,
): Snapshot {
  if (!record || record.cluster !== clusterOf(id)) throw notFoundProblem({ kind: 'snapshot', id });
  const { groupId, ...shown } = toSnapshot(record);
  if (record.cluster !== cluster.name) return { ...shown, owner: record.cluster };
  return groupId === undefined ? shown : { ...shown, groupId };
}

import { clusterOf } from '../../src/api/ids.ts';
import { invalidProblem } from '../../src/api/problem.ts';
import type { Group, GroupSpec, Snapshot, SnapshotPage, SnapshotSpec } from '../../src/api/snapshot.ts';
import type { Intended } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Sql } from '../store.ts';
import { groupTable } from '../tables/groups.ts';
import { fromPageToken, pageOf, type PageQuery } from '../tables/paging.ts';
import { type SnapshotRecord, snapshotTable } from '../tables/snapshots.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { notFoundProblem } from '../tenancy/ownership.ts';
import { requireUnneeded } from '../volumes/sources.ts';
import { createRecorded } from './create.ts';
import { deleteAll, findRecorded, forget, type Recorded, type Ref, toGroup, toSnapshot } from './record.ts';

/** Makes the snapshots of all clusters; another cluster's are not there for the one that asks. */
export function createSnapshots(options: ServiceOptions) {
  const { reader } = options.engine;
  return {
    async get(cluster: Cluster, id: string): Promise<Snapshot> {
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
      { name: cluster }: Cluster,
      { limit, pageToken, volumeId }: PageQuery & { readonly volumeId?: string | undefined },
    ): Promise<SnapshotPage> {
      const afterId = fromPageToken(cluster, pageToken, 'snapshots');
      const same = { cluster, ...(volumeId !== undefined && { volumeId }) };
      const created = "and id > ? and state in ('processing', 'ready') order by id limit ?";
      const records = await snapshotTable.select(reader, same, created, afterId, limit + 1);
      const { entries, ...rest } = pageOf(records.map(toSnapshot), limit, 'snapshots');
      return { snapshots: entries, ...rest };
    },

    /** INVALID_ARGUMENT for a member of a group; one that is not there is fine. */
    delete: (cluster: Cluster, id: string): Promise<void> =>
      deleteRecorded(options, cluster, { kind: 'snapshot', id }),
  };
}

/** Makes snapshots of several volumes at one point in time; another cluster's are not there for the one that asks. */
export function createGroups(options: ServiceOptions) {
  return {
    async get(cluster: Cluster, id: string): Promise<Group> {
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
  };
}

function show(
  { cluster, id }: { readonly cluster: Cluster; readonly id: string },
  record: SnapshotRecord | undefined,
): Snapshot {
  if (record?.cluster !== cluster.name) throw notFoundProblem({ kind: 'snapshot', id });
  return toSnapshot(record);
}

/** Deletes the snapshot, or the group with its members; what is not there is fine. INVALID_ARGUMENT for a member alone. */
async function deleteRecorded(
  { pools, operations }: ServiceOptions,
  cluster: Cluster,
  ref: Ref,
): Promise<void> {
  if (clusterOf(ref.id) !== cluster.name) return;
  await operations.run<Recorded, void, void>({
    operation: 'delete',
    subject: undefined,
    claims: [ref],
    intend: sql => intendDelete(sql, ref),
    act: ({ members }) => deleteAll(pools, members),
    succeed: (sql, { intent }) => forget(sql, ref, intent),
    async fail(sql, { intent, problem }) {
      // Of a group some members may be deleted already: it goes on being deleted.
      if (problem.code === 'FAILED_PRECONDITION' && ref.kind === 'snapshot')
        await snapshotTable.update(sql, ref, { state: intent.subject.state });
    },
  });
}

async function intendDelete(sql: Sql, { kind, id }: Ref): Promise<Intended<Recorded, void>> {
  const known = await findRecorded(sql, { kind, id });
  if (!known) return { result: undefined };
  const { members } = known;
  if (kind === 'snapshot' && members[0]?.groupId !== undefined)
    throw invalidProblem(`snapshot "${id}" belongs to group "${members[0].groupId}"`);
  for (const member of members) await requireUnneeded(sql, { kind: 'snapshot', id: member.id });
  for (const member of members) await snapshotTable.update(sql, member, { state: 'deleting' });
  if (kind === 'group') await groupTable.update(sql, { id }, { state: 'deleting' });
  return { intent: known };
}

import { clusterOf } from '../../src/api/ids.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Intended } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Pools } from '../pools/pools.ts';
import type { Sql } from '../store.ts';
import { groupTable } from '../tables/groups.ts';
import { snapshotTable, type SnapshotRecord } from '../tables/snapshots.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { requireUnneeded } from '../volumes/sources.ts';
import { findRecorded, forget, requireSnapshots, type Recorded, type Ref } from './record.ts';

/** Deletes the snapshot, or the group with its members; what is not there is fine. INVALID_ARGUMENT for a member alone. */
export async function deleteRecorded(
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
    throw new Problem('INVALID_ARGUMENT', `snapshot "${id}" belongs to group "${members[0].groupId}"`);
  for (const member of members) await requireUnneeded(sql, { kind: 'snapshot', id: member.id });
  for (const member of members) await snapshotTable.update(sql, member, { state: 'deleting' });
  if (kind === 'group') await groupTable.update(sql, { id }, { state: 'deleting' });
  return { intent: known };
}

/** Removes them from their pool. */
export async function deleteAll(pools: Pools, members: readonly SnapshotRecord[]): Promise<void> {
  for (const { id, pool } of members) await requireSnapshots(pools.get(pool), 'snapshot').delete({ id });
}

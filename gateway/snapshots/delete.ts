import { clusterOf } from '../../src/api/ids.ts';
import { invalidProblem } from '../../src/api/problem.ts';
import type { Group } from '../../src/api/snapshot.ts';
import type { Intended, Operation } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Pools } from '../pools/pools.ts';
import type { Sql } from '../store.ts';
import { groupTable } from '../tables/groups.ts';
import { snapshotTable } from '../tables/snapshots.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { requireUnneeded } from '../volumes/sources.ts';
import { deleteAll, findRecorded, forget, type Recorded, type Ref } from './record.ts';

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
    pool: ({ members }) => members[0]?.pool,
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
  for (const member of members) await sql.lock('snapshot', member.id);
  for (const member of members) await requireUnneeded(sql, { kind: 'snapshot', id: member.id });
  await recordDeleting(sql, { kind, id }, known);
  return { intent: known };
}

/** Records that all of it is being deleted. */
export async function recordDeleting(sql: Sql, { kind, id }: Ref, { members }: Recorded): Promise<void> {
  for (const member of members) await snapshotTable.update(sql, member, { state: 'deleting' });
  if (kind === 'group') await groupTable.update(sql, { id }, { state: 'deleting' });
}

/**
 * Removes what was made for this record: while that is in one of the states, and what was made too late for one that is
 * gone. A record in another state stays as it is, and so does another record of the same id.
 */
export function undoRecorded(
  pools: Pools,
  ref: Ref,
  { recorded, states }: { readonly recorded: Recorded; readonly states: readonly Group['state'][] },
): Operation<Recorded | undefined, void, void> {
  const nonce = recorded.members[0]?.nonce ?? '';
  return {
    operation: 'delete',
    subject: { nonce },
    about: 'what was begun',
    claims: [ref],
    pool: () => recorded.members[0]?.pool,
    async intend(sql) {
      const found = await findRecorded(sql, ref);
      const known = found?.members[0]?.nonce === nonce ? found : undefined;
      if (known ? !states.includes(known.subject.state) : nonce === '') return { result: undefined };
      if (known) await recordDeleting(sql, ref, known);
      return { intent: known };
    },
    act: () => deleteAll(pools, recorded.members),
    async succeed(sql, { intent }) {
      if (intent) await forget(sql, ref, intent);
    },
    // What is recorded is being deleted: a sweep goes on with it.
    fail: async () => {},
  };
}

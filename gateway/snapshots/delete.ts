import { clusterOf } from '../../src/api/ids.ts';
import { invalidProblem } from '../../src/api/problem.ts';
import type { Group } from '../../src/api/snapshot.ts';
import type { IntendResult, Operation } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Pools } from '../pools/pools.ts';
import type { Reader, Sql } from '../store.ts';
import { groupTable } from '../tables/groups.ts';
import { snapshotTable } from '../tables/snapshots.ts';
import type { Cluster } from '../callers/cluster.ts';
import { hasCopyGrant, notOwnerProblem } from '../callers/access.ts';
import { requireUnneeded } from '../volumes/sources.ts';
import { deleteAll, findSnapshotSet, forget, type SnapshotSet, type Ref } from './record.ts';

/**
 * Deletes the snapshot, or the group with its members. If it does not exist, nothing happens.
 * INVALID_ARGUMENT for a member of a group, and FAILED_PRECONDITION for another cluster's snapshot that this cluster
 * may copy.
 */
export async function deleteSnapshotSet(
  { engine, pools, operations }: ServiceOptions,
  cluster: Cluster,
  ref: Ref,
): Promise<void> {
  if (clusterOf(ref.id) !== cluster.name) {
    if (await hasCopyGrant(engine.reader, cluster, ref)) throw notOwnerProblem(ref);
    return;
  }
  await operations.run<SnapshotSet, void, void>({
    operation: 'delete',
    subject: undefined,
    claims: [ref],
    pool: ({ members }) => members[0]?.pool,
    intend: sql => intendDelete(sql, ref),
    act: ({ members }) => deleteAll(pools, members),
    succeed: (sql, { intent }) => forget(sql, ref, intent),
    async fail(sql, { intent, problem }) {
      // Some members of a group may be deleted already, so the deletion continues.
      if (problem.code === 'FAILED_PRECONDITION' && ref.kind === 'snapshot')
        await snapshotTable.update(sql, ref, { state: intent.subject.state });
    },
  });
}

/**
 * Returns the ids of the snapshots that a deletion would delete, and deletes nothing. Throws as the deletion would,
 * as far as the store knows.
 */
export async function foreseeDeletion(
  { engine: { reader } }: Pick<ServiceOptions, 'engine'>,
  ref: Ref,
): Promise<readonly string[]> {
  const known = await findSnapshotSet(reader, ref);
  if (!known) return [];
  await requireDeletable(reader, ref, known);
  return known.members.map(({ id }) => id);
}

async function intendDelete(sql: Sql, ref: Ref): Promise<IntendResult<SnapshotSet, void>> {
  const known = await findSnapshotSet(sql, ref);
  if (!known) return { result: undefined };
  for (const member of known.members) await sql.lock('snapshot', member.id);
  await requireDeletable(sql, ref, known);
  await recordDeleting(sql, ref, known);
  return { intent: known };
}

/** Throws INVALID_ARGUMENT for a member of a group, and FAILED_PRECONDITION while a copy needs a snapshot. */
async function requireDeletable(sql: Reader, { kind, id }: Ref, { members }: SnapshotSet): Promise<void> {
  if (kind === 'snapshot' && members[0]?.groupId !== undefined)
    throw invalidProblem(`snapshot "${id}" belongs to group "${members[0].groupId}"; delete the group`);
  for (const member of members) await requireUnneeded(sql, { kind: 'snapshot', id: member.id });
}

export async function recordDeleting(sql: Sql, { kind, id }: Ref, { members }: SnapshotSet): Promise<void> {
  for (const member of members) await snapshotTable.update(sql, member, { state: 'deleting' });
  if (kind === 'group') await groupTable.update(sql, { id }, { state: 'deleting' });
}

/**
 * Deletes everything that was created for this record: while the record is in one of these states, or when the record
 * is gone and the creation was late. A record in another state stays, and so does another record with the same id.
 */
export function undoSnapshotSet(
  pools: Pools,
  ref: Ref,
  { set, states }: { readonly set: SnapshotSet; readonly states: readonly Group['state'][] },
): Operation<SnapshotSet | undefined, void, void> {
  const nonce = set.members[0]?.nonce ?? '';
  return {
    operation: 'delete',
    subject: { nonce },
    about: 'unfinished work',
    claims: [ref],
    pool: () => set.members[0]?.pool,
    async intend(sql) {
      const found = await findSnapshotSet(sql, ref);
      const known = found?.members[0]?.nonce === nonce ? found : undefined;
      if (known ? !states.includes(known.subject.state) : nonce === '') return { result: undefined };
      if (known) await recordDeleting(sql, ref, known);
      return { intent: known };
    },
    act: () => deleteAll(pools, set.members),
    async succeed(sql, { intent }) {
      if (intent) await forget(sql, ref, intent);
    },
    // The record says that it is being deleted, so a sweep continues.
    fail: async () => {},
  };
}

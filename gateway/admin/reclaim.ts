import { clusterOf } from '../../src/api/ids.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Backend } from '../backend.ts';
import { newRecord } from '../volumes/create.ts';
import { dropClaim, takeClaim, type Claim } from '../tables/claims.ts';
import { insertSnapshot, removeSnapshot } from '../tables/snapshots.ts';
import { claimVolume, insertVolume, removeVolume, releaseVolume } from '../tables/volumes.ts';
import { newSnapshotRecord } from '../snapshots/snapshots.ts';
import type { Engine, Sql } from '../store.ts';
import { requireHeld, type Intended, type Work } from '../operations/operation.ts';
import type { Finding } from './audit.ts';

/** What is needed to remove what nobody knows. */
export type ReclaimOptions = { readonly engine: Engine; readonly backend: Backend; readonly work: Work };

type Orphan = Pick<Finding, 'kind' | 'id'> & { readonly cluster: string };

/**
 * Removes what the storage has and the store does not. A tombstone is recorded first: from then on nobody can make
 * something with this id, and whoever is making it already has a row, so that there is no tombstone. ABORTED when there
 * is a row now; FAILED_PRECONDITION when the storage says that it is in use. After any other failure the tombstone
 * stays, and any gateway goes on with the removal.
 */
export async function reclaim(
  { backend, work }: ReclaimOptions,
  { kind, id }: Pick<Finding, 'kind' | 'id'>,
): Promise<void> {
  const cluster = clusterOf(id);
  if (cluster === undefined) throw new Problem('INVALID_ARGUMENT', `"${id}" is not an id of ours`);
  const orphan = { kind, id, cluster };
  await work.run<Orphan, void, void>({
    resources: [orphan],
    operation: 'delete',
    subject: undefined,
    intend: (sql, claim) => bury(sql, orphan, claim),
    act: async () => (kind === 'volume' ? backend.delete({ id }) : backend.snapshots?.delete({ id })),
    succeed: async sql => requireHeld(await forget(sql, orphan, work.owner), orphan),
    async fail(sql, { problem }) {
      if (problem.code === 'FAILED_PRECONDITION') await forget(sql, orphan, work.owner);
      else if (kind === 'volume') await releaseVolume(sql, { id, state: 'deleting' }, work.owner);
      else await dropClaim(sql, orphan, work.owner);
    },
  });
}

async function bury(sql: Sql, orphan: Orphan, claim: Claim): Promise<Intended<Orphan, void>> {
  const { kind, id, cluster } = orphan;
  const buried = kind === 'volume' ? await buryVolume(sql, orphan, claim) : await burySnapshot(sql, orphan);
  if (!buried) throw new Problem('ABORTED', `${kind} "${id}" of cluster "${cluster}" is known now`);
  await takeClaim(sql, orphan, claim);
  return { intent: orphan };
}

async function buryVolume(sql: Sql, { id, cluster }: Orphan, claim: Claim): Promise<boolean> {
  const tombstone = newRecord({ id, cluster, name: id, spec: { capabilities: [] } });
  if (!(await insertVolume(sql, tombstone, claim))) return false;
  await claimVolume(sql, { id, state: 'deleting' }, claim);
  return true;
}

async function burySnapshot(sql: Sql, { id, cluster }: Orphan): Promise<boolean> {
  const tombstone = newSnapshotRecord({ id, cluster, name: id, volumeId: '', parameters: {} });
  return insertSnapshot(sql, { ...tombstone, state: 'deleting' });
}

async function forget(sql: Sql, { kind, id }: Orphan, owner: string): Promise<boolean> {
  if (kind === 'volume') return removeVolume(sql, id, owner);
  const held = await dropClaim(sql, { kind, id }, owner);
  if (held) await removeSnapshot(sql, id);
  return held;
}

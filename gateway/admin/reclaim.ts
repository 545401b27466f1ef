import type { Finding } from '../../src/api/admin.ts';
import { clusterOf } from '../../src/api/ids.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Intended, Operations } from '../operations/operation.ts';
import type { Pools } from '../pools/pools.ts';
import { newSnapshotRecord } from '../snapshots/record.ts';
import type { Sql } from '../store.ts';
import { snapshotTable } from '../tables/snapshots.ts';
import { volumeTable } from '../tables/volumes.ts';
import { emptyVolumeRecord } from '../volumes/record.ts';

/** What is needed to remove what nobody knows. */
export type ReclaimOptions = { readonly pools: Pools; readonly operations: Operations };

type Orphan = Pick<Finding, 'pool' | 'kind' | 'id'> & { readonly cluster: string };

/**
 * Removes what the storage has and the store does not. A tombstone is recorded first: from then on nobody can make
 * something with this id, and whoever is making it already has a row, so that there is no tombstone. ABORTED when there
 * is a row now; FAILED_PRECONDITION when the storage says that it is in use. After any other failure the tombstone
 * stays, and any gateway goes on with the removal.
 */
export async function reclaim(
  { pools, operations }: ReclaimOptions,
  { pool, kind, id }: Pick<Finding, 'pool' | 'kind' | 'id'>,
): Promise<void> {
  const cluster = clusterOf(id);
  if (cluster === undefined) throw new Problem('INVALID_ARGUMENT', `"${id}" is not an id of ours`);
  const orphan = { pool, kind, id, cluster };
  const { backend } = pools.get(pool);
  const forget = async (sql: Sql): Promise<void> =>
    void (await (kind === 'volume' ? volumeTable : snapshotTable).remove(sql, { id }));
  await operations.run<Orphan, void, void>({
    operation: 'delete',
    subject: undefined,
    claims: [{ kind, id }],
    intend: sql => bury(sql, orphan),
    act: async () => (kind === 'volume' ? backend.delete({ id }) : backend.snapshots?.delete({ id })),
    succeed: forget,
    async fail(sql, { problem }) {
      if (problem.code === 'FAILED_PRECONDITION') await forget(sql);
    },
  });
}

async function bury(sql: Sql, orphan: Orphan): Promise<Intended<Orphan, void>> {
  const { pool, kind, id, cluster } = orphan;
  const known = { id, cluster, name: id, pool };
  const isNew =
    kind === 'volume'
      ? await volumeTable.insert(sql, {
          ...emptyVolumeRecord({ ...known, spec: { capabilities: [] }, source: undefined }),
          state: 'deleting',
        })
      : await snapshotTable.insert(sql, {
          ...newSnapshotRecord(
            { ...known, volumeId: '', parameters: {} },
            { pool, segments: undefined, sizeBytes: 0 },
          ),
          state: 'deleting',
        });
  if (!isNew) throw new Problem('ABORTED', `${kind} "${id}" of cluster "${cluster}" is known now`);
  return { intent: orphan };
}

import { preconditionProblem } from '../../src/api/problem.ts';
import type { Intended, Operation } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Pools } from '../pools/pools.ts';
import type { Sql } from '../store.ts';
import { findAttachments, nodeName } from '../tables/attachments.ts';
import { findGrants } from '../tables/tenancy/grants.ts';
import { findAtStorage, findVolume, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import { removeVolume, toVolumeRef } from './record.ts';
import { requireUnneeded } from './sources.ts';

/** Deletes the volume, or lets it be restored for a time; one that is not there is fine. */
export async function deleteVolume(
  { pools, operations, keepDeletedMs = 0 }: ServiceOptions,
  id: string,
): Promise<void> {
  /** What is not ready has nothing that anybody could want back. */
  const canRestore = ({ state }: VolumeRecord): boolean => keepDeletedMs > 0 && state === 'ready';

  async function intend(sql: Sql): Promise<Intended<VolumeRecord, void>> {
    const [known, attachments] = await Promise.all([findVolume(sql, id), findAttachments(sql, id)]);
    if (!known) return { result: undefined };
    const nodes = attachments.map(one => nodeName(one, known));
    if (nodes.length > 0) throw preconditionProblem(`volume "${id}" is attached to node ${nodes.join(', ')}`);
    if (known.shared) await requireUnshared(sql, id);
    await requireUnneeded(sql, { kind: 'volume', id });
    if (!canRestore(known)) await volumeTable.update(sql, known, { state: 'deleting' });
    return { intent: known };
  }

  await operations.run<VolumeRecord, void, void>({
    operation: 'delete',
    subject: undefined,
    claims: [{ kind: 'volume', id }],
    pool: volume => (canRestore(volume) ? undefined : volume.pool),
    intend,
    async act(volume) {
      if (!canRestore(volume)) await deleteFrom(pools, volume);
    },
    async succeed(sql, { intent }) {
      if (!canRestore(intent)) return removeVolume(sql, intent);
      // It was ready until now, and so could be shared since.
      await requireUnshared(sql, id);
      const restorableUntilMs = (await sql.now()) + keepDeletedMs;
      await volumeTable.update(sql, { id }, { state: 'deleted', restorableUntilMs });
    },
    async fail(sql, { intent: { state }, problem }) {
      if (problem.code === 'FAILED_PRECONDITION') await volumeTable.update(sql, { id }, { state });
    },
  });
}

/**
 * Removes what was made for this record: while that is in one of the states, and what was made too late for one that is
 * gone. A record in another state stays as it is, and so does another record of the same id, and what another cluster got
 * or was imported meanwhile.
 */
export function undoVolume(
  pools: Pools,
  record: VolumeRecord,
  states: readonly VolumeRecord['state'][],
): Operation<VolumeRecord | undefined, void, void> {
  const { id, nonce } = record;
  return {
    operation: 'delete',
    subject: { nonce },
    about: 'what was begun',
    claims: [{ kind: 'volume', id }],
    pool: () => record.pool,
    async intend(sql) {
      const found = await volumeTable.find(sql, { id });
      const known = found?.nonce === nonce ? found : undefined;
      const isLeft = known
        ? !states.includes(known.state)
        : nonce === '' || (await hasOtherOwner(sql, record));
      if (isLeft) return { result: undefined };
      if (known) await volumeTable.update(sql, known, { state: 'deleting' });
      return { intent: known };
    },
    act: () => deleteFrom(pools, record),
    async succeed(sql, { intent }) {
      if (intent) await removeVolume(sql, intent);
    },
    // What is recorded is being deleted: a sweep goes on with it.
    fail: async () => {},
  };
}

/** Whether what was made for the record is another's now: it was handed over, or imported, which takes what has any nonce. */
async function hasOtherOwner(sql: Sql, record: VolumeRecord): Promise<boolean> {
  const owner = await findAtStorage(sql, toVolumeRef(record).id);
  return owner !== undefined && ['', record.nonce].includes(owner.nonce);
}

/** FAILED_PRECONDITION, naming the clusters, while the volume is shared. */
async function requireUnshared(sql: Sql, id: string): Promise<void> {
  const holders = (await findGrants(sql, id)).map(({ cluster }) => `"${cluster}"`);
  if (holders.length === 0) return;
  throw preconditionProblem(`volume "${id}" is shared with cluster ${holders.join(', ')}: revoke that first`);
}

async function deleteFrom(pools: Pools, record: VolumeRecord): Promise<void> {
  await pools.get(record.pool).backend.delete(toVolumeRef(record));
}

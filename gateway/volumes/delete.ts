import { preconditionProblem } from '../../src/api/problem.ts';
import type { IntendResult, Operation } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Pools } from '../pools/pools.ts';
import type { Reader, Sql } from '../store.ts';
import {
  findAttachments,
  findSomeAttachments,
  nodeName,
  type ShownAttachment,
} from '../tables/attachments.ts';
import { readMissed, readTime } from '../tables/clock.ts';
import { findSomeGrants } from '../tables/grants.ts';
import { findAtStorage, findVolume, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import { changeVolume, removeVolume, toVolumeRef } from './record.ts';
import { keptTimeOf } from './deletion/kept-time.ts';
import { requireUnneeded } from './sources.ts';

/** The maximum number of nodes and clusters that a message names. */
const namedHolders = 10;

/** A deletion to foresee. The attachments to the nodes of `detached` will have ended before it. */
export type ForeseenDeletion = { readonly id: string; readonly detached?: string };

/**
 * Returns the outcome of a deletion without deleting anything. Throws FAILED_PRECONDITION while the volume is
 * attached, shared or needed.
 */
export async function foreseeDeletion(
  options: Pick<ServiceOptions, 'engine' | 'pools' | 'keepDeletedMs'>,
  { id, detached }: ForeseenDeletion,
): Promise<'missing' | 'deleted' | 'soft-deleted'> {
  const { reader } = options.engine;
  const known = await findVolume(reader, id);
  if (!known) return 'missing';
  const attachments = await findAttachments(reader, id);
  const others = attachments.filter(({ cluster }) => cluster !== detached);
  await requireUnused(reader, known, others.slice(0, namedHolders));
  return keptTimeOf(options, known, await readTime(reader)) > 0 ? 'soft-deleted' : 'deleted';
}

/** Throws FAILED_PRECONDITION, which names the holder, while the volume is attached, shared or needed. */
async function requireUnused(
  sql: Reader,
  volume: VolumeRecord,
  attachments: readonly ShownAttachment[],
): Promise<void> {
  const { id, shared } = volume;
  const nodes = attachments.map(one => nodeName(one, volume));
  if (nodes.length > 0) throw preconditionProblem(`volume "${id}" is attached to node ${nodes.join(', ')}`);
  if (shared) await requireUnshared(sql, id);
  await requireUnneeded(sql, { kind: 'volume', id });
}

/** A volume to delete. It can be restored for `keptMs`; 0: it is deleted for good. */
type Deletion = { readonly volume: VolumeRecord; readonly keptMs: number };

/** Deletes the volume, or keeps it restorable for a time. If there is no such volume, nothing happens. */
export async function deleteVolume(options: ServiceOptions, id: string): Promise<void> {
  const { pools, operations } = options;

  async function intend(sql: Sql): Promise<IntendResult<Deletion, void>> {
    const [volume, attachments, nowMs] = await Promise.all([
      findVolume(sql, id),
      findSomeAttachments(sql, id, namedHolders),
      sql.now(),
    ]);
    if (!volume) return { result: undefined };
    await requireUnused(sql, volume, attachments);
    const keptMs = keptTimeOf(options, volume, nowMs);
    if (keptMs === 0) await volumeTable.update(sql, volume, { state: 'deleting' });
    return { intent: { volume, keptMs } };
  }

  await operations.run<Deletion, void, void>({
    operation: 'delete',
    subject: undefined,
    claims: [{ kind: 'volume', id }],
    pool: ({ volume, keptMs }) => (keptMs > 0 ? undefined : volume.pool),
    intend,
    async act({ volume, keptMs }) {
      if (keptMs === 0) await deleteFrom(pools, volume);
    },
    async succeed(sql, { intent: { volume, keptMs } }) {
      if (keptMs === 0) return removeVolume(sql, volume);
      // The volume was ready until now, so it could have been shared in the meantime.
      await requireUnshared(sql, id);
      const [deletedAtMs, missedMs] = await Promise.all([sql.now(), readMissed(sql)]);
      const restorableUntilMs = deletedAtMs - missedMs + keptMs;
      await changeVolume(sql, volume, { state: 'deleted', deletedAtMs, restorableUntilMs });
    },
    async fail(sql, { intent: { volume }, problem }) {
      if (problem.code === 'FAILED_PRECONDITION')
        await volumeTable.update(sql, { id }, { state: volume.state });
    },
  });
}

/**
 * Deletes everything that was created for this record: while the record is in one of these states, or when the record
 * is gone and the creation was late. A record in another state stays, and so does another record with the same id, and
 * data that another record now owns after a transfer or an import.
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
    about: 'unfinished work',
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
    // The record says that the volume is being deleted, so a sweep continues.
    fail: async () => {},
  };
}

/**
 * Returns true if another record now owns the data that was created for this one: after a transfer, or an
 * import, which accepts any nonce.
 */
async function hasOtherOwner(sql: Sql, record: VolumeRecord): Promise<boolean> {
  const owner = await findAtStorage(sql, toVolumeRef(record).id);
  return owner !== undefined && ['', record.nonce].includes(owner.nonce);
}

/** Throws FAILED_PRECONDITION, which names the clusters, while the volume is shared. */
async function requireUnshared(sql: Reader, id: string): Promise<void> {
  const holders = (await findSomeGrants(sql, id, namedHolders)).map(({ cluster }) => `"${cluster}"`);
  if (holders.length === 0) return;
  throw preconditionProblem(
    `volume "${id}" is shared with cluster ${holders.join(', ')}; revoke that grant first`,
  );
}

async function deleteFrom(pools: Pools, record: VolumeRecord): Promise<void> {
  await pools.get(record.pool).backend.delete(toVolumeRef(record));
}

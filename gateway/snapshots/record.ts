import { Problem, problemTable } from '../../src/api/problem.ts';
import { undoOrRetry } from '../operations/undo.ts';
import type { CreatedSnapshot, NewSnapshot, Snapshots as BackendSnapshots } from '../backend.ts';
import { requireOffered } from '../pools/features.ts';
import type { Pool } from '../pools/pools.ts';
import { requireSpace, type Space } from '../pools/space.ts';
import type { Reader, Sql } from '../store.ts';
import { moveReservation } from '../tables/reservations.ts';
import { snapshotTable, type SnapshotRecord } from '../tables/snapshots.ts';
import type { VolumeRecord } from '../tables/volumes.ts';
import { toKnownVolume } from '../volumes/documents.ts';
import { isWritable } from '../volumes/sources.ts';

/** A snapshot as it is recorded at first, in the pool and the topology of its volume; it takes as much, unless told. */
export function newSnapshotRecord(
  asked: Pick<SnapshotRecord, 'id' | 'cluster' | 'name' | 'volumeId' | 'parameters'>,
  volume: Pick<VolumeRecord, 'pool' | 'segments' | 'sizeBytes'>,
  given: Partial<Pick<SnapshotRecord, 'groupId' | 'member' | 'reservedBytes'>> = {},
): SnapshotRecord {
  return {
    ...asked,
    pool: volume.pool,
    segments: volume.segments,
    groupId: given.groupId,
    member: given.member ?? 0,
    state: 'creating',
    sizeBytes: 0,
    reservedBytes: given.reservedBytes ?? volume.sizeBytes,
    createdAtMs: Date.now(),
  };
}

/** What the backend is to create; the volume is claimed, so that nothing is attached meanwhile. */
export async function toNewSnapshot(
  sql: Reader,
  { id, parameters }: SnapshotRecord,
  volume: VolumeRecord,
): Promise<NewSnapshot> {
  const attachedForWriting = await isWritable(sql, volume.id);
  return { id, volume: toKnownVolume(volume), attachedForWriting, parameters };
}

/** The snapshots of the pool, or UNIMPLEMENTED. */
export function requireSnapshots(pool: Pool): BackendSnapshots {
  return requireOffered(pool, pool.backend.snapshots, 'snapshots');
}

/** What changes in the record of a snapshot that was created. */
function afterCreate({
  sizeBytes,
  reservedBytes = sizeBytes,
  createdAtMs,
  ready,
}: CreatedSnapshot): Pick<SnapshotRecord, 'sizeBytes' | 'reservedBytes' | 'createdAtMs' | 'state'> {
  return { sizeBytes, reservedBytes, createdAtMs, state: ready ? 'ready' : 'processing' };
}

/** Records a new snapshot; RESOURCE_EXHAUSTED when there is no space for what it takes. */
export async function recordSnapshot(
  sql: Sql,
  snapshot: SnapshotRecord,
  where: { readonly pool: Pool; readonly spaces: readonly Space[] | undefined },
): Promise<void> {
  const { reservedBytes: bytes, segments } = snapshot;
  await requireSpace(sql, where, {
    bytes,
    topologies: segments && [segments],
    tooLarge: 'RESOURCE_EXHAUSTED',
  });
  await moveReservation(sql, undefined, snapshot);
  await snapshotTable.insert(sql, snapshot);
}

/** Records what was created; the snapshot as it is then. */
export async function recordCreated(
  sql: Sql,
  snapshot: SnapshotRecord,
  created: CreatedSnapshot,
): Promise<SnapshotRecord> {
  const changes = afterCreate(created);
  const after = { ...snapshot, ...changes };
  await moveReservation(sql, snapshot, after);
  await snapshotTable.update(sql, snapshot, changes);
  return after;
}

/** Forgets the snapshot, and what it takes of its pool. */
export async function forgetSnapshot(sql: Sql, snapshot: SnapshotRecord): Promise<void> {
  await moveReservation(sql, snapshot, undefined);
  await snapshotTable.remove(sql, snapshot);
}

/**
 * Creates. After a failure that is final nothing is left behind, also of what an earlier try may have done; where that
 * cannot be undone the failure is not final (UNAVAILABLE).
 */
export async function createOrUndo<T>(create: () => Promise<T>, undo: () => Promise<unknown>): Promise<T> {
  try {
    return await create();
  } catch (error) {
    if (error instanceof Problem && problemTable[error.code].final) await undoOrRetry(undo);
    throw error;
  }
}

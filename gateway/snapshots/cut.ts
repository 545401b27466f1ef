import { Problem, problemTable } from '../../src/api/problem.ts';
import type { CutSnapshot, NewSnapshot, Snapshots as BackendSnapshots } from '../backend.ts';
import { requireOffered } from '../pools/features.ts';
import type { Pool } from '../pools/pools.ts';
import type { Reader } from '../store.ts';
import type { SnapshotRecord } from '../tables/snapshots.ts';
import type { VolumeRecord } from '../tables/volumes.ts';
import { toKnownVolume } from '../volumes/documents.ts';
import { isWritable } from '../volumes/sources.ts';

/** A snapshot as it is recorded at first, in the pool and the place of its volume. */
export function newSnapshotRecord(
  asked: Pick<SnapshotRecord, 'id' | 'cluster' | 'name' | 'volumeId' | 'parameters'>,
  { pool, place }: Pick<VolumeRecord, 'pool' | 'place'>,
  group?: Pick<SnapshotRecord, 'groupId' | 'member'>,
): SnapshotRecord {
  return {
    ...asked,
    pool,
    place,
    groupId: group?.groupId,
    member: group?.member ?? 0,
    state: 'cutting',
    sizeBytes: 0,
    reservedBytes: 0,
    createdAtMs: Date.now(),
  };
}

/** What the backend is to cut; the volume is claimed, so that nothing is attached meanwhile. */
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

/** What changes in the record of a snapshot that was cut. */
export function afterCut({
  sizeBytes,
  createdAtMs,
  ready,
}: CutSnapshot): Pick<SnapshotRecord, 'sizeBytes' | 'createdAtMs' | 'state'> {
  return { sizeBytes, createdAtMs, state: ready ? 'ready' : 'processing' };
}

/** Cuts. After a failure that is final nothing is left behind, also of what an earlier try may have done. */
export async function cutOrUndo<T>(cut: () => Promise<T>, undo: () => Promise<unknown>): Promise<T> {
  try {
    return await cut();
  } catch (error) {
    if (error instanceof Problem && problemTable[error.code].final) await undo();
    throw error;
  }
}

import type { Group, Snapshot } from '../../src/api/snapshot.ts';
import type { KnownSnapshot } from '../backend.ts';
import type { SnapshotRecord } from '../tables/snapshots.ts';
import type { Recorded } from './record.ts';

/** A snapshot as the API shows it. */
export function toSnapshot(record: SnapshotRecord): Snapshot {
  const { id, name, pool, volumeId, groupId, state, sizeBytes, createdAtMs, segments } = record;
  return {
    id,
    name,
    pool,
    volumeId,
    ...(groupId !== undefined && { groupId }),
    state,
    sizeBytes,
    createdAt: new Date(createdAtMs).toISOString(),
    ...(segments && { topology: [segments] }),
  };
}

/** A group as the API shows it. */
export function toGroup({ subject, members }: Recorded): Group {
  const { id, name, state, createdAtMs } = subject;
  const createdAt = new Date(createdAtMs).toISOString();
  return { id, name, state, snapshots: members.map(toSnapshot), createdAt };
}

/** A snapshot as backends know it. */
export function toKnownSnapshot({ id, volumeId, sizeBytes, segments }: SnapshotRecord): KnownSnapshot {
  return { id, volumeId, sizeBytes, ...(segments && { segments }) };
}

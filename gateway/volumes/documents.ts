import type { Volume } from '../../src/api/volume.ts';
import type { Group, Snapshot } from '../../src/api/snapshot.ts';
import type { KnownSnapshot, KnownVolume } from '../backend.ts';
import type { AttachmentRecord } from '../tables/attachments.ts';
import type { GroupRecord } from '../tables/groups.ts';
import type { SnapshotRecord } from '../tables/snapshots.ts';
import type { VolumeRecord } from '../tables/volumes.ts';

/** A volume as the API shows it. */
export function toVolume(record: VolumeRecord, attachments: readonly AttachmentRecord[]): Volume {
  const { id, name, state, sizeBytes, spec, context, createdAtMs } = record;
  const { mutableParameters, nodeExpansionRequired, pending, place } = record;
  const unfinished = (['expansion', 'modification'] as const).filter(what => pending[what]);
  return {
    id,
    name,
    state,
    sizeBytes,
    parameters: spec.parameters ?? {},
    context: { ...context },
    attachments: attachments.map(({ nodeId, state: attached, readonly }) => ({
      nodeId,
      readonly,
      state: attached,
    })),
    createdAt: new Date(createdAtMs).toISOString(),
    ...(spec.source && { source: spec.source }),
    ...(Object.keys(mutableParameters).length > 0 && { mutableParameters: { ...mutableParameters } }),
    ...(nodeExpansionRequired && { nodeExpansionRequired }),
    ...(unfinished.length > 0 && { pending: unfinished }),
    ...(place && { topology: [place] }),
  };
}

/** A snapshot as the API shows it. */
export function toSnapshot(record: SnapshotRecord): Snapshot {
  const { id, name, volumeId, groupId, state, sizeBytes, createdAtMs, place } = record;
  return {
    id,
    name,
    volumeId,
    ...(groupId !== undefined && { groupId }),
    state,
    sizeBytes,
    createdAt: new Date(createdAtMs).toISOString(),
    ...(place && { topology: [place] }),
  };
}

/** A group as the API shows it. */
export function toGroup(record: GroupRecord, members: readonly SnapshotRecord[]): Group {
  const { id, name, state, createdAtMs } = record;
  const createdAt = new Date(createdAtMs).toISOString();
  return { id, name, state, snapshots: members.map(toSnapshot), createdAt };
}

/** A volume as backends know it. */
export function toKnownVolume({ id, sizeBytes, spec, place }: VolumeRecord): KnownVolume {
  return { id, sizeBytes, parameters: spec.parameters ?? {}, ...(place && { place }) };
}

/** A snapshot as backends know it. */
export function toKnownSnapshot({ id, volumeId, sizeBytes, place }: SnapshotRecord): KnownSnapshot {
  return { id, volumeId, sizeBytes, ...(place && { place }) };
}

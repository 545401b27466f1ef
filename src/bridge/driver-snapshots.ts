import { Problem } from '../api/problem.ts';
import type { Snapshot__Output } from '../csi/generated/csi/v1/Snapshot.ts';
import type { Timestamp__Output } from '../csi/generated/google/protobuf/Timestamp.ts';
import { nameFor, type Bridge } from './driver.ts';
import type { GroupRecord, Made, Origin, SnapshotRecord } from './records.ts';

/** Asks the driver for a snapshot. */
export async function createDriverSnapshot(
  { driver: { calls, secrets } }: Bridge,
  { id, origin, spec }: SnapshotRecord,
): Promise<Made<'snapshot'>> {
  const { snapshot } = await calls.controller.CreateSnapshot({
    source_volume_id: origin.handle,
    name: nameFor('snapshot', id),
    secrets: secrets('snapshot'),
    parameters: spec.parameters ?? {},
  });
  return toMade(snapshot, origin);
}

/** Asks the driver for a group of snapshots, and records these. */
export async function createDriverGroup(
  { driver: { calls, secrets }, records }: Bridge,
  { id, origins, spec: { name, parameters = {} } }: GroupRecord,
): Promise<Made<'group'>> {
  const { group_snapshot: group } = await calls.groupController.CreateVolumeGroupSnapshot({
    name: nameFor('groupsnapshot', id),
    source_volume_ids: origins.map(({ handle }) => handle),
    secrets: secrets('snapshot'),
    parameters,
  });
  if (!group?.group_snapshot_id) throw new Problem('UNAVAILABLE', 'the driver answered without a group');
  const members = origins.map((origin, index) => {
    const found = group.snapshots.find(({ source_volume_id: source }) => source === origin.handle);
    const spec = { name: `${name}-${index}`, volumeId: origin.volumeId };
    return { id: memberId(id, index), spec, groupId: id, origin, made: toMade(found, origin) };
  });
  records.put('snapshot', ...members);
  return {
    handle: group.group_snapshot_id,
    snapshotIds: members.map(member => member.id),
    createdAt: toTime(group.creation_time),
    isReady: group.ready_to_use,
  };
}

function toMade(snapshot: Snapshot__Output | null | undefined, { sizeBytes }: Origin): Made<'snapshot'> {
  if (!snapshot?.snapshot_id) throw new Problem('UNAVAILABLE', 'the driver answered without a snapshot');
  return {
    handle: snapshot.snapshot_id,
    // 0 is an unknown size (CSI spec, "CreateSnapshot").
    sizeBytes: Number(snapshot.size_bytes) || sizeBytes,
    createdAt: toTime(snapshot.creation_time),
    isReady: snapshot.ready_to_use,
  };
}

function toTime(at: Timestamp__Output | null): string {
  const ms = at ? Number(at.seconds) * 1_000 + at.nanos / 1_000_000 : Date.now();
  return new Date(ms).toISOString();
}

/** Makes the id of a member: the group's, cut, with its place. */
function memberId(groupId: string, index: number): string {
  const suffix = `-m${index}`;
  return groupId.length + suffix.length <= 128 ? groupId + suffix : nameFor('snapshot', groupId + suffix);
}

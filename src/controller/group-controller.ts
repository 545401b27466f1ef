import { hasFeature } from '../api/storage.ts';
import { invalidProblem } from '../api/problem.ts';
import type { Group } from '../api/snapshot.ts';
import type { GroupControllerHandlers } from '../csi/generated/csi/v1/GroupController.ts';
import type { AdvertisedCapabilities } from '../csi/identity.ts';
import { readKnownId, readName } from '../csi/request.ts';
import type { Handlers } from '../csi/call.ts';
import type { ControllerOptions } from './capabilities.ts';
import {
  ignoreMissing,
  readSnapshotParameters,
  requireCreated,
  resourceId,
  toCsiSnapshot,
  toTimestamp,
} from './messages.ts';

/** The GroupController service (CSI spec, "Group Controller Service RPCs"), in the order of the spec. */
export function createGroupController(options: ControllerOptions): Handlers<GroupControllerHandlers> {
  const { client, capabilities, cluster, advertised } = options;
  const toGroup = (group: Group) => toCsiGroup(group, advertised);
  return {
    async GroupControllerGetCapabilities() {
      if (!hasFeature(capabilities.get(), 'groups')) return { capabilities: [] };
      return { capabilities: [{ rpc: { type: 'CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT' } }] };
    },

    async CreateVolumeGroupSnapshot(request, call) {
      const name = readName(request.name);
      const volumeIds = readIds(request.source_volume_ids, 'source_volume_ids');
      if (volumeIds.length === 0) throw invalidProblem('source_volume_ids is missing');
      const spec = { name, volumeIds, parameters: readSnapshotParameters(request.parameters) };
      const groupId = resourceId(cluster, name);
      return { group_snapshot: toGroup(await client.createGroup({ groupId, body: spec }, call)) };
    },

    async DeleteVolumeGroupSnapshot(request, call) {
      const groupId = readKnownId(request.group_snapshot_id, 'group_snapshot_id');
      const snapshotIds = readIds(request.snapshot_ids, 'snapshot_ids');
      const group = await client.getGroup({ groupId }, call).catch(ignoreMissing);
      if (!group) return {};
      requireMembers(group, snapshotIds);
      await client.deleteGroup({ groupId }, call);
      return {};
    },

    async GetVolumeGroupSnapshot(request, call) {
      const groupId = readKnownId(request.group_snapshot_id, 'group_snapshot_id');
      const snapshotIds = readIds(request.snapshot_ids, 'snapshot_ids');
      const group = await client.getGroup({ groupId }, call);
      requireMembers(group, snapshotIds);
      return { group_snapshot: toGroup(group) };
    },
  };
}

function readIds(ids: readonly string[], field: string): string[] {
  return ids.map((id, index) => readKnownId(id, `${field}[${index}]`));
}

/** INVALID_ARGUMENT unless `snapshotIds` are exactly the group's members. */
function requireMembers(group: Group, snapshotIds: readonly string[]): void {
  const members = new Set(group.snapshots.map(({ id }) => id));
  if (members.symmetricDifference(new Set(snapshotIds)).size > 0)
    throw invalidProblem(`snapshot_ids differ from the members of group "${group.id}"`);
}

function toCsiGroup(group: Group, advertised: AdvertisedCapabilities) {
  const { id, state, snapshots, createdAt } = group;
  requireCreated('group', group);
  return {
    group_snapshot_id: id,
    snapshots: snapshots.map(snapshot => toCsiSnapshot(snapshot, advertised)),
    creation_time: toTimestamp(createdAt),
    ready_to_use: state === 'ready',
  };
}

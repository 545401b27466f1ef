import { isDeepStrictEqual } from 'node:util';
import { Problem } from '../api/problem.ts';
import type { Group } from '../api/snapshot.ts';
import type { VendorOperations } from '../sdk/server/vendor.ts';
import { dropIfRefused, nameFor, unlessRefused, type Bridge } from './driver.ts';
import { isCreated, type CreatedResource, type GroupRecord, type Records, type WithId } from './records.ts';
import { originOf, show as showSnapshot, toMade, toTime } from './snapshots.ts';

type Known = WithId<'group'>;

/** Creates the operations on groups of snapshots. */
export function createGroups(bridge: Bridge) {
  const { driver, records } = bridge;
  return {
    getGroup({ groupId }) {
      const found = records.find('group', groupId);
      if (!found) throw new Problem('NOT_FOUND', `there is no group "${groupId}"`);
      return [200, show(records, found)];
    },

    async createGroup({ groupId, body }) {
      const found = records.find('group', groupId);
      if (found && !isDeepStrictEqual(identityOf(found.spec), identityOf(body)))
        throw new Problem('ALREADY_EXISTS', `group "${groupId}" exists with other settings`);
      if (found?.made?.isReady) return [200, show(records, found)];
      const origins = found ? [] : body.volumeIds.map(volumeId => originOf(records, volumeId));
      const wanted = found ?? { id: groupId, spec: body, origins };
      if (!found) records.put('group', wanted);
      return [found?.made ? 200 : 201, show(records, await createDriverGroup(bridge, wanted))];
    },

    async deleteGroup({ groupId }) {
      const found = records.find('group', groupId);
      if (!found) return [204];
      const group = isCreated(found) ? found : await unlessRefused(() => createDriverGroup(bridge, found));
      const snapshotIds = group?.made.snapshotIds ?? [];
      const members = snapshotIds.flatMap(id => records.find('snapshot', id) ?? []);
      if (group)
        await driver.calls.groupController.DeleteVolumeGroupSnapshot(
          {
            group_snapshot_id: group.made.handle,
            snapshot_ids: members.flatMap(({ made }) => made?.handle ?? []),
            secrets: driver.secrets('snapshot'),
          },
          driver.timeoutMs,
        );
      records.drop('snapshot', ...snapshotIds);
      records.drop('group', groupId);
      return [204];
    },
  } satisfies VendorOperations;
}

/** Asks the driver for the group, and records it with its snapshots. After a final refusal nothing is left. */
export async function createDriverGroup(
  { driver, records }: Bridge,
  wanted: Known,
): Promise<CreatedResource<'group'>> {
  const {
    origins,
    spec: { name, parameters = {} },
  } = wanted;
  const request = {
    name: nameFor('groupsnapshot', wanted.id),
    source_volume_ids: origins.map(({ handle }) => handle),
    secrets: driver.secrets('snapshot'),
    parameters,
  };
  const { group_snapshot: answer } = await driver.calls.groupController
    .CreateVolumeGroupSnapshot(request, driver.timeoutMs)
    .catch(dropIfRefused(() => records.drop('group', wanted.id)));
  if (!answer?.group_snapshot_id) throw new Problem('UNAVAILABLE', 'the driver answered without a group');
  const snapshots = origins.map((origin, index) => {
    const found = answer.snapshots.find(({ source_volume_id: source }) => source === origin.handle);
    const spec = { name: `${name}-${index}`, volumeId: origin.volumeId };
    return {
      id: memberId(wanted.id, index),
      spec,
      groupId: wanted.id,
      origin,
      made: toMade(found ?? null, origin.sizeBytes),
    };
  });
  const created = {
    ...wanted,
    made: {
      handle: answer.group_snapshot_id,
      snapshotIds: snapshots.map(({ id }) => id),
      createdAt: toTime(answer.creation_time),
      isReady: answer.ready_to_use,
    },
  };
  records.put('snapshot', ...snapshots);
  records.put('group', created);
  return created;
}

/** Makes the id of a member: the group's, cut, with its place. */
function memberId(groupId: string, index: number): string {
  const suffix = `-m${index}`;
  return groupId.length + suffix.length <= 128 ? groupId + suffix : nameFor('snapshot', groupId + suffix);
}

function identityOf({ name, volumeIds, parameters = {} }: GroupRecord['spec']) {
  return { name, volumeIds, parameters };
}

function show(records: Records, { id, spec, made }: Known): Group {
  const snapshots = (made?.snapshotIds ?? []).flatMap(one => records.find('snapshot', one) ?? []);
  return {
    id,
    name: spec.name,
    state: made ? (made.isReady ? 'ready' : 'processing') : 'creating',
    snapshots: snapshots.map(showSnapshot),
    createdAt: made?.createdAt ?? new Date().toISOString(),
  };
}

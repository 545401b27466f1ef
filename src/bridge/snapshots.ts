import { invalidProblem } from '../api/problem.ts';
import type { Group, Snapshot } from '../api/snapshot.ts';
import type { VendorOperations } from '../sdk/server/vendor.ts';
import type { Bridge } from './driver.ts';
import { isCreated, type GroupRecord, type Origin, type Records, type SnapshotRecord } from './records.ts';
import { createResources, readPage } from './resources.ts';

/** Creates the operations on snapshots and on groups of them. */
export function createSnapshots(bridge: Bridge) {
  const { driver, records } = bridge;
  const { calls, secrets } = driver;
  const volumes = createResources(bridge, 'volume');
  const snapshots = createResources(bridge, 'snapshot');
  const groups = createResources(bridge, 'group');

  /** Finds the volume of a new snapshot at the driver. */
  function originOf(volumeId: string): Origin {
    const { handle, sizeBytes } = volumes.requireCreated(volumeId).made;
    return { volumeId, handle, sizeBytes };
  }

  return {
    listSnapshots({ volumeId, ...request }) {
      const { entries, ...more } = readPage(request, page =>
        volumeId === undefined ? records.page('snapshot', page) : records.snapshotsOf(volumeId, page),
      );
      return [200, { snapshots: entries.filter(isCreated).map(show), ...more }];
    },

    async getSnapshot({ snapshotId }) {
      const found = snapshots.require(snapshotId);
      return [200, show(isCreated(found) ? await snapshots.refresh(found) : found)];
    },

    async createSnapshot({ snapshotId: id, body }) {
      const toNew = () => ({ id, spec: body, origin: originOf(body.volumeId) });
      const [status, snapshot] = await snapshots.create(id, body, toNew);
      return [status, show(snapshot)];
    },

    async deleteSnapshot({ snapshotId: id }) {
      const groupId = records.find('snapshot', id)?.groupId;
      if (groupId !== undefined)
        throw invalidProblem(`snapshot "${id}" is a member of group "${groupId}": delete the group`);
      await snapshots.remove(id, ({ made: { handle } }) =>
        calls.controller.DeleteSnapshot({ snapshot_id: handle, secrets: secrets('snapshot') }),
      );
      return [204];
    },

    getGroup: ({ groupId }) => [200, showGroup(records, groups.require(groupId))],

    async createGroup({ groupId: id, body }) {
      const toNew = () => ({ id, spec: body, origins: body.volumeIds.map(originOf) });
      const [status, group] = await groups.create(id, body, toNew);
      return [status, showGroup(records, group)];
    },

    async deleteGroup({ groupId }) {
      await groups.remove(groupId, async ({ made: { handle, snapshotIds } }) => {
        const members = snapshotIds.flatMap(id => records.find('snapshot', id)?.made?.handle ?? []);
        await calls.groupController.DeleteVolumeGroupSnapshot({
          group_snapshot_id: handle,
          snapshot_ids: members,
          secrets: secrets('snapshot'),
        });
        records.drop('snapshot', ...snapshotIds);
      });
      return [204];
    },
  } satisfies VendorOperations;
}

function show({ id, spec: { name, volumeId }, groupId, made }: SnapshotRecord): Snapshot {
  return {
    id,
    name,
    volumeId,
    ...(groupId !== undefined && { groupId }),
    ...showState(made),
    sizeBytes: made?.sizeBytes ?? 0,
  };
}

function showGroup(records: Records, { id, spec: { name }, made }: GroupRecord): Group {
  const members = (made?.snapshotIds ?? []).flatMap(one => records.find('snapshot', one) ?? []);
  return { id, name, ...showState(made), snapshots: members.map(show) };
}

function showState(made: { readonly isReady: boolean; readonly createdAt: string } | undefined) {
  if (!made) return { state: 'creating' as const, createdAt: new Date().toISOString() };
  return { state: made.isReady ? ('ready' as const) : ('processing' as const), createdAt: made.createdAt };
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../../src/api/problem.ts';
import { sampleGroup } from '../../fakes/storage-api.ts';
import { everything, offered, serveController } from './serving.ts';

const members = ['a.one-cut', 'a.two-cut'];

test('CreateVolumeGroupSnapshot asks for the group by its id and tells of all members', async t => {
  const { csi, asked } = await serveController(t, {}, everything);
  const { group_snapshot: group } = await csi.groupController.CreateVolumeGroupSnapshot({
    name: 'group-1',
    source_volume_ids: ['a.one', 'a.two'],
    parameters: { 'csi.storage.k8s.io/volumegroupsnapshot/name': 'nightly' },
  });
  const spec = { name: 'group-1', volumeIds: ['a.one', 'a.two'], parameters: {} };
  assert.deepEqual(asked, [['createGroup', { groupId: 'a.group-1', body: spec }]]);
  assert.equal(group?.group_snapshot_id, 'a.group-1');
  assert.equal(group?.ready_to_use, true);
  assert.deepEqual(
    group?.snapshots.map(member => [member.snapshot_id, member.group_snapshot_id]),
    members.map(id => [id, 'a.group-1']),
  );
});

test('a group that is processing is not ready, one that is not cut is ABORTED', async t => {
  let state: 'processing' | 'creating' = 'processing';
  const createGroup = async (): Promise<ReturnType<typeof sampleGroup>> => sampleGroup({ state });
  const { csi } = await serveController(t, { createGroup }, everything);
  const request = { name: 'g', source_volume_ids: ['a.one'] };
  const { group_snapshot: group } = await csi.groupController.CreateVolumeGroupSnapshot(request);
  assert.equal(group?.ready_to_use, false);
  state = 'creating';
  await assert.rejects(csi.groupController.CreateVolumeGroupSnapshot(request), { code: 'ABORTED' });
});

test('GetVolumeGroupSnapshot and DeleteVolumeGroupSnapshot compare the members', async t => {
  const { csi, asked } = await serveController(t, {}, everything);
  const { GetVolumeGroupSnapshot: get, DeleteVolumeGroupSnapshot: remove } = csi.groupController;
  for (const snapshot_ids of [[], ['a.one-cut'], [...members, 'a.x'], ['a.one-cut', 'a.x']]) {
    const request = { group_snapshot_id: 'a.group-1', snapshot_ids };
    for (const rpc of [get, remove]) await assert.rejects(rpc(request), { code: 'INVALID_ARGUMENT' });
  }
  assert.ok(!asked.some(([name]) => name === 'deleteGroup'));
  const request = { group_snapshot_id: 'a.group-1', snapshot_ids: members.toReversed() };
  assert.equal((await get(request)).group_snapshot?.snapshots.length, 2);
  await remove(request);
  assert.deepEqual(asked.at(-1), ['deleteGroup', { groupId: 'a.group-1' }]);
});

test('a group that is not there is deleted already, and cannot be shown', async t => {
  const unknown = new Problem('NOT_FOUND', 'there is no group "a.x"');
  const { csi } = await serveController(t, { getGroup: () => Promise.reject(unknown) }, everything);
  await csi.groupController.DeleteVolumeGroupSnapshot({ group_snapshot_id: 'a.x' });
  await assert.rejects(csi.groupController.GetVolumeGroupSnapshot({ group_snapshot_id: 'a.x' }), {
    code: 'NOT_FOUND',
  });
});

test('the service offers groups where the storage does', async t => {
  for (const [storage, expected] of [
    [offered, []],
    [everything, ['CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT']],
  ] as const) {
    const { csi } = await serveController(t, {}, storage);
    const { capabilities } = await csi.groupController.GroupControllerGetCapabilities({});
    assert.deepEqual(
      capabilities.map(({ rpc }) => rpc?.type),
      expected,
    );
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../../src/api/problem.ts';
import { sampleGroup, sampleSnapshot } from '../../fakes/storage-api.ts';
import { callRpc, openController, testRows } from '../../harness/controller.ts';

const create = { name: 'snap-1', source_volume_id: 'a.pvc-1' };
const found = { snapshot_id: 'a.snap-1' };
const createGroup = { name: 'group-1', source_volume_ids: ['a.one', 'a.two'] };
const members = ['a.one-cut', 'a.two-cut'];
const missing = { getGroup: () => Promise.reject(new Problem('NOT_FOUND', 'there is no group "a.x"')) };
/**
 * The snapshotter's additions to a class's parameters are not passed on, nor are parameters that Kubernetes implements.
 */
const parameters = {
  tier: 'cold',
  'csi.storage.k8s.io/volumesnapshot/name': 'nightly',
  deletionPolicy: 'Retain',
};

testRows({
  'CreateSnapshot asks for the snapshot by its id and answers with when it was cut': {
    request: { ...create, parameters },
    asked: [
      [
        'createSnapshot',
        {
          snapshotId: 'a.snap-1',
          body: { name: 'snap-1', volumeId: 'a.pvc-1', parameters: { tier: 'cold' } },
        },
      ],
    ],
    answer: {
      snapshot: {
        ...found,
        source_volume_id: 'a.pvc-1',
        size_bytes: '1048576',
        ready_to_use: true,
        creation_time: { seconds: '1767225600', nanos: 250_000_000 },
        group_snapshot_id: '',
      },
    },
  },
  'GetSnapshot shows one that is cut and not ready, with its group': {
    request: found,
    api: { getSnapshot: async () => sampleSnapshot({ state: 'processing', groupId: 'a.group-1' }) },
    answer: { snapshot: { ready_to_use: false, group_snapshot_id: 'a.group-1' } },
  },
  'ListSnapshots passes filters and paging on': {
    request: { max_entries: 2, starting_token: 'from', source_volume_id: 'a.pvc-1' },
    api: { listSnapshots: async () => ({ snapshots: [sampleSnapshot()], nextPageToken: 'next' }) },
    asked: [['listSnapshots', { limit: 2, pageToken: 'from', volumeId: 'a.pvc-1' }]],
    answer: { entries: [{ snapshot: found }], next_token: 'next' },
  },
  'CreateVolumeGroupSnapshot asks for the group by its id and answers with all members': {
    request: { ...createGroup, parameters },
    asked: [
      [
        'createGroup',
        {
          groupId: 'a.group-1',
          body: { name: 'group-1', volumeIds: ['a.one', 'a.two'], parameters: { tier: 'cold' } },
        },
      ],
    ],
    answer: {
      group_snapshot: {
        group_snapshot_id: 'a.group-1',
        ready_to_use: true,
        snapshots: members.map(snapshot_id => ({ snapshot_id, group_snapshot_id: 'a.group-1' })),
      },
    },
  },
  'CreateVolumeGroupSnapshot answers with one that is processing, not ready': {
    request: createGroup,
    api: { createGroup: async () => sampleGroup({ state: 'processing' }) },
    answer: { group_snapshot: { ready_to_use: false } },
  },
  'CreateVolumeGroupSnapshot does not give one that is not cut for done': {
    request: createGroup,
    api: { createGroup: async () => sampleGroup({ state: 'creating' }) },
    error: { code: 'ABORTED' },
  },
  'DeleteVolumeGroupSnapshot succeeds for a group that is missing': {
    request: { group_snapshot_id: 'a.x' },
    api: missing,
  },
  'GetVolumeGroupSnapshot cannot show a group that is missing': {
    request: { group_snapshot_id: 'a.x' },
    api: missing,
    error: { code: 'NOT_FOUND' },
  },
});

for (const state of ['creating', 'deleting'] as const)
  test(`a snapshot that is ${state} is ABORTED, and in no list`, async t => {
    const answer = async (): Promise<ReturnType<typeof sampleSnapshot>> => sampleSnapshot({ state });
    const { csi } = await openController(t, { createSnapshot: answer, getSnapshot: answer });
    const aborted = { code: 'ABORTED', detail: new RegExp(`is ${state}; try again later`) };
    await assert.rejects(csi.controller.CreateSnapshot(create), aborted);
    await assert.rejects(csi.controller.GetSnapshot(found), aborted);
    assert.deepEqual((await csi.controller.ListSnapshots(found)).entries, []);
  });

test('ListSnapshots with an id has that snapshot, or nothing if it is missing or of another volume', async t => {
  const unknown = new Problem('NOT_FOUND', 'there is no snapshot "a.never"');
  const { csi } = await openController(t, {
    getSnapshot: async ({ snapshotId: id }) =>
      id === 'a.never' ? Promise.reject(unknown) : sampleSnapshot({ id }),
  });
  for (const [snapshot_id, source_volume_id, count] of [
    ['a.snap-1', '', 1],
    ['a.snap-1', 'a.pvc-1', 1],
    ['a.snap-1', 'a.pvc-2', 0],
    ['a.never', '', 0],
  ] as const) {
    const { entries } = await csi.controller.ListSnapshots({ snapshot_id, source_volume_id });
    assert.equal(entries.length, count);
  }
});

test('GetVolumeGroupSnapshot and DeleteVolumeGroupSnapshot compare the members', async t => {
  const served = await openController(t);
  for (const snapshot_ids of [[], ['a.one-cut'], [...members, 'a.x'], ['a.one-cut', 'a.x']])
    for (const rpc of ['GetVolumeGroupSnapshot', 'DeleteVolumeGroupSnapshot'])
      await assert.rejects(callRpc(served, rpc, { group_snapshot_id: 'a.group-1', snapshot_ids }), {
        code: 'INVALID_ARGUMENT',
      });
  assert.ok(!served.asked.some(([name]) => name === 'deleteGroup'));
  const request = { group_snapshot_id: 'a.group-1', snapshot_ids: members.toReversed() };
  const { group_snapshot } = await served.csi.groupController.GetVolumeGroupSnapshot(request);
  assert.equal(group_snapshot?.snapshots.length, 2);
  await served.csi.groupController.DeleteVolumeGroupSnapshot(request);
  assert.deepEqual(served.asked.at(-1), ['deleteGroup', { groupId: 'a.group-1' }]);
});

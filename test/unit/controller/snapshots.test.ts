import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../../src/api/problem.ts';
import { sampleSnapshot, sampleVolume } from '../../fakes/storage-api.ts';
import { everything, serveController } from './serving.ts';

const volume_capability = { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;
const create = { name: 'pvc-2', volume_capabilities: [volume_capability] };

test('CreateSnapshot asks for the snapshot by its id and tells when it was cut', async t => {
  const { csi, asked } = await serveController(t, {}, everything);
  const parameters = {
    tier: 'cold',
    'csi.storage.k8s.io/volumesnapshot/name': 'nightly',
    'csi.storage.k8s.io/volumesnapshot/namespace': 'prod',
    'csi.storage.k8s.io/volumesnapshotcontent/name': 'snapcontent-1',
  };
  const { snapshot } = await csi.controller.CreateSnapshot({
    name: 'snap-1',
    source_volume_id: 'a.pvc-1',
    parameters,
  });
  const spec = { name: 'snap-1', volumeId: 'a.pvc-1', parameters: { tier: 'cold' } };
  assert.deepEqual(asked, [['createSnapshot', { snapshotId: 'a.snap-1', body: spec }]]);
  assert.deepEqual(
    [snapshot?.snapshot_id, snapshot?.source_volume_id, snapshot?.size_bytes, snapshot?.ready_to_use],
    ['a.snap-1', 'a.pvc-1', '1048576', true],
  );
  assert.deepEqual({ ...snapshot?.creation_time }, { seconds: '1767225600', nanos: 250_000_000 });
  assert.equal(snapshot?.group_snapshot_id, '');
});

test('a snapshot that is processing is not ready to use', async t => {
  const { csi } = await serveController(
    t,
    { createSnapshot: async ({ snapshotId: id }) => sampleSnapshot({ id, state: 'processing' }) },
    everything,
  );
  const { snapshot } = await csi.controller.CreateSnapshot({ name: 's', source_volume_id: 'a.pvc-1' });
  assert.equal(snapshot?.ready_to_use, false);
});

for (const state of ['creating', 'deleting'] as const) {
  test(`a snapshot that is ${state} is ABORTED, and in no list`, async t => {
    const found = async (): Promise<ReturnType<typeof sampleSnapshot>> => sampleSnapshot({ state });
    const { csi } = await serveController(t, { createSnapshot: found, getSnapshot: found }, everything);
    const aborted = { code: 'ABORTED', detail: new RegExp(`is ${state} still`) };
    await assert.rejects(csi.controller.CreateSnapshot({ name: 's', source_volume_id: 'a.pvc-1' }), aborted);
    await assert.rejects(csi.controller.GetSnapshot({ snapshot_id: 'a.snap-1' }), aborted);
    assert.deepEqual((await csi.controller.ListSnapshots({ snapshot_id: 'a.snap-1' })).entries, []);
  });
}

test('GetSnapshot shows one that is cut and not ready, with its group', async t => {
  const { csi } = await serveController(
    t,
    {
      getSnapshot: async ({ snapshotId: id }) =>
        sampleSnapshot({ id, state: 'processing', groupId: 'a.group-1' }),
    },
    everything,
  );
  const { snapshot } = await csi.controller.GetSnapshot({ snapshot_id: 'a.x' });
  assert.deepEqual([snapshot?.ready_to_use, snapshot?.group_snapshot_id], [false, 'a.group-1']);
});

test('ListSnapshots passes filters and paging on', async t => {
  const { csi, asked } = await serveController(
    t,
    { listSnapshots: async () => ({ snapshots: [sampleSnapshot()], nextPageToken: 'next' }) },
    everything,
  );
  const page = await csi.controller.ListSnapshots({
    max_entries: 2,
    starting_token: 'from',
    source_volume_id: 'a.pvc-1',
  });
  assert.deepEqual(asked, [['listSnapshots', { limit: 2, pageToken: 'from', volumeId: 'a.pvc-1' }]]);
  assert.deepEqual([page.entries.length, page.next_token], [1, 'next']);
});

test('ListSnapshots of one snapshot has that one, or nothing when it is not there or of another volume', async t => {
  const unknown = new Problem('NOT_FOUND', 'there is no snapshot "a.never"');
  const { csi } = await serveController(
    t,
    {
      getSnapshot: async ({ snapshotId: id }) =>
        id === 'a.never' ? Promise.reject(unknown) : sampleSnapshot({ id }),
    },
    everything,
  );
  const count = async (snapshot_id: string, source_volume_id = ''): Promise<number> =>
    (await csi.controller.ListSnapshots({ snapshot_id, source_volume_id })).entries.length;
  assert.equal(await count('a.snap-1'), 1);
  assert.equal(await count('a.snap-1', 'a.pvc-1'), 1);
  assert.equal(await count('a.snap-1', 'a.pvc-2'), 0);
  assert.equal(await count('a.never'), 0);
});

test('DeleteSnapshot of a member is INVALID_ARGUMENT with the group', async t => {
  const { csi } = await serveController(
    t,
    {
      deleteSnapshot: () =>
        Promise.reject(new Problem('INVALID_ARGUMENT', 'snapshot "a.s" belongs to group "a.g"')),
    },
    everything,
  );
  await assert.rejects(csi.controller.DeleteSnapshot({ snapshot_id: 'a.s' }), {
    code: 'INVALID_ARGUMENT',
    detail: /belongs to group "a.g"/,
  });
});

for (const [content, source] of [
  [{ snapshot: { snapshot_id: 'a.s' } }, { kind: 'snapshot', snapshotId: 'a.s' }],
  [{ volume: { volume_id: 'a.v' } }, { kind: 'volume', volumeId: 'a.v' }],
] as const) {
  test(`CreateVolume from a ${source.kind} passes it on, and tells of it in the answer`, async t => {
    const { csi, asked } = await serveController(
      t,
      {
        createVolume: async ({ volumeId: id, body: { source: given } }) =>
          sampleVolume({ id, ...(given && { source: given }) }),
      },
      everything,
    );
    const { volume } = await csi.controller.CreateVolume({ ...create, volume_content_source: content });
    assert.partialDeepStrictEqual(asked, [['createVolume', { volumeId: 'a.pvc-2', body: { source } }]]);
    assert.equal(volume?.content_source?.type, source.kind);
    assert.partialDeepStrictEqual(JSON.parse(JSON.stringify(volume?.content_source)), content);
  });
}

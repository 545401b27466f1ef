import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampleVolume } from '../../fakes/storage-api.ts';
import { everything, offered, serveController } from './serving.ts';

const volume_capability = { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;
const volume_capabilities = [volume_capability];

test('ControllerExpandVolume passes the bounds on, and tells the size and what the node must do', async t => {
  const { csi, asked } = await serveController(t, {}, everything);
  const answer = await csi.controller.ControllerExpandVolume({
    volume_id: 'a.pvc-1',
    capacity_range: { required_bytes: 5, limit_bytes: 9 },
    volume_capability,
  });
  assert.deepEqual(asked, [
    ['expandVolume', { volumeId: 'a.pvc-1', body: { requiredBytes: 5, limitBytes: 9 } }],
  ]);
  assert.deepEqual([answer.capacity_bytes, answer.node_expansion_required], ['5', true]);
});

test('a volume that never grew needs nothing of the node', async t => {
  const { csi } = await serveController(t, { expandVolume: async () => sampleVolume() }, everything);
  const capacity_range = { required_bytes: 1 };
  const answer = await csi.controller.ControllerExpandVolume({ volume_id: 'a.x', capacity_range });
  assert.equal(answer.node_expansion_required, false);
});

test('ControllerModifyVolume passes the parameters on, none included', async t => {
  const { csi, asked } = await serveController(t, {}, everything);
  await csi.controller.ControllerModifyVolume({ volume_id: 'a.x', mutable_parameters: { tier: 'fast' } });
  await csi.controller.ControllerModifyVolume({ volume_id: 'a.x' });
  assert.deepEqual(asked, [
    ['modifyVolume', { volumeId: 'a.x', body: { mutableParameters: { tier: 'fast' } } }],
    ['modifyVolume', { volumeId: 'a.x', body: { mutableParameters: {} } }],
  ]);
});

test('CreateVolume and ValidateVolumeCapabilities pass mutable parameters on', async t => {
  const { csi, asked } = await serveController(t, {}, everything);
  const mutable_parameters = { tier: 'fast' };
  await csi.controller.CreateVolume({ name: 'pvc-1', volume_capabilities, mutable_parameters });
  const { confirmed } = await csi.controller.ValidateVolumeCapabilities({
    volume_id: 'a.pvc-1',
    volume_capabilities,
    mutable_parameters,
  });
  assert.partialDeepStrictEqual(asked, [
    ['createVolume', { volumeId: 'a.pvc-1', body: { mutableParameters: mutable_parameters } }],
    ['validateVolume', { volumeId: 'a.pvc-1', body: { mutableParameters: mutable_parameters } }],
  ]);
  assert.deepEqual({ ...confirmed?.mutable_parameters }, mutable_parameters);
});

test('the health of one volume and of all comes in the words of CSI', async t => {
  const entries = [{ status: 'DEGRADED' as const, reason: 'DiskSlow', message: 'reads take long' }];
  const { csi, asked } = await serveController(
    t,
    {
      getVolumeHealth: async ({ volumeId }) => ({ volumeId, entries }),
      listVolumeHealth: async () => ({ volumes: [{ volumeId: 'a.x', entries }], nextPageToken: 'next' }),
    },
    everything,
  );
  const { volume_health: one } = await csi.controller.ControllerGetVolumeHealth({ volume_id: 'a.x' });
  assert.partialDeepStrictEqual(JSON.parse(JSON.stringify(one)), {
    volume_id: 'a.x',
    health_statuses: entries,
  });
  const all = await csi.controller.ControllerListVolumeHealth({ max_entries: 3, starting_token: 'from' });
  assert.deepEqual([all.entries.length, all.next_token], [1, 'next']);
  assert.deepEqual(asked.at(-1), ['listVolumeHealth', { limit: 3, pageToken: 'from' }]);
});

test('a storage that can do everything is advertised with everything', async t => {
  const { csi } = await serveController(t, {}, everything);
  const { capabilities } = await csi.controller.ControllerGetCapabilities({});
  const types = new Set(capabilities.map(({ rpc }) => rpc?.type));
  for (const type of [
    'GET_CAPACITY',
    'CREATE_DELETE_SNAPSHOT',
    'LIST_SNAPSHOTS',
    'GET_SNAPSHOT',
    'CLONE_VOLUME',
    'EXPAND_VOLUME',
    'MODIFY_VOLUME',
    'GET_VOLUME_HEALTH',
    'LIST_VOLUME_HEALTH',
  ] as const)
    assert.ok(types.has(type), type);
});

test('snapshots that no volume can be made from are not advertised, nor words of a newer gateway', async t => {
  const features = ['snapshots', 'teleport'];
  const { csi } = await serveController(t, {}, { ...offered, features });
  const { capabilities } = await csi.controller.ControllerGetCapabilities({});
  assert.ok(!capabilities.some(({ rpc }) => rpc?.type === 'CREATE_DELETE_SNAPSHOT'));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../../src/api/problem.ts';
import { resourceId } from '../../../src/controller/resource-id.ts';
import { sampleVolume } from '../../fakes/storage-api.ts';
import { offered, serveController } from './serving.ts';

const volume_capability = {
  mount: { fs_type: 'ext4' },
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
} as const;
const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', fsType: 'ext4' };
const create = { name: 'pvc-1', volume_capabilities: [volume_capability] };

test('CreateVolume asks for the volume by its id and tells what came of it', async t => {
  const { csi, asked } = await serveController(t);
  const { volume } = await csi.controller.CreateVolume({
    ...create,
    capacity_range: { required_bytes: 1_000, limit_bytes: 2_000 },
    parameters: { tier: 'fast' },
  });
  assert.deepEqual(asked, [
    [
      'createVolume',
      {
        volumeId: 'a.pvc-1',
        body: {
          name: 'pvc-1',
          requiredBytes: 1_000,
          limitBytes: 2_000,
          capabilities: [capability],
          parameters: { tier: 'fast' },
        },
      },
    ],
  ]);
  assert.equal(volume?.volume_id, 'a.pvc-1');
  assert.equal(volume?.capacity_bytes, '1048576');
  assert.deepEqual(volume?.volume_context, { k: 'v' });
});

test('CreateVolume makes a safe id of an odd name, and passes the name on as it is', async t => {
  const { csi, asked } = await serveController(t);
  const { volume } = await csi.controller.CreateVolume({ ...create, name: '../ü' });
  assert.equal(volume?.volume_id, resourceId('a', '../ü'));
  assert.partialDeepStrictEqual(asked, [
    ['createVolume', { volumeId: resourceId('a', '../ü'), body: { name: '../ü' } }],
  ]);
});

test('the metadata that the provisioner adds is not passed on, other parameters are', async t => {
  const { csi, asked } = await serveController(t);
  const parameters = {
    'csi.storage.k8s.io/pvc/name': 'data',
    'csi.storage.k8s.io/pvc/namespace': 'prod',
    'csi.storage.k8s.io/pv/name': 'pv-1',
    tier: 'fast',
  };
  await csi.controller.CreateVolume({ ...create, parameters });
  await csi.controller.GetCapacity({ parameters });
  const given = asked.map(([, { body }]) => body as { parameters: object });
  assert.deepEqual(
    given.map(spec => spec.parameters),
    [{ tier: 'fast' }, { tier: 'fast' }],
  );
});

for (const state of ['creating', 'deleting'] as const) {
  test(`CreateVolume never gives a volume that is ${state} for done`, async t => {
    const { csi } = await serveController(t, { createVolume: async () => sampleVolume({ state }) });
    await assert.rejects(csi.controller.CreateVolume(create), {
      code: 'ABORTED',
      detail: new RegExp(`is ${state} still`),
    });
  });
}

test('ControllerPublishVolume gives the attachment as the publish context', async t => {
  const { csi, asked } = await serveController(t);
  const request = { volume_id: 'a.pvc-1', node_id: 'n1', volume_capability, readonly: true };
  const { publish_context } = await csi.controller.ControllerPublishVolume(request);
  assert.deepEqual(asked, [
    ['attachVolume', { volumeId: 'a.pvc-1', nodeId: 'n1', body: { capability, readonly: true } }],
  ]);
  assert.deepEqual(
    { ...publish_context },
    {
      protocol: 'loop',
      attachmentId: 'x1',
      sizeBytes: '1048576',
      readonly: 'false',
      mayFormat: 'true',
      path: '/images/a.pvc-1',
    },
  );
});

test('ControllerPublishVolume never gives an attachment that is not attached for done', async t => {
  const fields = { volumeId: 'a.pvc-1', nodeId: 'n1', readonly: false };
  const attachment = {
    protocol: 'loop',
    attachmentId: 'x',
    sizeBytes: 1,
    readonly: false,
    mayFormat: true,
    path: '/x',
  } as const;
  for (const resource of [
    { ...fields, state: 'attaching', attachment },
    { ...fields, state: 'detaching', attachment },
    { ...fields, state: 'attached' },
  ] as const) {
    const { csi } = await serveController(t, { attachVolume: async () => resource });
    const work = csi.controller.ControllerPublishVolume({
      volume_id: 'a.pvc-1',
      node_id: 'n1',
      volume_capability,
    });
    await assert.rejects(work, { code: 'UNAVAILABLE', detail: /is not attached to node "n1" yet/ });
  }
});

test('ControllerUnpublishVolume without a node means all of them', async t => {
  const { csi, asked } = await serveController(t);
  await csi.controller.ControllerUnpublishVolume({ volume_id: 'a.pvc-1' });
  await csi.controller.ControllerUnpublishVolume({ volume_id: 'a.pvc-1', node_id: 'n1' });
  assert.deepEqual(asked, [
    ['detachVolumeFromAllNodes', { volumeId: 'a.pvc-1' }],
    ['detachVolume', { volumeId: 'a.pvc-1', nodeId: 'n1' }],
  ]);
});

test('ListVolumes passes paging on, leaves out what is not ready, and tells where each volume is attached', async t => {
  const attachments = (['attaching', 'attached', 'detaching'] as const).map(state => ({
    nodeId: state,
    state,
    readonly: false,
  }));
  const volumes = [
    sampleVolume({ id: 'a.1', attachments }),
    sampleVolume({ id: 'a.2', state: 'creating' }),
    sampleVolume({ id: 'a.3', state: 'deleting' }),
  ];
  const { csi, asked } = await serveController(t, {
    listVolumes: async () => ({ volumes, nextPageToken: 'next=/é' }),
  });
  const page = await csi.controller.ListVolumes({ max_entries: 3, starting_token: 'from=/é' });
  assert.deepEqual(asked, [['listVolumes', { limit: 3, pageToken: 'from=/é' }]]);
  assert.equal(page.next_token, 'next=/é');
  assert.deepEqual(
    page.entries.map(({ volume, status }) => [volume?.volume_id, status?.published_node_ids]),
    [['a.1', ['attached', 'detaching']]],
  );
});

test("ListVolumes hands a bad token's ABORTED on", async t => {
  const { csi } = await serveController(t, {
    listVolumes: () => Promise.reject(new Problem('ABORTED', 'page token "x" is not one')),
  });
  await assert.rejects(csi.controller.ListVolumes({ starting_token: 'x' }), { code: 'ABORTED' });
});

test('the last page has no token', async t => {
  const { csi } = await serveController(t);
  assert.equal((await csi.controller.ListVolumes({})).next_token, '');
});

test('ValidateVolumeCapabilities confirms what was asked, or tells why not', async t => {
  const request = {
    volume_id: 'a.pvc-1',
    volume_capabilities: [volume_capability],
    volume_context: { k: 'v' },
  };
  const confirmed = await (await serveController(t)).csi.controller.ValidateVolumeCapabilities(request);
  assert.equal(confirmed.confirmed?.volume_capabilities?.length, 1);
  assert.equal(confirmed.message, '');
  const { csi } = await serveController(t, {
    validateVolume: async () => ({ confirmed: false, message: 'no raw blocks here' }),
  });
  const refused = await csi.controller.ValidateVolumeCapabilities(request);
  assert.deepEqual([refused.confirmed, refused.message], [null, 'no raw blocks here']);
  const mutable = await csi.controller.ValidateVolumeCapabilities({
    ...request,
    mutable_parameters: { k: 'v' },
  });
  assert.deepEqual([mutable.confirmed, mutable.message], [null, 'mutable parameters are not offered']);
});

test('GetCapacity tells the space and the bounds of one volume', async t => {
  const { csi } = await serveController(t);
  const capacity = await csi.controller.GetCapacity({ volume_capabilities: [volume_capability] });
  assert.equal(capacity.available_capacity, '10');
  assert.equal(capacity.maximum_volume_size?.value, '5');
  assert.equal(capacity.minimum_volume_size?.value, '1');
});

test('ControllerGetVolume tells the volume and where it is attached', async t => {
  const attachments = [{ nodeId: 'n1', state: 'attached', readonly: false } as const];
  const { csi } = await serveController(t, {
    getVolume: async ({ volumeId: id }) => sampleVolume({ id, attachments }),
  });
  const { volume, status } = await csi.controller.ControllerGetVolume({ volume_id: 'a.pvc-1' });
  assert.deepEqual([volume?.volume_id, status?.published_node_ids], ['a.pvc-1', ['n1']]);
});

test('what the gateway refuses comes out with its code and detail', async t => {
  const { csi } = await serveController(t, {
    deleteVolume: () =>
      Promise.reject(new Problem('FAILED_PRECONDITION', 'volume "a.x" is attached to node "n2"')),
  });
  await assert.rejects(csi.controller.DeleteVolume({ volume_id: 'a.x' }), {
    code: 'FAILED_PRECONDITION',
    detail: /^volume "a.x" is attached to node "n2"/,
  });
});

test('the capabilities are those of the storage behind', async t => {
  const always = [
    'CREATE_DELETE_VOLUME',
    'PUBLISH_UNPUBLISH_VOLUME',
    'LIST_VOLUMES',
    'PUBLISH_READONLY',
    'LIST_VOLUMES_PUBLISHED_NODES',
    'GET_VOLUME',
  ];
  const multi = {
    ...offered,
    features: new Array<string>(),
    accessModes: ['SINGLE_NODE_MULTI_WRITER' as const],
  };
  for (const [capabilities, expected] of [
    [offered, [...always, 'GET_CAPACITY']],
    [{ ...offered, features: new Array<string>() }, always],
    [multi, [...always, 'SINGLE_NODE_MULTI_WRITER']],
  ] as const) {
    const { csi } = await serveController(t, {}, capabilities);
    const answer = await csi.controller.ControllerGetCapabilities({});
    assert.deepEqual(answer.capabilities.map(({ rpc }) => rpc?.type).sort(), [...expected].sort());
  }
});

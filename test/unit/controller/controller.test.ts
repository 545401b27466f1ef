import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttachmentResource } from '../../../src/api/node.ts';
import { Problem } from '../../../src/api/problem.ts';
import type { VolumeSource } from '../../../src/api/volume.ts';
import { resourceId } from '../../../src/controller/messages.ts';
import { sampleVolume } from '../../fakes/storage-api.ts';
import {
  attachment,
  everything,
  offered,
  openController,
  testRows,
  type Row,
} from '../../harness/controller.ts';

const volume_capability = {
  mount: { fs_type: 'ext4' },
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
} as const;
const volume_capabilities = [volume_capability];
const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', fsType: 'ext4' };
const volume_id = 'a.pvc-1';
const volumeId = volume_id;
const create = { name: 'pvc-1', volume_capabilities };
const publish = { volume_id, node_id: 'n1', volume_capability };
const validate = { volume_id, volume_capabilities, volume_context: { k: 'v' } };
const mutable_parameters = { tier: 'fast' };
const entries = [{ status: 'DEGRADED' as const, reason: 'DiskSlow', message: 'reads take long' }];
/** The provisioner's additions to a StorageClass's parameters are not passed on. */
const parameters = {
  'csi.storage.k8s.io/pvc/name': 'data',
  'csi.storage.k8s.io/pv/name': 'pv-1',
  tier: 'fast',
};
const attached = { volumeId, nodeId: 'n1', readonly: false } as const;
const trimmed = { ...attachment, trimTurn: 0 };
/** The spec of a volume that is created with only its name. */
const spec = { name: 'pvc-1', requiredBytes: 0, limitBytes: 0, capabilities: [capability], parameters: {} };

testRows({
  'CreateVolume asks for the volume by its id and answers with it': {
    request: { ...create, parameters, capacity_range: { required_bytes: 1_000, limit_bytes: 2_000 } },
    asked: [
      [
        'createVolume',
        {
          volumeId,
          body: { ...spec, requiredBytes: 1_000, limitBytes: 2_000, parameters: { tier: 'fast' } },
        },
      ],
    ],
    answer: { volume: { volume_id, capacity_bytes: '1048576', volume_context: { k: 'v' } } },
  },
  "CreateVolume gives no context that is Kubernetes' own": {
    request: create,
    api: {
      createVolume: async () =>
        sampleVolume({ id: volumeId, context: { k: 'v', 'csi.storage.k8s.io/ephemeral': 'true' } }),
    },
    answer: { volume: { volume_id, capacity_bytes: '1048576', volume_context: { k: 'v' } } },
  },
  'CreateVolume makes a safe id of an odd name, and passes the name on as it is': {
    request: { ...create, name: '../ü' },
    asked: [['createVolume', { volumeId: resourceId('a', '../ü'), body: { ...spec, name: '../ü' } }]],
    answer: { volume: { volume_id: resourceId('a', '../ü') } },
  },
  'CreateVolume passes mutable parameters on': {
    request: { ...create, mutable_parameters },
    asked: [['createVolume', { volumeId, body: { ...spec, mutableParameters: mutable_parameters } }]],
  },
  'CreateVolume passes a snapshot to be filled from on, and names it in the answer': filledFrom(
    { snapshot: { snapshot_id: 'a.s' } },
    { kind: 'snapshot', snapshotId: 'a.s' },
  ),
  'CreateVolume passes a volume to be filled from on, and names it in the answer': filledFrom(
    { volume: { volume_id: 'a.v' } },
    { kind: 'volume', volumeId: 'a.v' },
  ),
  'DeleteVolume hands the code and the detail of a refusal on': {
    request: { volume_id },
    api: { deleteVolume: () => Promise.reject(new Problem('FAILED_PRECONDITION', 'attached to node "n2"')) },
    asked: [['deleteVolume', { volumeId }]],
    error: { code: 'FAILED_PRECONDITION', detail: /^attached to node "n2"/ },
  },
  'ControllerPublishVolume gives the attachment as the publish context': {
    request: { ...publish, readonly: true },
    asked: [['attachVolume', { volumeId, nodeId: 'n1', body: { capability, readonly: true } }]],
    answer: {
      publish_context: { ...attachment, sizeBytes: '1048576', readonly: 'false', mayFormat: 'true' },
    },
  },
  'ControllerPublishVolume tells the node its turn to trim the volume': {
    request: publish,
    api: { attachVolume: async key => ({ ...key, state: 'attached', readonly: false, attachment: trimmed }) },
    answer: { publish_context: { trimTurn: '0' } },
  },
  'ControllerPublishVolume never reports an unfinished attach as done': unfinished({
    state: 'attaching',
    attachment,
  }),
  'ControllerPublishVolume never reports an attachment without its reach as done': unfinished({
    state: 'attached',
  }),
  'ControllerUnpublishVolume detaches from one node': {
    request: { volume_id, node_id: 'n1' },
    asked: [['detachVolume', { volumeId, nodeId: 'n1' }]],
  },
  'ControllerUnpublishVolume without a node means all of them': {
    request: { volume_id },
    asked: [['detachVolumeFromAllNodes', { volumeId }]],
  },
  'ValidateVolumeCapabilities confirms the requested capabilities': {
    request: { ...validate, mutable_parameters },
    asked: [
      [
        'validateVolume',
        {
          volumeId,
          body: {
            capabilities: [capability],
            context: { k: 'v' },
            mutableParameters: mutable_parameters,
          },
        },
      ],
    ],
    answer: {
      confirmed: { volume_capabilities, volume_context: { k: 'v' }, mutable_parameters },
      message: '',
    },
  },
  'ValidateVolumeCapabilities compares nothing that is not given': {
    request: { volume_id, volume_capabilities },
    asked: [['validateVolume', { volumeId, body: { capabilities: [capability] } }]],
  },
  'ValidateVolumeCapabilities says why not': {
    request: validate,
    api: { validateVolume: async () => ({ confirmed: false, message: 'no raw blocks here' }) },
    answer: { confirmed: null, message: 'no raw blocks here' },
  },
  'GetCapacity answers with the space and the bounds of one volume': {
    request: { parameters, volume_capabilities },
    asked: [['getCapacity', { body: { parameters: { tier: 'fast' }, capabilities: [capability] } }]],
    answer: {
      available_capacity: '10',
      maximum_volume_size: { value: '5' },
      minimum_volume_size: { value: '1' },
    },
  },
  "GetCapacity knows the needs of a class's filesystem, which the provisioner names only in its parameters": {
    request: { parameters: { 'csi.storage.k8s.io/fstype': 'xfs', encryption: 'luks' } },
    asked: [['getCapacity', { body: { parameters: { encryption: 'luks' } } }]],
    answer: { minimum_volume_size: { value: String(316 * 2 ** 20) } },
  },
  'ControllerGetVolume has where the volume is attached': {
    request: { volume_id },
    api: { getVolume: async () => sampleVolume({ attachments: [{ ...attached, state: 'attached' }] }) },
    answer: { volume: { volume_id }, status: { published_node_ids: ['n1'] } },
  },
  'ControllerExpandVolume passes the bounds on, and answers with the size and the need for a node expansion':
    {
      request: { volume_id, capacity_range: { required_bytes: 5, limit_bytes: 9 }, volume_capability },
      asked: [['expandVolume', { volumeId, body: { requiredBytes: 5, limitBytes: 9 } }]],
      answer: { capacity_bytes: '5', node_expansion_required: true },
    },
  'ControllerExpandVolume needs nothing of the node for a volume that never grew': {
    request: { volume_id, capacity_range: { required_bytes: 1 } },
    api: { expandVolume: async () => sampleVolume() },
    answer: { node_expansion_required: false },
  },
  'ControllerModifyVolume passes the parameters on': {
    request: { volume_id, mutable_parameters },
    asked: [['modifyVolume', { volumeId, body: { mutableParameters: mutable_parameters } }]],
  },
  'ControllerGetVolumeHealth reports faults in the words of CSI': {
    request: { volume_id },
    api: { getVolumeHealth: async () => ({ volumeId, entries }) },
    answer: { volume_health: { volume_id, health_statuses: entries } },
  },
  'ControllerListVolumeHealth passes paging on': {
    request: { max_entries: 3, starting_token: 'from' },
    api: { listVolumeHealth: async () => ({ volumes: [{ volumeId, entries }], nextPageToken: 'next' }) },
    asked: [['listVolumeHealth', { limit: 3, pageToken: 'from' }]],
    answer: { entries: [{ volume_id, health_statuses: entries }], next_token: 'next' },
  },
});

function filledFrom(volume_content_source: object, source: VolumeSource): Row {
  return {
    request: { ...create, volume_content_source },
    api: { createVolume: async () => sampleVolume({ source }) },
    asked: [['createVolume', { volumeId, body: { ...spec, source } }]],
    answer: { volume: { content_source: volume_content_source } },
  };
}

function unfinished(resource: Pick<AttachmentResource, 'state' | 'attachment'>): Row {
  return {
    request: publish,
    api: { attachVolume: async () => ({ ...attached, ...resource }) },
    error: { code: 'UNAVAILABLE', detail: /is not attached to node "n1" yet/ },
  };
}

test("ListVolumes passes paging on, omits volumes that are not ready, and lists each volume's nodes", async t => {
  const states = ['attaching', 'attached', 'detaching'] as const;
  const attachments = states.map(state => ({ nodeId: state, state, readonly: false }));
  const volumes = [
    sampleVolume({ id: 'a.1', attachments }),
    sampleVolume({ id: 'a.2', state: 'creating' }),
    sampleVolume({ id: 'a.3', state: 'deleting' }),
  ];
  const listVolumes = async () => ({ volumes, nextPageToken: 'next=/é' });
  const { csi, asked } = await openController(t, { listVolumes });
  const page = await csi.controller.ListVolumes({ max_entries: 3, starting_token: 'from=/é' });
  assert.deepEqual(asked, [['listVolumes', { limit: 3, pageToken: 'from=/é' }]]);
  assert.equal(page.next_token, 'next=/é');
  const [entry, ...others] = page.entries;
  assert.deepEqual([entry?.volume?.volume_id, others], ['a.1', []]);
  assert.deepEqual(entry?.status?.published_node_ids, ['attached', 'detaching']);
});

const always = [
  'CREATE_DELETE_VOLUME PUBLISH_UNPUBLISH_VOLUME LIST_VOLUMES PUBLISH_READONLY',
  'LIST_VOLUMES_PUBLISHED_NODES GET_VOLUME',
].join(' ');
const all = [
  'GET_CAPACITY CLONE_VOLUME EXPAND_VOLUME MODIFY_VOLUME CREATE_DELETE_SNAPSHOT LIST_SNAPSHOTS',
  'GET_SNAPSHOT GET_VOLUME_HEALTH LIST_VOLUME_HEALTH SINGLE_NODE_MULTI_WRITER',
].join(' ');
for (const [features, more, groups] of [
  [['capacity'], 'GET_CAPACITY', 0],
  [[], '', 0],
  [everything.features, all, 1],
  // No volume can be made from its snapshots; the other word comes from a newer gateway.
  [['snapshots', 'teleport'], '', 0],
] as const)
  test(`the capabilities are a storage's with the features ${features.join(', ')}`, async t => {
    const accessModes = groups ? ['SINGLE_NODE_MULTI_WRITER' as const] : offered.accessModes;
    const { csi } = await openController(t, {}, { ...offered, features: [...features], accessModes });
    const { capabilities } = await csi.controller.ControllerGetCapabilities({});
    const expected = `${always} ${more}`.trim().split(' ');
    assert.deepEqual(capabilities.map(({ rpc }) => rpc?.type).sort(), expected.sort());
    const answer = await csi.groupController.GroupControllerGetCapabilities({});
    assert.equal(answer.capabilities.length, groups);
  });

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runGateway } from '../../harness/gateway/program.ts';
import { callRpc, everything, openController } from '../../harness/controller.ts';

/*
 * The requests of each stock sidecar in a volume's life, with the additions of its flags and of the classes' keys,
 * according to its source: external-provisioner 6.4, -attacher 4.13, -resizer 2.3, -snapshotter 8.7. The pool refuses
 * unknown parameters, so the sidecars' own must never reach it.
 */
const claim = {
  'csi.storage.k8s.io/pvc/name': 'data',
  'csi.storage.k8s.io/pvc/namespace': 'shop',
  'csi.storage.k8s.io/pv/name': 'pvc-1',
};
const secrets = { token: 'secret' };
/** A class as a user writes it: the provisioner removes its own keys before a create, but not before GetCapacity. */
const storageClass = {
  'csi.storage.k8s.io/fstype': 'ext4',
  'csi.storage.k8s.io/provisioner-secret-name': 's',
  'csi.storage.k8s.io/provisioner-secret-namespace': 'shop',
  'csi.storage.k8s.io/controller-publish-secret-name': 's',
  'csi.storage.k8s.io/node-stage-secret-name': 's',
  'csi.storage.k8s.io/controller-expand-secret-name': 's',
  'csi.storage.k8s.io/controller-modify-secret-name': 's',
  'fs.bytesPerInode': '65536',
};
const kept = { 'fs.bytesPerInode': '65536' };
const volume_capability = {
  mount: { fs_type: 'ext4', mount_flags: ['noatime'] },
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
};
const volume_capabilities = [volume_capability];
const volume_id = 'a.pvc-1';
const volume_context = {
  'storage.kubernetes.io/csiProvisionerIdentity': '1700000000000-81-fairlead',
  ...kept,
};
const snapshotOf = (kind: string, content: string) => ({
  [`csi.storage.k8s.io/${kind}/name`]: 'nightly',
  [`csi.storage.k8s.io/${kind}/namespace`]: 'shop',
  [`csi.storage.k8s.io/${content}/name`]: 'content-1',
});

const sent: readonly (readonly [sidecar: string, rpc: string, request: object, answer?: object])[] = [
  ['the provisioner', 'GetCapacity', { parameters: storageClass }],
  ['the provisioner', 'GetCapacity', { parameters: { ...kept, ...claim }, volume_capabilities }],
  [
    'the provisioner',
    'CreateVolume',
    {
      name: 'pvc-1',
      capacity_range: { required_bytes: 2 ** 30 },
      volume_capabilities,
      parameters: { ...kept, ...claim },
      secrets,
      mutable_parameters: { tier: 'standard' },
    },
    { volume: { volume_id, volume_context: kept } },
  ],
  [
    'the attacher',
    'ControllerPublishVolume',
    { volume_id, node_id: 'n1', volume_capability, readonly: false, volume_context, secrets },
    { publish_context: { protocol: 'loop' } },
  ],
  ['the attacher', 'ListVolumes', {}, { entries: [{ status: { published_node_ids: ['n1'] } }] }],
  [
    'the resizer',
    'ControllerExpandVolume',
    { volume_id, capacity_range: { required_bytes: 2 ** 31 }, volume_capability, secrets },
    { capacity_bytes: String(2 ** 31), node_expansion_required: true },
  ],
  [
    'the resizer',
    'ControllerModifyVolume',
    { volume_id, mutable_parameters: { tier: 'fast', ...claim }, secrets },
  ],
  ['the resizer', 'ControllerModifyVolume', { volume_id, mutable_parameters: claim, secrets }],
  [
    'the snapshotter',
    'CreateSnapshot',
    {
      name: 'snapshot-1',
      source_volume_id: volume_id,
      parameters: snapshotOf('volumesnapshot', 'volumesnapshotcontent'),
      secrets,
    },
    { snapshot: { snapshot_id: 'a.snapshot-1', ready_to_use: true } },
  ],
  ['the snapshotter', 'ListSnapshots', { snapshot_id: 'a.snapshot-1', secrets }, { entries: [{}] }],
  [
    'the snapshotter',
    'CreateVolumeGroupSnapshot',
    {
      name: 'groupsnapshot-1',
      source_volume_ids: [volume_id],
      parameters: snapshotOf('volumegroupsnapshot', 'volumegroupsnapshotcontent'),
      secrets,
    },
    { group_snapshot: { group_snapshot_id: 'a.groupsnapshot-1', ready_to_use: true } },
  ],
  [
    'the provisioner',
    'CreateVolume',
    {
      name: 'pvc-2',
      capacity_range: { required_bytes: 2 ** 31 },
      volume_capabilities,
      volume_content_source: { snapshot: { snapshot_id: 'a.snapshot-1' } },
      parameters: { ...kept, ...claim },
    },
    { volume: { content_source: { snapshot: { snapshot_id: 'a.snapshot-1' } } } },
  ],
  ['the snapshotter', 'DeleteSnapshot', { snapshot_id: 'a.snapshot-1', secrets }],
  ['the attacher', 'ControllerUnpublishVolume', { volume_id, node_id: 'n1', secrets }],
  ['the provisioner', 'DeleteVolume', { volume_id: 'a.pvc-2', secrets }],
];

test('the requests of the stock sidecars succeed, from the first GetCapacity to DeleteVolume', async t => {
  const { client } = await runGateway(t);
  await client.putNode({ nodeId: 'n1', body: {} }, { deadlineMs: Date.now() + 60_000 });
  const { close: _, ...calls } = client;
  const served = await openController(t, calls, everything);
  for (const [sidecar, rpc, request, answer = {}] of sent) {
    const given = await callRpc(served, rpc, request).catch((error: unknown) =>
      assert.fail(`${sidecar}'s ${rpc}: ${String(error)}`),
    );
    assert.partialDeepStrictEqual(given, answer, `${sidecar}'s ${rpc}`);
  }
  assert.doesNotMatch(JSON.stringify(served.asked), /k8s\.io|kubernetes\.io|secret/);
});

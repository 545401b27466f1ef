import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Problem, type ProblemCode } from '../../../src/api/problem.ts';
import { runGateway } from '../../harness/gateway/program.ts';
import { callRpc, openController } from '../../harness/controller.ts';

const volume_capability = { mount: { fs_type: 'ext4' }, access_mode: { mode: 'SINGLE_NODE_WRITER' } };
const volume_capabilities = [volume_capability];
const longNode = 'n'.repeat(257);
const bigMap = { k: 'x'.repeat(4_096) };
const anyRange = { required_bytes: 1 };

/** Valid requests, which the rows make invalid. */
const good: Readonly<Record<string, object>> = {
  CreateVolume: { name: 'pvc-1', volume_capabilities },
  DeleteVolume: { volume_id: 'a.x' },
  ControllerPublishVolume: { volume_id: 'a.x', node_id: 'n', volume_capability },
  ControllerUnpublishVolume: { volume_id: 'a.x', node_id: 'n' },
  ValidateVolumeCapabilities: { volume_id: 'a.x', volume_capabilities },
  ControllerGetVolume: { volume_id: 'a.x' },
  CreateSnapshot: { name: 's', source_volume_id: 'a.pvc-1' },
  DeleteSnapshot: { snapshot_id: 'a.s' },
  ListSnapshots: {},
  GetSnapshot: { snapshot_id: 'a.s' },
  ControllerExpandVolume: { volume_id: 'a.x', capacity_range: anyRange },
  ControllerModifyVolume: { volume_id: 'a.x', mutable_parameters: { k: 'v' } },
  ControllerGetVolumeHealth: { volume_id: 'a.x' },
  CreateVolumeGroupSnapshot: { name: 'g', source_volume_ids: ['a.one'] },
  GetVolumeGroupSnapshot: { group_snapshot_id: 'a.g' },
  DeleteVolumeGroupSnapshot: { group_snapshot_id: 'a.g' },
  GetMetadataAllocated: { snapshot_id: 'a.s' },
  GetMetadataDelta: { base_snapshot_id: 'a.b', target_snapshot_id: 'a.t' },
};

type Row = readonly [rpc: string, change: object, says: string, code?: ProblemCode];

const refused: readonly Row[] = [
  ['CreateVolume', { name: '' }, 'name is missing'],
  ['CreateVolume', { name: 'a\u0001' }, 'control characters'],
  ['CreateVolume', { volume_capabilities: [] }, 'volume_capabilities is missing'],
  ['CreateVolume', { parameters: bigMap }, 'parameters has 4097 bytes'],
  ['CreateVolume', { capacity_range: { required_bytes: 2, limit_bytes: 1 } }, 'limits the size to 1'],
  ['CreateVolume', { volume_content_source: {} }, 'neither a snapshot nor'],
  ['CreateVolume', { volume_content_source: { snapshot: {} } }, 'source.snapshot.snapshot_id is missing'],
  ['DeleteVolume', { volume_id: '' }, 'volume_id is missing'],
  ['ControllerPublishVolume', { volume_id: '' }, 'volume_id is missing'],
  ['ControllerPublishVolume', { node_id: '' }, 'node_id is missing'],
  ['ControllerPublishVolume', { node_id: longNode }, '257 bytes'],
  ['ControllerPublishVolume', { volume_capability: null }, 'volume_capability is missing'],
  ['ControllerUnpublishVolume', { volume_id: '' }, 'volume_id is missing'],
  ['ControllerUnpublishVolume', { node_id: longNode }, '257 bytes'],
  ['ValidateVolumeCapabilities', { volume_id: '' }, 'volume_id is missing'],
  ['ValidateVolumeCapabilities', { volume_capabilities: [] }, 'volume_capabilities is missing'],
  ['ValidateVolumeCapabilities', { volume_context: bigMap }, 'volume_context has'],
  ['ValidateVolumeCapabilities', { parameters: bigMap }, 'parameters has'],
  ['ListVolumes', { max_entries: -1 }, 'max_entries is -1'],
  ['GetCapacity', { volume_capabilities: [{}] }, 'has no access mode'],
  ['GetCapacity', { parameters: bigMap }, 'parameters has'],
  ['ControllerGetVolume', { volume_id: '' }, 'volume_id is missing'],
  ['CreateSnapshot', { name: '' }, 'name is missing'],
  ['CreateSnapshot', { parameters: { deletionPolicy: 'Keep' } }, 'use Delete or Retain'],
  ['CreateVolumeGroupSnapshot', { parameters: { deletionPolicy: '' } }, 'use Delete or Retain'],
  ['CreateSnapshot', { source_volume_id: '' }, 'source_volume_id is missing'],
  ['DeleteSnapshot', { snapshot_id: '' }, 'snapshot_id is missing'],
  ['GetSnapshot', { snapshot_id: '' }, 'snapshot_id is missing'],
  ['ListSnapshots', { max_entries: -1 }, 'max_entries is -1'],
  ['ControllerExpandVolume', { volume_id: '' }, 'volume_id is missing'],
  ['ControllerExpandVolume', { capacity_range: null }, 'capacity_range is missing'],
  ['ControllerExpandVolume', { volume_capability: {} }, 'no access mode'],
  ['ControllerModifyVolume', { volume_id: '' }, 'volume_id is missing'],
  ['ControllerModifyVolume', { mutable_parameters: bigMap }, 'mutable_parameters has'],
  ['ControllerGetVolumeHealth', { volume_id: '' }, 'volume_id is missing'],
  ['ControllerListVolumeHealth', { max_entries: -1 }, 'max_entries is -1'],
  ['CreateVolumeGroupSnapshot', { name: '' }, 'name is missing'],
  ['CreateVolumeGroupSnapshot', { source_volume_ids: [] }, 'source_volume_ids is missing'],
  ['CreateVolumeGroupSnapshot', { source_volume_ids: [''] }, 'source_volume_ids[0] is missing'],
  ['GetVolumeGroupSnapshot', { group_snapshot_id: '' }, 'group_snapshot_id is missing'],
  ['DeleteVolumeGroupSnapshot', { group_snapshot_id: '' }, 'group_snapshot_id is missing'],
  ['GetMetadataAllocated', { snapshot_id: '' }, 'snapshot_id is missing'],
  ['GetMetadataAllocated', { starting_offset: -1 }, 'starting_offset is -1', 'OUT_OF_RANGE'],
  [
    'GetMetadataAllocated',
    { starting_offset: '9223372036854775807' },
    'which no snapshot contains',
    'OUT_OF_RANGE',
  ],
  ['GetMetadataAllocated', { max_results: -1 }, 'max_results is -1'],
  ['GetMetadataDelta', { base_snapshot_id: '' }, 'base_snapshot_id is missing'],
  ['GetMetadataDelta', { target_snapshot_id: '' }, 'target_snapshot_id is missing'],
];

for (const [rpc, change, says, code = 'INVALID_ARGUMENT'] of refused)
  test(`${rpc} with ${JSON.stringify(change).slice(0, 80)} is ${code}, and never reaches the gateway`, async t => {
    const served = await openController(t);
    const error = await callRpc(served, rpc, { ...good[rpc], ...change }).catch(
      (failure: unknown) => failure,
    );
    assert.ok(error instanceof Problem, String(error));
    assert.equal(error.code, code);
    assert.ok(error.detail.includes(says), error.detail);
    assert.deepEqual(served.asked, []);
  });

/** The maps that come from a class, or from the provisioner's records. */
const maps: Readonly<Record<string, readonly string[]>> = {
  CreateVolume: ['parameters', 'mutable_parameters'],
  ValidateVolumeCapabilities: ['parameters', 'mutable_parameters', 'volume_context'],
  GetCapacity: ['parameters'],
  ControllerModifyVolume: ['mutable_parameters'],
  CreateSnapshot: ['parameters'],
  CreateVolumeGroupSnapshot: ['parameters'],
};
const ofSidecars = {
  'csi.storage.k8s.io/fstype': 'xfs',
  'csi.storage.k8s.io/pvc/name': 'data',
  'csi.storage.k8s.io/provisioner-secret-name': 's',
  'storage.kubernetes.io/csiProvisionerIdentity': 'p',
};
for (const [rpc, fields] of Object.entries(maps))
  for (const field of fields)
    test(`${rpc} passes on the storage's keys of ${field}, and none of the sidecars'`, async t => {
      const served = await openController(t);
      const request = { ...good[rpc], [field]: { ...ofSidecars, tier: 'fast' } };
      await callRpc(served, rpc, request);
      const asked = JSON.stringify(served.asked);
      assert.match(asked, /\{"tier":"fast"\}/);
      assert.doesNotMatch(asked, /k8s|kubernetes/);
    });

/** Serves a controller in front of a real gateway, with a volume created in each way that nodes must know. */
async function serveVolumes(t: TestContext) {
  const { client } = await runGateway(t);
  await client.putNode({ nodeId: 'n', body: {} }, { deadlineMs: Date.now() + 60_000 });
  const { close: _, ...calls } = client;
  const served = await openController(t, calls);
  const classes = { plain: {}, sealed: { encryption: 'luks' }, large: { 'fs.blockSize': '4096' } };
  for (const [name, parameters] of Object.entries(classes))
    await callRpc(served, 'CreateVolume', { name, volume_capabilities, parameters });
  return served;
}

/** Ids that no volume and no snapshot can have, such as a hand-written PersistentVolume may contain. */
const impossibleIds = [
  `a.${'x'.repeat(127)}`,
  'x'.repeat(9_000),
  'é'.repeat(65),
  'no id',
  '../x',
  '.',
  '..',
  'a.x/y',
];

/** The answers: nothing to do, nothing found, or no such resource. */
const answers: Readonly<Record<string, readonly (readonly [rpc: string, field: string, answer?: object])[]>> =
  {
    OK: [
      ['DeleteVolume', 'volume_id', {}],
      ['ControllerUnpublishVolume', 'volume_id', {}],
      ['DeleteSnapshot', 'snapshot_id', {}],
      ['DeleteVolumeGroupSnapshot', 'group_snapshot_id', {}],
      ['ListSnapshots', 'snapshot_id', { entries: [], next_token: '' }],
      ['ListSnapshots', 'source_volume_id', { entries: [], next_token: '' }],
    ],
    NOT_FOUND: [
      ['ControllerPublishVolume', 'volume_id'],
      ['ValidateVolumeCapabilities', 'volume_id'],
      ['ControllerGetVolume', 'volume_id'],
      ['ControllerExpandVolume', 'volume_id'],
      ['ControllerModifyVolume', 'volume_id'],
      ['GetSnapshot', 'snapshot_id'],
      ['GetVolumeGroupSnapshot', 'group_snapshot_id'],
      ['CreateSnapshot', 'source_volume_id'],
    ],
  };

test('an impossible id succeeds in deletions and is not found otherwise', async t => {
  const served = await serveVolumes(t);
  for (const id of impossibleIds)
    for (const [code, rows] of Object.entries(answers))
      for (const [rpc, field, answer] of rows) {
        const asked = callRpc(served, rpc, { ...good[rpc], [field]: id });
        const found = await asked.catch((error: unknown) => (error instanceof Problem ? error.code : error));
        assert.deepEqual(found, answer ?? code, `${rpc} of ${id.slice(0, 20)}`);
      }
});

const sealed = { encryption: 'luks' };
const contexts: Readonly<
  Record<string, readonly (readonly [name: string, context: object, says?: RegExp])[]>
> = {
  'a volume whose volumeAttributes are true is attached': [
    ['plain', {}],
    ['plain', { 'storage.kubernetes.io/csiProvisionerIdentity': 'p' }],
    ['plain', { pool: 'one' }],
    ['plain', { 'fs.blockSize': '1024' }],
    ['sealed', sealed],
    ['large', { 'fs.blockSize': '4096' }],
  ],
  'a volume whose volumeAttributes are not true is refused': [
    ['plain', sealed, /"encryption" is "luks", but the volume is not encrypted/],
    ['sealed', { encryption: 'none' }, /"encryption" is "none", but the volume has "luks"/],
    ['plain', { Encryption: 'luks' }, /"Encryption" is unknown/],
    ['plain', { tier: 'fast', speed: '9' }, /"tier" is unknown.*"speed" is unknown/],
    ['plain', { pool: 'two' }, /"pool" is "two", but the volume has "one"/],
    ['plain', { 'fs.blockSize': '3' }, /fs\.blockSize/],
    ['large', { 'fs.blockSize': '1024' }, /"fs.blockSize" is "1024", but the volume has "4096"/],
  ],
};

for (const [title, rows] of Object.entries(contexts))
  test(title, async t => {
    const served = await serveVolumes(t);
    for (const [name, volume_context, says] of rows) {
      const volume_id = `a.${name}`;
      const request = { ...good['ControllerPublishVolume'], volume_id, volume_context };
      const attached = callRpc(served, 'ControllerPublishVolume', request);
      if (says) await assert.rejects(attached, { code: 'INVALID_ARGUMENT', message: says });
      else assert.ok(await attached);
      const wasAsked = served.asked.at(-1)?.[0] === 'attachVolume';
      assert.equal(wasAsked, !says, 'a refused volume is not attached');
      await callRpc(served, 'ControllerUnpublishVolume', { volume_id, node_id: 'n' });
    }
  });

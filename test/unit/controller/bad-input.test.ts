import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem, ProblemCode } from '../../../src/api/problem.ts';
import { serveController } from './serving.ts';

const volume_capability = { mount: { fs_type: 'ext4' }, access_mode: { mode: 'SINGLE_NODE_WRITER' } };
const create = { name: 'pvc-1', volume_capabilities: [volume_capability] };
const publish = { volume_id: 'a.x', node_id: 'n', volume_capability };
const unpublish = { volume_id: 'a.x', node_id: 'n' };
const validate = { volume_id: 'a.x', volume_capabilities: [volume_capability] };
const long = 'x'.repeat(129);
const bigMap = { k: 'x'.repeat(4_096) };
const topology = { requisite: [{ segments: { zone: 'z' } }] };
const source = { snapshot: { snapshot_id: 'a.s' } };

type Row = readonly [rpc: string, what: string, request: object, says: RegExp, code?: ProblemCode];

const table: readonly Row[] = [
  ['CreateVolume', 'no name', { ...create, name: '' }, /^name is missing/],
  ['CreateVolume', 'a name that is too long', { ...create, name: long }, /^name has 129 bytes/],
  ['CreateVolume', 'control characters in its name', { ...create, name: 'a\u0001' }, /control characters/],
  [
    'CreateVolume',
    'no capabilities',
    { ...create, volume_capabilities: [] },
    /volume_capabilities is missing/,
  ],
  [
    'CreateVolume',
    'an empty capability',
    { ...create, volume_capabilities: [{}] },
    /\[0\] has no access mode/,
  ],
  [
    'CreateVolume',
    'an unknown access mode',
    { ...create, volume_capabilities: [{ block: {}, access_mode: { mode: 77 } }] },
    /unknown access mode 77/,
  ],
  [
    'CreateVolume',
    'parameters that are too long',
    { ...create, parameters: bigMap },
    /parameters has 4097 bytes/,
  ],
  [
    'CreateVolume',
    'a range of nothing',
    { ...create, capacity_range: {} },
    /neither required_bytes nor limit_bytes/,
  ],
  [
    'CreateVolume',
    'a contradictory range',
    { ...create, capacity_range: { required_bytes: 2, limit_bytes: 1 } },
    /limits them to 1/,
  ],
  ['CreateVolume', 'a negative size', { ...create, capacity_range: { required_bytes: -5 } }, /less than 0/],
  [
    'CreateVolume',
    'a size beyond 2^53',
    { ...create, capacity_range: { required_bytes: '9007199254740993' } },
    /any volume/,
    'OUT_OF_RANGE',
  ],
  [
    'CreateVolume',
    'a topology',
    { ...create, accessibility_requirements: topology },
    /accessibility_requirements is given/,
  ],
  [
    'CreateVolume',
    'a source',
    { ...create, volume_content_source: source },
    /volume_content_source is given/,
  ],
  [
    'CreateVolume',
    'mutable parameters',
    { ...create, mutable_parameters: { k: 'v' } },
    /mutable_parameters is given/,
  ],
  ['DeleteVolume', 'no volume', { volume_id: '' }, /^volume_id is missing/],
  ['DeleteVolume', 'an id that is too long', { volume_id: long }, /129 bytes/],
  ['ControllerPublishVolume', 'no volume', { ...publish, volume_id: '' }, /^volume_id is missing/],
  ['ControllerPublishVolume', 'an id that is too long', { ...publish, volume_id: long }, /129 bytes/],
  ['ControllerPublishVolume', 'no node', { ...publish, node_id: '' }, /^node_id is missing/],
  [
    'ControllerPublishVolume',
    'a node that is too long',
    { ...publish, node_id: 'n'.repeat(257) },
    /257 bytes/,
  ],
  [
    'ControllerPublishVolume',
    'no capability',
    { ...publish, volume_capability: null },
    /volume_capability is missing/,
  ],
  ['ControllerUnpublishVolume', 'no volume', { ...unpublish, volume_id: '' }, /^volume_id is missing/],
  [
    'ControllerUnpublishVolume',
    'a node that is too long',
    { ...unpublish, node_id: 'n'.repeat(257) },
    /257 bytes/,
  ],
  ['ValidateVolumeCapabilities', 'no volume', { ...validate, volume_id: '' }, /^volume_id is missing/],
  [
    'ValidateVolumeCapabilities',
    'no capabilities',
    { ...validate, volume_capabilities: [] },
    /volume_capabilities is missing/,
  ],
  [
    'ValidateVolumeCapabilities',
    'a context that is too long',
    { ...validate, volume_context: bigMap },
    /volume_context has/,
  ],
  [
    'ValidateVolumeCapabilities',
    'parameters that are too long',
    { ...validate, parameters: bigMap },
    /parameters has/,
  ],
  ['ListVolumes', 'a negative number of entries', { max_entries: -1 }, /max_entries is -1/],
  [
    'GetCapacity',
    'a topology',
    { accessible_topology: { segments: { zone: 'z' } } },
    /accessible_topology is given/,
  ],
  ['GetCapacity', 'a bad capability', { volume_capabilities: [{}] }, /has no access mode/],
  ['GetCapacity', 'parameters that are too long', { parameters: bigMap }, /parameters has/],
  ['ControllerGetVolume', 'no volume', { volume_id: '' }, /^volume_id is missing/],
  ['CreateSnapshot', 'anything', {}, /./, 'UNIMPLEMENTED'],
  ['ControllerExpandVolume', 'anything', {}, /./, 'UNIMPLEMENTED'],
  ['ControllerModifyVolume', 'anything', {}, /./, 'UNIMPLEMENTED'],
  ['ControllerGetVolumeHealth', 'anything', {}, /./, 'UNIMPLEMENTED'],
];

for (const [rpc, what, request, says, code = 'INVALID_ARGUMENT'] of table) {
  test(`${rpc} with ${what} is ${code}, and the gateway hears nothing of it`, async t => {
    const { csi, asked } = await serveController(t);
    const calls = csi.controller as unknown as Record<string, (given: object) => Promise<unknown>>;
    const call = calls[rpc];
    assert.ok(call, `${rpc} is no RPC`);
    await assert.rejects(call(request), (error: Problem) => {
      assert.equal(error.code, code);
      assert.match(error.detail, says);
      return true;
    });
    assert.deepEqual(asked, []);
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { status } from '@grpc/grpc-js';
import messages, { services } from '../../../src/csi/generated/csi.messages.js';
import { connectRaw, testMalformedRequests } from '../../suites/malformed.ts';
import { openController } from '../../harness/controller.ts';

const names = { name: 'pvc-1', volume_id: 'a.pvc-1', snapshot_id: 'a.snap-1', node_id: 'n1', pool: 'é' };
const volume_capability = { mount: { fs_type: 'ext4' }, access_mode: { mode: 1 } };
/** The fields of all requests; each request uses the fields it knows. */
const whole = {
  ...names,
  volume_capability,
  volume_capabilities: [volume_capability],
  capacity_range: { required_bytes: 1, limit_bytes: 2 },
  parameters: { tier: 'fast' },
  mutable_parameters: { tier: 'fast' },
  source_volume_id: 'a.pvc-1',
  source_volume_ids: ['a.pvc-1'],
  secrets: { key: 'value' },
  max_entries: 3,
  accessibility_requirements: { requisite: [{ segments: { zone: 'a' } }] },
};
const malformed: readonly (readonly [name: string, bytes: Buffer])[] = [
  ['half of a character', Buffer.from([0x0a, 1, 0xc3])],
  ['a surrogate', Buffer.from([0x0a, 3, 0xed, 0xa0, 0x80])],
  ['a character in more bytes than it needs', Buffer.from([0x0a, 2, 0xc0, 0xaf])],
  ['a NUL', Buffer.from([0x0a, 2, 0x61, 0])],
  ['text that is cut', Buffer.from([0x0a, 9, 0x61])],
  ['a number that is cut', Buffer.from([0x0a])],
];
for (const [name, bytes] of malformed)
  test(`a request with ${name} is INVALID_ARGUMENT`, async t => {
    const call = connectRaw(t, (await openController(t)).socketPath);
    for (const rpc of ['CreateVolume', 'DeleteVolume', 'ControllerUnpublishVolume'])
      assert.equal((await call(`/csi.v1.Controller/${rpc}`, bytes)).code, status.INVALID_ARGUMENT);
    assert.equal(
      (await call('/csi.v1.SnapshotMetadata/GetMetadataAllocated', bytes)).code,
      status.INVALID_ARGUMENT,
    );
  });

testMalformedRequests({
  messages,
  services: Object.fromEntries(Object.entries(services).filter(([service]) => service !== 'csi.v1.Node')),
  whole,
  open: async t => (await openController(t)).socketPath,
});

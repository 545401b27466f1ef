import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client, credentials, status, type StatusObject } from '@grpc/grpc-js';
import * as fc from 'fast-check';
import messages, { services } from '../../../src/csi/generated/csi.messages.js';
import { codecOf } from '../../../src/csi/protocol.ts';
import { isFull, seed } from '../../harness/sample.ts';
import { serveController } from './serving.ts';

const names = { name: 'pvc-1', volume_id: 'a.pvc-1', snapshot_id: 'a.snap-1', node_id: 'n1', pool: 'é' };
const volume_capability = { mount: { fs_type: 'ext4' }, access_mode: { mode: 1 } };
/** All that any request has, of which each takes what it knows. */
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
const methods = Object.entries(services).flatMap(([service, all]) =>
  all
    .filter(() => /Controller|Snapshot|Identity/.test(service))
    .map(({ name, request }) => ({
      path: `/${service}/${name}`,
      bytes: Buffer.from(codecOf(messages, request).serialize(whole)),
    })),
);
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
    const call = await open(t);
    for (const rpc of ['CreateVolume', 'DeleteVolume', 'ControllerUnpublishVolume'])
      assert.equal((await call(`/csi.v1.Controller/${rpc}`, bytes)).code, status.INVALID_ARGUMENT);
    assert.equal(
      (await call('/csi.v1.SnapshotMetadata/GetMetadataAllocated', bytes)).code,
      status.INVALID_ARGUMENT,
    );
  });

const change = fc.record({ at: fc.nat(200), remove: fc.nat(3), add: fc.uint8Array({ maxLength: 4 }) });
const malformedRequests = fc
  .tuple(fc.constantFrom(...methods), fc.array(change, { maxLength: 4 }))
  .map(([{ path, bytes }, changes]) => ({ path, bytes: changes.reduce(applyTo, bytes) }));

test('whatever bytes a request is made of, it is answered with a code that is no failure of ours', async t => {
  const call = await open(t);
  const bad = new Set([status.INTERNAL, status.UNKNOWN, status.UNAVAILABLE, status.DEADLINE_EXCEEDED]);
  const property = fc.asyncProperty(malformedRequests, async ({ path, bytes }) => {
    const { code, details } = await call(path, bytes);
    assert.ok(!bad.has(code), `${path} ${bytes.toString('hex')}: ${status[code]} ${details}`);
  });
  await fc.assert(property, { seed, numRuns: isFull ? 20_000 : 500 });
});

function applyTo(
  bytes: Buffer,
  { at, remove, add }: { at: number; remove: number; add: Uint8Array },
): Buffer {
  return Buffer.concat([bytes.subarray(0, at), add, bytes.subarray(at + remove)]);
}

/** Calls RPCs of a controller whose storage can do everything, with bytes as they are. */
async function open(t: TestContext): Promise<(path: string, bytes: Buffer) => Promise<StatusObject>> {
  const { socketPath } = await serveController(t);
  const client = new Client(`unix://${socketPath}`, credentials.createInsecure());
  t.after(() => client.close());
  return (path, bytes) =>
    new Promise(resolve => {
      const stream = client.makeServerStreamRequest(path, asIs, asIs, bytes, {
        deadline: Date.now() + 60_000,
      });
      stream.on('data', () => {});
      stream.on('error', () => {});
      stream.on('status', resolve);
    });
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

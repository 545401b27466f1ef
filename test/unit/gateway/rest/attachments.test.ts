import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Capabilities } from '../../../../src/api/storage.ts';
import { json, sampleVolume } from '../../../fakes/storage-api.ts';
import { mounted } from '../../../harness/gateway.ts';
import { offer, openRest } from './open-rest.ts';

const volume = { id: 'a.pvc-1', nonce: 'n1' };
const vendorId = 'gateway.acme.a.pvc-1.n1';
const made = sampleVolume({ id: vendorId, name: volume.id });
const grown = { ...volume, sizeBytes: 2 * made.sizeBytes, parameters: {} };
const reach = { protocol: 'loop', path: '/images/pvc-1', attachmentId: 'x' };
const attachment = { ...reach, sizeBytes: made.sizeBytes, readonly: false, mayFormat: true };
const attached = { volumeId: vendorId, nodeId: 'a.n1', state: 'attached', readonly: false, attachment };
const access = { nodeId: 'n1', attachmentId: 'y', capability: mounted, readonly: false };

test('a volume that grew after its attach is attached with its size of that time', async t => {
  const now = json(200, { ...made, sizeBytes: grown.sizeBytes });
  const { backend } = await openRest(t, [json(200, attached), now]);
  assert.deepEqual(await backend.attach(grown, access), { protocol: 'loop', path: reach.path });
});

test("the storage's answer about journals counts if the gateway lets the node replay them", async t => {
  for (const [mayReplay, said] of [
    [true, true],
    [true, false],
    [undefined, true],
  ] as const) {
    const resource = {
      ...attached,
      readonly: true,
      attachment: { ...attachment, readonly: true, mayReplay: said },
    };
    const { backend } = await openRest(t, [json(201, resource)]);
    const known = { ...grown, sizeBytes: made.sizeBytes };
    const found = await backend.attach(known, { ...access, readonly: true, mayReplay });
    assert.equal(found.mayReplay, mayReplay && said ? true : undefined);
  }
});

test('a volume that is smaller than reported is not attached', async t => {
  const { backend } = await openRest(t, [json(201, attached), json(200, made)]);
  await assert.rejects(backend.attach(grown, access), { code: 'UNAVAILABLE' });
});

test("a storage's host is the host of its URL", async t => {
  const { backend } = await openRest(t, []);
  assert.equal(backend.storageHost, '127.0.0.1');
});

test('only a storage that tracks its nodes is told of one that left', async t => {
  const offered: Capabilities = { ...offer, features: ['nodes'] };
  const { backend, api } = await openRest(t, [{ status: 204 }], { offered });
  await backend.forgetNode?.({ cluster: 'a', nodeId: 'n1' });
  const { method, url } = api.received[2] ?? {};
  assert.deepEqual([method, url], ['DELETE', '/v1/nodes/a.n1']);
  assert.equal((await openRest(t, [])).backend.forgetNode, undefined);
});

test("a node of another cluster has that cluster's name at the storage", async t => {
  const guest = { ...attached, nodeId: 'b.n1' };
  const { backend, api } = await openRest(t, [json(201, guest), { status: 204 }]);
  await backend.attach({ ...grown, sizeBytes: made.sizeBytes }, { ...access, cluster: 'b' });
  await backend.detach(volume, 'n1', 'b');
  const asked = api.received.slice(2).map(({ method, url }) => `${method} ${url}`);
  const path = `/v1/volumes/${vendorId}/attachments/b.n1`;
  assert.deepEqual(asked, [`PUT ${path}`, `DELETE ${path}`]);
});

test('each operation on a volume is one request to its storage', async t => {
  const steps = [
    json(201, made),
    json(201, attached),
    { status: 204 },
    json(200, { ...made, sizeBytes: grown.sizeBytes }),
    { status: 204 },
  ];
  const { backend, api } = await openRest(t, steps);
  const asked = { requiredBytes: made.sizeBytes, limitBytes: 0, parameters: {}, capabilities: [mounted] };
  await backend.create({ ...volume, ...asked });
  await backend.attach({ ...grown, sizeBytes: made.sizeBytes }, access);
  await backend.detach(volume, 'n1');
  await backend.expand?.(grown, { requiredBytes: grown.sizeBytes, limitBytes: 0 });
  await backend.delete(volume);
  const [path, at] = [`/v1/volumes/${vendorId}`, `/v1/volumes/${vendorId}/attachments/a.n1`];
  assert.deepEqual(
    api.received.slice(2).map(({ method, url }) => `${method} ${url}`),
    [`PUT ${path}`, `PUT ${at}`, `DELETE ${at}`, `PUT ${path}/size`, `DELETE ${path}`],
  );
});

test("the storage's secrets, or its seal to the node, are passed on, and its signature is not", async t => {
  const { backend } = await openRest(
    t,
    [{ secrets: { 'dhchap-secret': 's' } }, { sealed: 'j.w.e', signature: 'j..s' }].map(more =>
      json(200, { ...attached, attachment: { ...attachment, ...more } }),
    ),
  );
  const asIs = { ...grown, sizeBytes: made.sizeBytes };
  const way = { protocol: 'loop', path: reach.path };
  assert.deepEqual(await backend.attach(asIs, access), { ...way, secrets: { 'dhchap-secret': 's' } });
  assert.deepEqual(await backend.attach(asIs, access), { ...way, sealed: 'j.w.e' });
});

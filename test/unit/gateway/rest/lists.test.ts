import assert from 'node:assert/strict';
import { test } from 'node:test';
import { json, sampleGroup, sampleSnapshot, sampleVolume, type Step } from '../../../fakes/storage-api.ts';
import { offer, openRest } from './open-rest.ts';

test('only volumes with the id are listed and deleted, under any name at the storage', async t => {
  const entries = [
    ['gateway.acme.a.pvc-1.n1', 'a.pvc-1'],
    ['gateway.acme.a.pvc-2.n2', 'a.pvc-3'],
    ['gateway.other.a.pvc-3.n3', 'a.pvc-3'],
    ['another.acme.a.pvc-3.n4', 'a.pvc-3'],
    [`gateway.acme.a.${'x'.repeat(110)}.n5`, `a.${'x'.repeat(126)}`],
  ] as const;
  const page = json(200, { volumes: entries.map(([id, name]) => sampleVolume({ id, name })) });
  const { backend, api } = await openRest(t, [page, page, page, { status: 204 }]);
  assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), ['a.pvc-1', `a.${'x'.repeat(126)}`]);
  await backend.delete({ id: 'a.pvc-3' });
  await backend.delete({ id: 'a.pvc-1' });
  assert.deepEqual(
    api.received.slice(3).map(({ method, url }) => `${method} ${url}`),
    ['GET /v1/volumes', 'GET /v1/volumes', 'DELETE /v1/volumes/gateway.acme.a.pvc-1.n1'],
  );
});

test('reading a list whose pages lead back to one another ends', async t => {
  const pages = ['b', 'a', 'b'].map(nextPageToken => json(200, { volumes: [], nextPageToken }));
  const { backend, api } = await openRest(t, pages);
  await assert.rejects(Array.fromAsync(backend.list?.() ?? []), { code: 'UNAVAILABLE' });
  assert.equal(api.received.length, 5);
});

test('reading a list stops once the caller has no time left', async t => {
  let page = 0;
  const end = new AbortController();
  const endless: Step = (_, response) => {
    const volumes = [sampleVolume({ id: `x${page}`, name: `x${page}` })];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ volumes, nextPageToken: String(page++) }));
    if (page === 3) end.abort();
  };
  const { backend } = await openRest(t, [endless]);
  const read = Array.fromAsync(backend.list?.(end.signal) ?? []);
  await assert.rejects(read, { code: 'UNAVAILABLE', detail: /did not end in time/ });
  assert.ok(page >= 3);
});

test('snapshots and groups are listed by their ids here', async t => {
  const offered = { ...offer, features: ['snapshots', 'groups'] };
  const groupId = 'gateway.acme.a.group.n1';
  const group = sampleGroup({ id: groupId, name: 'a.group' });
  const snapshots = [
    sampleSnapshot({ id: 'gateway.acme.a.cut.n2', name: 'a.cut' }),
    sampleSnapshot({ id: 'gateway.acme.a.cut-2.n3', name: 'a.cut' }),
    sampleSnapshot({ id: 'x', name: 'a.cut', groupId: 'gateway.other.a.group.n1' }),
    sampleSnapshot({ id: 'y', name: 'a.cut', groupId }),
  ];
  const known = { ...group, snapshots: group.snapshots.map(one => Object.assign(one, { groupId })) };
  for (const [name, members] of [
    ['a.group', ['a.member-n1-0', 'a.member-n1-1']],
    ['a.other', []],
  ] as const) {
    const { backend } = await openRest(t, [json(200, { snapshots }), json(200, { ...known, name })], {
      offered,
    });
    assert.deepEqual(await Array.fromAsync(backend.snapshots?.list?.() ?? []), ['a.cut', ...members]);
  }
});

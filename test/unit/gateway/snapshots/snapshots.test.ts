import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CreatedSnapshot, NewSnapshot } from '../../../../gateway/backend.ts';
import type { ProblemCode } from '../../../../src/api/problem.ts';
import {
  clusters,
  assertProblem,
  makeGateway,
  mounted,
  openMemory,
  volumeSpec,
} from '../../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';
import { id, makeFaulty, spec, volumeId } from '../snapshot-fixtures.ts';

const mebibyte = 2 ** 20;

test('a snapshot lives its whole life over the routes', async t => {
  const { ask } = await makeFaulty(t);
  const made = await ask(`PUT /v1/snapshots/${id}`, { body: spec });
  assert.equal(made.status, 201);
  const { createdAt, ...rest } = made.body;
  assert.deepEqual(rest, { id, name: 'snap-1', pool: 'main', volumeId, state: 'ready', sizeBytes: mebibyte });
  assert.ok(Math.abs(Date.parse(String(createdAt)) - Date.now()) < 10_000);
  const again = await ask(`PUT /v1/snapshots/${id}`, { body: spec });
  assert.deepEqual([again.status, again.body], [200, made.body]);
  assert.deepEqual((await ask(`GET /v1/snapshots/${id}`)).body, made.body);
  assert.deepEqual((await ask('GET /v1/snapshots')).body, { snapshots: [made.body] });
  assert.equal((await ask(`DELETE /v1/snapshots/${id}`)).status, 204);
  assert.equal((await ask(`DELETE /v1/snapshots/${id}`)).status, 204);
  assertProblem(await ask(`GET /v1/snapshots/${id}`), 404, 'NOT_FOUND');
  assert.deepEqual((await ask('GET /v1/snapshots')).body, { snapshots: [] });
});

test('a snapshot has the size of its volume at the cut', async t => {
  const { snapshots, changes } = await makeFaulty(t);
  await snapshots.create(clusters.a, id, spec);
  await changes.expand(clusters.a, volumeId, { requiredBytes: 5 * mebibyte });
  assert.equal((await snapshots.get(clusters.a, id)).sizeBytes, mebibyte);
  const { snapshot } = await snapshots.create(clusters.a, 'a.snap-2', { ...spec, name: 'snap-2' });
  assert.equal(snapshot.sizeBytes, 5 * mebibyte);
});

test('a snapshot outlives its volume', async t => {
  const { snapshots, volumes } = await makeFaulty(t);
  const { snapshot } = await snapshots.create(clusters.a, id, spec);
  await volumes.delete(clusters.a, volumeId);
  assert.deepEqual(await snapshots.get(clusters.a, id), snapshot);
  assert.deepEqual((await snapshots.create(clusters.a, id, spec)).snapshot, snapshot);
});

test('the storage is told whether some node may write meanwhile', async t => {
  const inner = await openMemory();
  const told: boolean[] = [];
  assert.ok(inner.snapshots);
  const { create } = inner.snapshots;
  const tell = (snapshot: NewSnapshot): Promise<CreatedSnapshot> => {
    told.push(snapshot.attachedForWriting);
    return create(snapshot);
  };
  const backend = { ...inner, snapshots: { ...inner.snapshots, create: tell } };
  const gateway = await makeGateway(t, { backend });
  await gateway.volumes.create(clusters.a, volumeId, volumeSpec('pvc-1'));
  const key = { cluster: { ...clusters.a, acceptAnyNode: true }, volumeId, nodeId: 'n1' };
  for (const [name, readonly] of [
    ['none', undefined],
    ['reader', true],
    ['writer', false],
  ] as const) {
    if (readonly !== undefined) await gateway.attachments.attach(key, { capability: mounted, readonly });
    await gateway.snapshots.create(clusters.a, `a.${name}`, { name, volumeId });
    await gateway.attachments.detach(key);
  }
  assert.deepEqual(told, [false, false, true]);
});

const others = [
  { what: 'another volume', change: { volumeId: 'a.pvc-2' } },
  { what: 'another name', change: { name: 'snap-2' } },
];
for (const { what, change } of others) {
  test(`a known snapshot with ${what} is ALREADY_EXISTS`, async t => {
    const { snapshots, volumes } = await makeFaulty(t);
    await volumes.create(clusters.a, 'a.pvc-2', volumeSpec('pvc-2'));
    await snapshots.create(clusters.a, id, spec);
    const work = snapshots.create(clusters.a, id, { ...spec, ...change });
    await assert.rejects(work, isProblem('ALREADY_EXISTS'));
  });
}

const refused: readonly { what: string; id?: string; body: unknown; code?: ProblemCode }[] = [
  { what: 'an unknown volume', body: { ...spec, volumeId: 'a.never' }, code: 'NOT_FOUND' },
  { what: "another cluster's volume", body: { ...spec, volumeId: 'b.pvc-1' }, code: 'NOT_FOUND' },
  { what: "another cluster's id", id: 'b.snap-1', body: spec, code: 'NOT_FOUND' },
  { what: 'a malformed id', id: 'snap-1', body: spec },
  { what: 'an unknown parameter', body: { ...spec, parameters: { colour: 'red' } } },
  { what: 'no volume', body: { name: 'snap-1' } },
  { what: 'no name', body: { volumeId } },
  { what: 'an unknown field', body: { ...spec, force: true } },
];
for (const { what, id: askedId = id, body, code = 'INVALID_ARGUMENT' } of refused) {
  test(`the route refuses ${what} and records nothing`, async t => {
    const { ask, backend } = await makeFaulty(t);
    const answer = await ask(`PUT /v1/snapshots/${askedId}`, { body });
    assertProblem(answer, code === 'NOT_FOUND' ? 404 : 400, code);
    assert.deepEqual((await ask('GET /v1/snapshots')).body, { snapshots: [] });
    assert.ok(!backend.calls.some(call => call.startsWith('cut')));
  });
}

test('a snapshot of a volume that is not ready is ABORTED', async t => {
  const { snapshots, volumes, backend } = await makeFaulty(t);
  backend.failNext('create', 'before', new Error('unreachable'));
  await assert.rejects(volumes.create(clusters.a, 'a.half', volumeSpec('half')));
  const work = snapshots.create(clusters.a, id, { ...spec, volumeId: 'a.half' });
  await assert.rejects(work, isProblemThat('ABORTED', /"a.half" is not ready: it is creating/));
  await assert.rejects(snapshots.get(clusters.a, id), isProblem('NOT_FOUND'));
});

test('while a snapshot is cut, the volume and the snapshot are left alone, and the same call joins', async t => {
  const { snapshots, volumes, attachments, backend, ask } = await makeFaulty(t);
  const release = backend.hold('cut');
  const first = await ask(`PUT /v1/snapshots/${id}`, { body: spec, headers: { prefer: 'wait=0' } });
  assert.deepEqual([first.status, first.body['state'], first.body['sizeBytes']], [202, 'creating', 0]);
  const same = Array.from({ length: 5 }, () => snapshots.create(clusters.a, id, spec));
  assert.deepEqual((await snapshots.list(clusters.a, { limit: 10 })).snapshots, []);
  const busy = isProblemThat('ABORTED', /is busy: snapshot runs since/);
  await assert.rejects(snapshots.delete(clusters.a, id), busy);
  await assert.rejects(volumes.delete(clusters.a, volumeId), busy);
  await assert.rejects(snapshots.create(clusters.a, 'a.snap-2', { ...spec, name: 'snap-2' }), busy);
  const key = { cluster: { ...clusters.a, acceptAnyNode: true }, volumeId, nodeId: 'n1' };
  await assert.rejects(attachments.attach(key, { capability: mounted, readonly: false }), busy);
  release();
  assert.ok((await Promise.all(same)).every(({ snapshot }) => snapshot.state === 'ready'));
  assert.equal(backend.calls.filter(call => call.startsWith('cut')).length, 1);
});

test('a list comes in pages, of all snapshots or those of one volume', async t => {
  const { ask, volumes, snapshots } = await makeFaulty(t);
  await volumes.create(clusters.a, 'a.pvc-2', volumeSpec('pvc-2'));
  for (let i = 0; i < 6; i++) {
    const source = i % 2 === 0 ? volumeId : 'a.pvc-2';
    await snapshots.create(clusters.a, `a.snap-${i}`, { name: `snap-${i}`, volumeId: source });
  }
  for (const [filter, count] of [
    ['', 6],
    ['&volumeId=a.pvc-2', 3],
    ['&volumeId=a.never', 0],
    ['&volumeId=b.pvc-1', 0],
  ] as const) {
    const seen: string[] = [];
    let pageToken: unknown = '';
    do {
      const { body } = await ask(`GET /v1/snapshots?limit=2&pageToken=${String(pageToken)}${filter}`);
      const page = body['snapshots'] as { id: string }[];
      assert.ok(page.length <= 2);
      seen.push(...page.map(snapshot => snapshot.id));
      pageToken = body['nextPageToken'];
    } while (pageToken !== undefined);
    assert.equal(new Set(seen).size, count);
    assert.equal(seen.length, count);
  }
});

test('a page token of another list, of another cluster, or of nobody is ABORTED', async t => {
  const { ask, volumes } = await makeFaulty(t);
  await volumes.create(clusters.a, 'a.pvc-2', volumeSpec('pvc-2'));
  const { body } = await ask('GET /v1/volumes?limit=1');
  for (const pageToken of [String(body['nextPageToken']), 'nonsense', btoa('s:b.snap-1')])
    assertProblem(await ask(`GET /v1/snapshots?pageToken=${pageToken}`), 409, 'ABORTED');
});

test("another cluster's snapshots are not there", async t => {
  const { ask, snapshots } = await makeFaulty(t);
  const { snapshot } = await snapshots.create(clusters.a, id, spec);
  assertProblem(await ask(`GET /v1/snapshots/${id}`, { as: 'b' }), 404, 'NOT_FOUND');
  assertProblem(await ask(`PUT /v1/snapshots/${id}`, { as: 'b', body: spec }), 404, 'NOT_FOUND');
  assertProblem(await ask(`GET /v1/snapshots/${id}/blocks`, { as: 'b' }), 404, 'NOT_FOUND');
  assert.equal((await ask(`DELETE /v1/snapshots/${id}`, { as: 'b' })).status, 204);
  assert.deepEqual((await ask('GET /v1/snapshots', { as: 'b' })).body, { snapshots: [] });
  assert.deepEqual(await snapshots.get(clusters.a, id), snapshot);
});

test('a backend without snapshots answers UNIMPLEMENTED', async t => {
  const { snapshots: _, ...inner } = await openMemory();
  const { ask } = await makeGateway(t, { backend: inner });
  for (const route of [
    `PUT /v1/snapshots/${id}`,
    `GET /v1/snapshots/${id}`,
    `DELETE /v1/snapshots/${id}`,
    'GET /v1/snapshots',
    `GET /v1/snapshots/${id}/blocks`,
    'GET /v1/groups/a.g',
  ]) {
    const body = route.startsWith('PUT') ? spec : undefined;
    assertProblem(await ask(route, { body }), 501, 'UNIMPLEMENTED');
  }
});

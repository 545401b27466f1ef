import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CutSnapshot, NewSnapshot } from '../../gateway/backend.ts';
import { Problem, type ProblemCode } from '../../src/api/problem.ts';
import { createFaultyBackend, type FaultyBackend, type Moment } from './faulty-backend.ts';
import {
  assertProblem,
  makeGateway,
  mounted,
  openMemory,
  temporaryDirectory,
  volumeSpec,
  type Gateway,
} from './harness.ts';
import { isProblem, isProblemThat } from './problems.ts';

const mebibyte = 2 ** 20;
const volumeId = 'a.pvc-1';
const id = 'a.snap-1';
const spec = { name: 'snap-1', volumeId };

async function makeFaulty(t: TestContext): Promise<Gateway & { readonly backend: FaultyBackend }> {
  const backend = createFaultyBackend(await openMemory());
  const gateway = await makeGateway(t, { backend });
  await gateway.volumes.create('a', volumeId, volumeSpec('pvc-1'));
  return { ...gateway, backend };
}

async function snapshotsIn(backend: FaultyBackend): Promise<readonly string[]> {
  return Array.fromAsync(backend.snapshots?.list?.() ?? []);
}

test('a snapshot lives its whole life over the routes', async t => {
  const { ask } = await makeFaulty(t);
  const made = await ask(`PUT /v1/snapshots/${id}`, { body: spec });
  assert.equal(made.status, 201);
  const { createdAt, ...rest } = made.body;
  assert.deepEqual(rest, { id, name: 'snap-1', volumeId, state: 'ready', sizeBytes: mebibyte });
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
  const { snapshots, expansion } = await makeFaulty(t);
  await snapshots.create('a', id, spec);
  await expansion.expand('a', volumeId, { requiredBytes: 5 * mebibyte });
  assert.equal((await snapshots.get('a', id)).sizeBytes, mebibyte);
  const { snapshot } = await snapshots.create('a', 'a.snap-2', { ...spec, name: 'snap-2' });
  assert.equal(snapshot.sizeBytes, 5 * mebibyte);
});

test('a snapshot outlives its volume', async t => {
  const { snapshots, volumes } = await makeFaulty(t);
  const { snapshot } = await snapshots.create('a', id, spec);
  await volumes.delete('a', volumeId);
  assert.deepEqual(await snapshots.get('a', id), snapshot);
  assert.deepEqual((await snapshots.create('a', id, spec)).snapshot, snapshot);
});

test('the storage is told whether some node may write meanwhile', async t => {
  const inner = await openMemory();
  const told: boolean[] = [];
  assert.ok(inner.snapshots);
  const { create } = inner.snapshots;
  const tell = (snapshot: NewSnapshot): Promise<CutSnapshot> => {
    told.push(snapshot.attachedForWriting);
    return create(snapshot);
  };
  const backend = { ...inner, snapshots: { ...inner.snapshots, create: tell } };
  const gateway = await makeGateway(t, { backend });
  await gateway.volumes.create('a', volumeId, volumeSpec('pvc-1'));
  const key = { cluster: { name: 'a', acceptAnyNode: true }, volumeId, nodeId: 'n1' };
  for (const [name, readonly] of [
    ['none', undefined],
    ['reader', true],
    ['writer', false],
  ] as const) {
    if (readonly !== undefined) await gateway.attachments.attach(key, { capability: mounted, readonly });
    await gateway.snapshots.create('a', `a.${name}`, { name, volumeId });
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
    await volumes.create('a', 'a.pvc-2', volumeSpec('pvc-2'));
    await snapshots.create('a', id, spec);
    const work = snapshots.create('a', id, { ...spec, ...change });
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
  await assert.rejects(volumes.create('a', 'a.half', volumeSpec('half')));
  const work = snapshots.create('a', id, { ...spec, volumeId: 'a.half' });
  await assert.rejects(work, isProblemThat('ABORTED', /"a.half" is not ready: it is creating/));
  assert.equal(await snapshots.find('a', id), undefined);
});

test('while a snapshot is cut, the volume and the snapshot are left alone, and the same call joins', async t => {
  const { snapshots, volumes, attachments, backend, ask } = await makeFaulty(t);
  const release = backend.hold('cut');
  const first = await ask(`PUT /v1/snapshots/${id}`, { body: spec, headers: { prefer: 'wait=0' } });
  assert.deepEqual([first.status, first.body['state'], first.body['sizeBytes']], [202, 'cutting', 0]);
  const same = Array.from({ length: 5 }, () => snapshots.create('a', id, spec));
  assert.deepEqual((await snapshots.list('a', { limit: 10 })).snapshots, []);
  const busy = isProblemThat('ABORTED', /is busy: snapshot runs since/);
  await assert.rejects(snapshots.delete('a', id), busy);
  await assert.rejects(volumes.delete('a', volumeId), busy);
  await assert.rejects(snapshots.create('a', 'a.snap-2', { ...spec, name: 'snap-2' }), busy);
  const key = { cluster: { name: 'a', acceptAnyNode: true }, volumeId, nodeId: 'n1' };
  await assert.rejects(attachments.attach(key, { capability: mounted, readonly: false }), busy);
  release();
  assert.ok((await Promise.all(same)).every(({ snapshot }) => snapshot.state === 'ready'));
  assert.equal(backend.calls.filter(call => call.startsWith('cut')).length, 1);
});

test('a snapshot that is cut and not ready is shown, keeps its volume, and the same call tells how it goes on', async t => {
  const { gateway, finish } = await makeSlow(t);
  const { snapshots, volumes } = gateway;
  const { snapshot } = await snapshots.create('a', id, spec);
  assert.equal(snapshot.state, 'processing');
  assert.deepEqual(await snapshots.get('a', id), snapshot);
  assert.deepEqual((await snapshots.list('a', { limit: 10 })).snapshots, [snapshot]);
  const needed = isProblemThat('FAILED_PRECONDITION', /has the snapshot "a.snap-1", which is not ready/);
  await assert.rejects(volumes.delete('a', volumeId), needed);
  assert.equal((await snapshots.create('a', id, spec)).snapshot.state, 'processing');
  finish();
  const { snapshot: ready, created } = await snapshots.create('a', id, spec);
  assert.deepEqual([ready.state, ready.createdAt, created], ['ready', snapshot.createdAt, false]);
  await volumes.delete('a', volumeId);
});

test('a snapshot that is processing becomes ready by the sweep, and can be deleted before', async t => {
  const { gateway, finish } = await makeSlow(t);
  const { snapshots, recovery } = gateway;
  await snapshots.create('a', id, spec);
  await snapshots.create('a', 'a.gone', { ...spec, name: 'gone' });
  await snapshots.delete('a', 'a.gone');
  finish();
  assert.equal(await recovery.sweep(), 1);
  assert.equal((await snapshots.get('a', id)).state, 'ready');
});

async function makeSlow(t: TestContext): Promise<{ gateway: Gateway; finish: () => void }> {
  const inner = await openMemory();
  let ready = false;
  assert.ok(inner.snapshots);
  const { create } = inner.snapshots;
  const snapshots = {
    ...inner.snapshots,
    create: async (snapshot: NewSnapshot): Promise<CutSnapshot> => ({
      ...(await create(snapshot)),
      ready,
    }),
  };
  const gateway = await makeGateway(t, { backend: { ...inner, snapshots } });
  await gateway.volumes.create('a', volumeId, volumeSpec('pvc-1'));
  return { gateway, finish: () => (ready = true) };
}

for (const moment of ['before', 'after'] as const satisfies readonly Moment[]) {
  test(`ten answers that are lost ${moment} the cut, and retries, lead to one snapshot`, async t => {
    const { snapshots, volumes, backend } = await makeFaulty(t);
    for (let i = 0; i < 10; i++) backend.failNext('cut', moment, new Error('the answer was lost'));
    for (let i = 0; i < 10; i++) {
      await assert.rejects(snapshots.create('a', id, spec), isProblem('UNAVAILABLE'));
      assert.equal((await snapshots.get('a', id)).state, 'cutting');
      await assert.rejects(volumes.delete('a', volumeId), isProblem('FAILED_PRECONDITION'));
    }
    assert.equal((await snapshots.create('a', id, spec)).snapshot.state, 'ready');
    assert.deepEqual(await snapshotsIn(backend), [id]);
  });

  test(`a deletion after an answer that was lost ${moment} the cut leaves none`, async t => {
    const { snapshots, volumes, backend } = await makeFaulty(t);
    backend.failNext('cut', moment, new Error('the answer was lost'));
    await assert.rejects(snapshots.create('a', id, spec));
    await snapshots.delete('a', id);
    assert.deepEqual(await snapshotsIn(backend), []);
    assert.equal(await snapshots.find('a', id), undefined);
    await volumes.delete('a', volumeId);
  });
}

const finals: readonly ProblemCode[] = ['FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED', 'INTERNAL'];
for (const code of finals) {
  test(`a cut that ends with ${code} leaves nothing, also of an earlier try`, async t => {
    const { snapshots, volumes, backend } = await makeFaulty(t);
    backend.failNext('cut', 'after', new Error('the answer was lost'));
    await assert.rejects(snapshots.create('a', id, spec));
    backend.failNext('cut', 'before', new Problem(code, 'as told'));
    await assert.rejects(snapshots.create('a', id, spec), isProblem(code));
    assert.equal(await snapshots.find('a', id), undefined);
    assert.deepEqual(await snapshotsIn(backend), []);
    await volumes.delete('a', volumeId);
  });
}

test('a deletion that failed leaves a tombstone until it is done', async t => {
  const { snapshots, recovery, backend } = await makeFaulty(t);
  await snapshots.create('a', id, spec);
  backend.failNext('uncut', 'after', new Error('the answer was lost'));
  await assert.rejects(snapshots.delete('a', id), isProblem('UNAVAILABLE'));
  assert.equal((await snapshots.get('a', id)).state, 'deleting');
  assert.deepEqual((await snapshots.list('a', { limit: 10 })).snapshots, []);
  await assert.rejects(snapshots.create('a', id, spec), isProblem('ABORTED'));
  assert.equal(await recovery.sweep(), 1);
  assert.equal(await snapshots.find('a', id), undefined);
});

test('a deletion that the storage refuses changes nothing', async t => {
  const { snapshots, backend } = await makeFaulty(t);
  const { snapshot } = await snapshots.create('a', id, spec);
  backend.failNext('uncut', 'before', new Problem('FAILED_PRECONDITION', 'it is in use'));
  await assert.rejects(snapshots.delete('a', id), isProblem('FAILED_PRECONDITION'));
  assert.deepEqual(await snapshots.get('a', id), snapshot);
});

const leaseMs = 300;
for (const method of ['cut', 'uncut'] as const) {
  test(`a gateway that dies in ${method} is taken over once its claim has ended`, async t => {
    const backend = createFaultyBackend(await openMemory());
    const store = join(temporaryDirectory(t), 'store.sqlite');
    const dying = await makeGateway(t, { backend, store, leaseMs });
    await dying.volumes.create('a', volumeId, volumeSpec('pvc-1'));
    if (method === 'uncut') await dying.snapshots.create('a', id, spec);
    const release = backend.hold(method);
    const run = (gateway: Gateway): Promise<unknown> =>
      method === 'cut' ? gateway.snapshots.create('a', id, spec) : gateway.snapshots.delete('a', id);
    const lost = run(dying);
    lost.catch(() => undefined);
    await backend.entered(method);
    await dying.engine.close();
    const next = await makeGateway(t, { backend, store, leaseMs });
    await assert.rejects(run(next), isProblem('ABORTED'));
    release();
    await sleep(leaseMs + 50);
    assert.equal(await next.recovery.sweep(), 1);
    assert.equal((await next.snapshots.find('a', id))?.state, method === 'cut' ? 'ready' : undefined);
    assert.deepEqual(await snapshotsIn(backend), method === 'cut' ? [id] : []);
    await next.volumes.delete('a', volumeId);
  });
}

test('two gateways on one store that cut the same snapshot at once have one effect', async t => {
  const backend = createFaultyBackend(await openMemory());
  const store = join(temporaryDirectory(t), 'store.sqlite');
  const pair = [await makeGateway(t, { backend, store }), await makeGateway(t, { backend, store })];
  await pair[0]?.volumes.create('a', volumeId, volumeSpec('pvc-1'));
  for (let i = 0; i < 10; i++) {
    const asked = { name: `snap-${i}`, volumeId };
    const both = await Promise.allSettled(
      pair.map(({ snapshots }) => snapshots.create('a', `a.snap-${i}`, asked)),
    );
    assert.ok(both.some(({ status }) => status === 'fulfilled'));
    assert.equal(backend.calls.filter(call => call === `cut a.snap-${i}`).length, 1);
  }
});

test('a list comes in pages, of all snapshots or those of one volume', async t => {
  const { ask, volumes, snapshots } = await makeFaulty(t);
  await volumes.create('a', 'a.pvc-2', volumeSpec('pvc-2'));
  for (let i = 0; i < 6; i++) {
    const source = i % 2 === 0 ? volumeId : 'a.pvc-2';
    await snapshots.create('a', `a.snap-${i}`, { name: `snap-${i}`, volumeId: source });
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
  await volumes.create('a', 'a.pvc-2', volumeSpec('pvc-2'));
  const { body } = await ask('GET /v1/volumes?limit=1');
  for (const pageToken of [String(body['nextPageToken']), 'nonsense', btoa('s:b.snap-1')])
    assertProblem(await ask(`GET /v1/snapshots?pageToken=${pageToken}`), 409, 'ABORTED');
});

test("another cluster's snapshots are not there", async t => {
  const { ask, snapshots } = await makeFaulty(t);
  const { snapshot } = await snapshots.create('a', id, spec);
  assertProblem(await ask(`GET /v1/snapshots/${id}`, { as: 'b' }), 404, 'NOT_FOUND');
  assertProblem(await ask(`PUT /v1/snapshots/${id}`, { as: 'b', body: spec }), 404, 'NOT_FOUND');
  assertProblem(await ask(`GET /v1/snapshots/${id}/blocks`, { as: 'b' }), 404, 'NOT_FOUND');
  assert.equal((await ask(`DELETE /v1/snapshots/${id}`, { as: 'b' })).status, 204);
  assert.deepEqual((await ask('GET /v1/snapshots', { as: 'b' })).body, { snapshots: [] });
  assert.deepEqual(await snapshots.get('a', id), snapshot);
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

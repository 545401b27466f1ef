import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { CreatedSnapshot, NewSnapshot } from '../../../../gateway/backend.ts';
import { Problem, type ProblemCode } from '../../../../src/api/problem.ts';
import { createFaultyBackend, type Moment } from '../faulty-backend.ts';
import {
  clusters,
  endClaims,
  makeGateway,
  openMemory,
  temporaryDirectory,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';
import { id, makeFaulty, snapshotsIn, spec, volumeId } from '../snapshot-fixtures.ts';

test('a snapshot that is cut and not ready is shown, keeps its volume, and the same call tells how it goes on', async t => {
  const { gateway, finish } = await makeSlow(t);
  const { snapshots, volumes } = gateway;
  const { snapshot } = await snapshots.create(clusters.a, id, spec);
  assert.equal(snapshot.state, 'processing');
  assert.deepEqual(await snapshots.get(clusters.a, id), snapshot);
  assert.deepEqual((await snapshots.list(clusters.a, { limit: 10 })).snapshots, [snapshot]);
  const needed = isProblemThat('FAILED_PRECONDITION', /has the snapshot "a.snap-1", which is not ready/);
  await assert.rejects(volumes.delete(clusters.a, volumeId), needed);
  assert.equal((await snapshots.create(clusters.a, id, spec)).snapshot.state, 'processing');
  finish();
  const { snapshot: ready, created } = await snapshots.create(clusters.a, id, spec);
  assert.deepEqual([ready.state, ready.createdAt, created], ['ready', snapshot.createdAt, false]);
  await volumes.delete(clusters.a, volumeId);
});

test('a snapshot that is processing becomes ready by the sweep, and can be deleted before', async t => {
  const { gateway, finish } = await makeSlow(t);
  const { snapshots, recovery } = gateway;
  await snapshots.create(clusters.a, id, spec);
  await snapshots.create(clusters.a, 'a.gone', { ...spec, name: 'gone' });
  await snapshots.delete(clusters.a, 'a.gone');
  finish();
  assert.equal(await recovery.sweep(), 1);
  assert.equal((await snapshots.get(clusters.a, id)).state, 'ready');
});

async function makeSlow(t: TestContext): Promise<{ gateway: Gateway; finish: () => void }> {
  const inner = await openMemory();
  let ready = false;
  assert.ok(inner.snapshots);
  const { create } = inner.snapshots;
  const snapshots = {
    ...inner.snapshots,
    create: async (snapshot: NewSnapshot): Promise<CreatedSnapshot> => ({
      ...(await create(snapshot)),
      ready,
    }),
  };
  const gateway = await makeGateway(t, { backend: { ...inner, snapshots } });
  await gateway.volumes.create(clusters.a, volumeId, volumeSpec('pvc-1'));
  return { gateway, finish: () => (ready = true) };
}

for (const moment of ['before', 'after'] as const satisfies readonly Moment[]) {
  test(`ten answers that are lost ${moment} the cut, and retries, lead to one snapshot`, async t => {
    const { snapshots, volumes, backend } = await makeFaulty(t);
    for (let i = 0; i < 10; i++) backend.failNext('cut', moment, new Error('the answer was lost'));
    for (let i = 0; i < 10; i++) {
      await assert.rejects(snapshots.create(clusters.a, id, spec), isProblem('UNAVAILABLE'));
      assert.equal((await snapshots.get(clusters.a, id)).state, 'creating');
      await assert.rejects(volumes.delete(clusters.a, volumeId), isProblem('FAILED_PRECONDITION'));
    }
    assert.equal((await snapshots.create(clusters.a, id, spec)).snapshot.state, 'ready');
    assert.deepEqual(await snapshotsIn(backend), [id]);
  });

  test(`a deletion after an answer that was lost ${moment} the cut leaves none`, async t => {
    const { snapshots, volumes, backend } = await makeFaulty(t);
    backend.failNext('cut', moment, new Error('the answer was lost'));
    await assert.rejects(snapshots.create(clusters.a, id, spec));
    await snapshots.delete(clusters.a, id);
    assert.deepEqual(await snapshotsIn(backend), []);
    await assert.rejects(snapshots.get(clusters.a, id), isProblem('NOT_FOUND'));
    await volumes.delete(clusters.a, volumeId);
  });
}

const finals: readonly ProblemCode[] = ['FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED', 'INTERNAL'];
for (const code of finals) {
  test(`a cut that ends with ${code} leaves nothing, also of an earlier try`, async t => {
    const { snapshots, volumes, backend } = await makeFaulty(t);
    backend.failNext('cut', 'after', new Error('the answer was lost'));
    await assert.rejects(snapshots.create(clusters.a, id, spec));
    backend.failNext('cut', 'before', new Problem(code, 'as told'));
    await assert.rejects(snapshots.create(clusters.a, id, spec), isProblem(code));
    await assert.rejects(snapshots.get(clusters.a, id), isProblem('NOT_FOUND'));
    assert.deepEqual(await snapshotsIn(backend), []);
    await volumes.delete(clusters.a, volumeId);
  });
}

test('what failed for good and cannot be undone is not final, and is finished by a retry', async t => {
  const { snapshots, backend } = await makeFaulty(t);
  backend.failNext('cut', 'after', new Problem('INTERNAL', 'broken'));
  backend.failNext('uncut', 'before', new Problem('FAILED_PRECONDITION', 'it is in use'));
  await assert.rejects(snapshots.create(clusters.a, id, spec), isProblem('UNAVAILABLE'));
  assert.deepEqual(await snapshotsIn(backend), [id]);
  assert.equal((await snapshots.create(clusters.a, id, spec)).snapshot.state, 'ready');
});

test('a deletion that failed leaves a tombstone until it is done', async t => {
  const { snapshots, recovery, backend } = await makeFaulty(t);
  await snapshots.create(clusters.a, id, spec);
  backend.failNext('uncut', 'after', new Error('the answer was lost'));
  await assert.rejects(snapshots.delete(clusters.a, id), isProblem('UNAVAILABLE'));
  assert.equal((await snapshots.get(clusters.a, id)).state, 'deleting');
  assert.deepEqual((await snapshots.list(clusters.a, { limit: 10 })).snapshots, []);
  await assert.rejects(snapshots.create(clusters.a, id, spec), isProblem('ABORTED'));
  assert.equal(await recovery.sweep(), 1);
  await assert.rejects(snapshots.get(clusters.a, id), isProblem('NOT_FOUND'));
});

test('a deletion that the storage refuses changes nothing', async t => {
  const { snapshots, backend } = await makeFaulty(t);
  const { snapshot } = await snapshots.create(clusters.a, id, spec);
  backend.failNext('uncut', 'before', new Problem('FAILED_PRECONDITION', 'it is in use'));
  await assert.rejects(snapshots.delete(clusters.a, id), isProblem('FAILED_PRECONDITION'));
  assert.deepEqual(await snapshots.get(clusters.a, id), snapshot);
});

for (const method of ['cut', 'uncut'] as const) {
  test(`a gateway that dies in ${method} is taken over once its claim has ended`, async t => {
    const backend = createFaultyBackend(await openMemory());
    const store = join(temporaryDirectory(t), 'store.sqlite');
    const dying = await makeGateway(t, { backend, store });
    await dying.volumes.create(clusters.a, volumeId, volumeSpec('pvc-1'));
    if (method === 'uncut') await dying.snapshots.create(clusters.a, id, spec);
    const release = backend.hold(method);
    const run = (gateway: Gateway): Promise<unknown> =>
      method === 'cut'
        ? gateway.snapshots.create(clusters.a, id, spec)
        : gateway.snapshots.delete(clusters.a, id);
    const lost = run(dying);
    lost.catch(() => undefined);
    await backend.entered(method);
    await dying.engine.close();
    const next = await makeGateway(t, { backend, store });
    await assert.rejects(run(next), isProblem('ABORTED'));
    release();
    await endClaims(next);
    assert.equal(await next.recovery.sweep(), 1);
    assert.deepEqual(await snapshotsIn(backend), method === 'cut' ? [id] : []);
    await next.volumes.delete(clusters.a, volumeId);
  });
}

test('two gateways on one store that cut the same snapshot at once have one effect', async t => {
  const backend = createFaultyBackend(await openMemory());
  const store = join(temporaryDirectory(t), 'store.sqlite');
  const pair = [await makeGateway(t, { backend, store }), await makeGateway(t, { backend, store })];
  await pair[0]?.volumes.create(clusters.a, volumeId, volumeSpec('pvc-1'));
  for (let i = 0; i < 10; i++) {
    const asked = { name: `snap-${i}`, volumeId };
    const both = await Promise.allSettled(
      pair.map(({ snapshots }) => snapshots.create(clusters.a, `a.snap-${i}`, asked)),
    );
    assert.ok(both.some(({ status }) => status === 'fulfilled'));
    assert.equal(backend.calls.filter(call => call === `cut a.snap-${i}`).length, 1);
  }
});

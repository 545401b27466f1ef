import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Step } from '../../../../gateway/operations/operation.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { assertProblem, openGateway, volumeSpec } from '../../../harness/gateway.ts';
import { problem } from '../../../fakes/storage-api.ts';
import { openRest } from '../rest/open-rest.ts';

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `v${n}`);

/** Fails unless the storage and the store agree on cluster a's volumes. */
async function assertConsistent({ ask, backend }: Awaited<ReturnType<typeof openGateway>>): Promise<number> {
  const { body } = await ask('GET /v1/volumes');
  const listed = body['volumes'] as readonly { readonly id: string; readonly state: string }[];
  const stored = await Array.fromAsync(backend.list?.() ?? []);
  assert.ok(listed.every(({ state }) => state === 'ready'));
  assert.deepEqual(stored.toSorted(), listed.map(({ id }) => id).toSorted());
  return listed.length;
}

test('work that waits at a pool without a caller does not begin, and work that has begun is finished', async t => {
  const gateway = await openGateway(t);
  const { ask, backend, operations } = gateway;
  const release = backend.hold('create');
  const leaves = new AbortController();
  const asked = names(100).map(name =>
    ask(`PUT /v1/volumes/a.${name}`, { body: volumeSpec(name), signal: leaves.signal }).catch(() => {}),
  );
  await backend.entered('create');
  leaves.abort();
  release();
  await Promise.all(asked);
  await operations.idle();
  const count = await assertConsistent(gateway);
  assert.ok(count > 0 && count < 100, `${count}`);
});

test('work that waits at a pool past its deadline does not begin, unless another caller requests it', async t => {
  const gateway = await openGateway(t);
  const { ask, backend, operations } = gateway;
  const release = backend.hold('create');
  const create = (name: string, headers = {}) =>
    ask(`PUT /v1/volumes/a.${name}`, { body: volumeSpec(name), headers: { prefer: 'wait=0', ...headers } });
  for (const name of names(12)) assert.equal((await create(name)).status, 202);
  // On a slow machine it is late already.
  for (const name of ['late', 'joined'])
    assert.ok([202, 504].includes((await create(name, { 'x-timeout-ms': '200' })).status));
  const untilMs = Date.now() + 200;
  assert.equal((await create('joined')).status, 202);
  await poll(() => Date.now() > untilMs || undefined, { everyMs: 20, timeoutMs: 10_000 });
  release();
  await operations.idle();
  assert.equal((await ask('GET /v1/volumes/a.joined')).status, 200);
  assertProblem(await ask('GET /v1/volumes/a.late'), 404, 'NOT_FOUND');
  assert.equal(await assertConsistent(gateway), 13);
});

const points: readonly Step['point'][] = ['before-intent', 'after-intent', 'after-commit', 'before-answer'];
for (const point of points)
  test(`a caller that disconnects ${point.replace('-', ' ')} leaves one volume after its next request, or none`, async t => {
    const leaves = new AbortController();
    const checkpoint = (step: Step): void => {
      if (step.point === point) leaves.abort();
    };
    const gateway = await openGateway(t, { checkpoint });
    const create = (signal?: AbortSignal) =>
      gateway.ask('PUT /v1/volumes/a.one', { body: volumeSpec('one'), ...(signal && { signal }) });
    await create(leaves.signal).catch(() => {});
    await gateway.operations.idle();
    assert.equal(await assertConsistent(gateway), point === 'before-intent' ? 0 : 1);
    assert.ok((await create()).status <= 201);
    assert.equal(await assertConsistent(gateway), 1);
    assert.equal(await gateway.recovery.sweep(), 0);
  });

/** Returns the deadline that a storage receives for a volume that is requested with these headers. */
async function askVendor(t: TestContext, headers: Readonly<Record<string, string>>): Promise<unknown> {
  const { backend, api } = await openRest(t, [problem('RESOURCE_EXHAUSTED', 'full')]);
  const { ask } = await openGateway(t, { backend });
  await ask('PUT /v1/volumes/a.one', { body: volumeSpec('one'), headers });
  return api.received.find(({ method }) => method === 'PUT')?.headers['x-timeout-ms'];
}

test("the storage behind a pool over REST gets the caller's deadline, and work that has begun continues after it", async t => {
  const seen = await askVendor(t, { 'x-timeout-ms': '20000' });
  assert.ok(Number(seen) > 0 && Number(seen) <= 20_000, String(seen));
  assert.equal(await askVendor(t, {}), undefined);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { poll } from '../../../../src/lib/concurrency.ts';
import {
  clusters,
  assertProblem,
  makeGateway,
  mounted,
  openMemory,
  volumeSpec,
  type Answer,
  type Gateway,
} from '../../../harness/gateway-harness.ts';

const hour = 3_600_000;
const path = '/v1/volumes/a.pvc-1';

function create({ ask }: Gateway): Promise<Answer> {
  return ask(`PUT ${path}`, { body: volumeSpec('pvc-1') });
}

async function restore({ ask }: Gateway): Promise<number> {
  return (await ask('PUT /v1/admin/deleted-volumes/a.pvc-1/restore', { as: 'operator' })).status;
}

async function listed({ ask }: Gateway): Promise<readonly string[]> {
  const { body } = await ask('GET /v1/volumes');
  return (body['volumes'] as { id: string }[]).map(({ id }) => id);
}

test('a deleted volume that is kept is gone for everybody, and its space is not free', async t => {
  const backend = await openMemory();
  const gateway = await makeGateway(t, { backend, keepDeletedMs: hour });
  await create(gateway);
  const left = await gateway.capacities.find(clusters.a, {});
  assert.equal((await gateway.ask(`DELETE ${path}`)).status, 204);
  assert.equal((await gateway.ask(`DELETE ${path}`)).status, 204);
  assertProblem(await gateway.ask(`GET ${path}`), 404, 'NOT_FOUND');
  assertProblem(
    await gateway.ask(`PUT ${path}/size`, { body: { requiredBytes: 2 ** 21 } }),
    404,
    'NOT_FOUND',
  );
  const body = { capability: mounted, readonly: false };
  const attached = await gateway.ask('PUT /v1/volumes/a.pvc-1/attachments/n1', { body });
  assertProblem(attached, 404, 'NOT_FOUND');
  assert.deepEqual(await listed(gateway), []);
  assert.deepEqual(await gateway.capacities.find(clusters.a, {}), left);
});

test('the name of a kept volume is not given to another, and the reason is told', async t => {
  const gateway = await makeGateway(t, { keepDeletedMs: hour });
  await create(gateway);
  await gateway.ask(`DELETE ${path}`);
  const answer = await create(gateway);
  assertProblem(answer, 409, 'FAILED_PRECONDITION');
  assert.match(String(answer.body['detail']), /^volume "a.pvc-1" was deleted and can be restored until 20/);
});

test('a restored volume has its bytes, and can be deleted and restored again', async t => {
  const backend = await openMemory();
  const gateway = await makeGateway(t, { backend, keepDeletedMs: hour });
  const { body: made } = await create(gateway);
  const bytes = crypto.getRandomValues(new Uint8Array(65_536));
  backend.write('a.pvc-1', 4_096, bytes);
  for (let round = 0; round < 2; round++) {
    await gateway.ask(`DELETE ${path}`);
    await gateway.recovery.sweep();
    assert.equal(await restore(gateway), 204);
    assert.deepEqual((await gateway.ask(`GET ${path}`)).body, made);
    assert.deepEqual(backend.read('a.pvc-1', 4_096, bytes.length), bytes);
  }
});

test('after its time a kept volume is deleted for good, and its name is free', async t => {
  const backend = await openMemory();
  const gateway = await makeGateway(t, { backend, keepDeletedMs: 50 });
  await create(gateway);
  await gateway.ask(`DELETE ${path}`);
  const sweep = async () => (await gateway.recovery.sweep()) || undefined;
  assert.equal(await poll(sweep, { everyMs: 10, timeoutMs: 60_000 }), 1);
  assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), []);
  assert.equal(await restore(gateway), 404);
  assert.equal((await create(gateway)).status, 201);
});

test('before its time a sweep leaves a kept volume alone', async t => {
  const backend = await openMemory();
  const gateway = await makeGateway(t, { backend, keepDeletedMs: hour });
  await create(gateway);
  await gateway.ask(`DELETE ${path}`);
  assert.equal(await gateway.recovery.sweep(), 0);
  assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), ['a.pvc-1']);
});

test('an attached volume is refused, not kept', async t => {
  const gateway = await makeGateway(t, { keepDeletedMs: hour });
  await gateway.ask(`PUT ${path.replace('a.', 'any.')}`, { as: 'any', body: volumeSpec('pvc-1') });
  const body = { capability: mounted, readonly: false };
  await gateway.ask('PUT /v1/volumes/any.pvc-1/attachments/n1', { as: 'any', body });
  assertProblem(await gateway.ask('DELETE /v1/volumes/any.pvc-1', { as: 'any' }), 409, 'FAILED_PRECONDITION');
  assert.equal((await gateway.ask('GET /v1/volumes/any.pvc-1', { as: 'any' })).body['state'], 'ready');
});

test('without a time to keep, a deleted volume is gone at once', async t => {
  const backend = await openMemory();
  const gateway = await makeGateway(t, { backend });
  await create(gateway);
  await gateway.ask(`DELETE ${path}`);
  assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), []);
});

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { type GrantRecord, grantTable } from '../../../../gateway/tables/grants.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { clusters, assertProblem, openGateway, mounted, volumeSpec } from '../../../harness/gateway.ts';
import { hour, volumesIn } from '../../../harness/gateway/fixtures.ts';

const volume = '/v1/volumes/a.pvc-1';

/**
 * Opens a gateway with the volume a.pvc-1, which can be restored for this time (by default an hour) after its deletion.
 */
async function open(t: TestContext, keepDeletedMs = hour) {
  const gateway = await openGateway(t, { keepDeletedMs });
  const { ask } = gateway;
  const create = () => ask(`PUT ${volume}`, { body: volumeSpec('pvc-1') });
  const restore = async () => {
    const restored = await ask('PUT /v1/admin/deleted-volumes/a.pvc-1/restore', { as: 'operator' });
    return restored.status;
  };
  const { body: made } = await create();
  return { ...gateway, create, remove: () => ask(`DELETE ${volume}`), restore, made };
}

test('a soft-deleted volume is hidden, its name is not free, its space is counted as free, and a sweep leaves it', async t => {
  const { ask, create, remove, capacities, recovery, backend } = await open(t);
  const { availableBytes = 0 } = await capacities.find(clusters.a, {});
  for (let i = 0; i < 2; i++) assert.equal((await remove()).status, 204);
  for (const [route, body] of [
    [`GET ${volume}`],
    [`PUT ${volume}/size`, { requiredBytes: 2 ** 21 }],
    [`PUT ${volume}/attachments/n1`, { capability: mounted, readonly: false }],
  ] as const)
    assertProblem(await ask(route, { body }), 404, 'NOT_FOUND');
  assert.deepEqual((await ask('GET /v1/volumes')).body, { volumes: [] });
  const left = await capacities.find(clusters.a, {});
  assert.equal(left.availableBytes, availableBytes + 2 ** 20);
  const answer = await create();
  assertProblem(answer, 409, 'FAILED_PRECONDITION');
  assert.match(String(answer.body['detail']), /^volume "a.pvc-1" was deleted and can be restored until 20/);
  assert.equal(await recovery.sweep(), 0);
  assert.deepEqual(await volumesIn(backend), ['a.pvc-1']);
});

test('a restored volume has its data, and can be deleted and restored again', async t => {
  const { ask, remove, restore, recovery, backend, made } = await open(t);
  const bytes = crypto.getRandomValues(new Uint8Array(65_536));
  backend.write('a.pvc-1', 4_096, bytes);
  for (let round = 0; round < 2; round++) {
    await remove();
    await recovery.sweep();
    assert.equal(await restore(), 204);
    assert.deepEqual((await ask(`GET ${volume}`)).body, made);
    assert.deepEqual(backend.read('a.pvc-1', 4_096, bytes.length), bytes);
  }
});

test('after its time a soft-deleted volume is deleted finally, and its name is free', async t => {
  const { create, remove, restore, recovery, backend } = await open(t, 50);
  await remove();
  const sweep = async () => (await recovery.sweep()) || undefined;
  assert.equal(await poll(sweep, { everyMs: 10, timeoutMs: 60_000 }), 1);
  assert.deepEqual(await volumesIn(backend), []);
  assert.equal(await restore(), 404);
  assert.equal((await create()).status, 201);
});

test('an attached volume is not soft-deleted', async t => {
  const gateway = await open(t);
  const { ask, remove } = gateway;
  await gateway.attach('a.pvc-1');
  assertProblem(await remove(), 409, 'FAILED_PRECONDITION');
  assert.equal((await ask(`GET ${volume}`)).body['state'], 'ready');
});

const { a, b } = clusters;
const grant: GrantRecord = {
  volumeId: 'a.pvc-1',
  cluster: 'b',
  access: 'read-only',
  revoking: false,
  byOperator: true,
};

test('a volume that is shared during its soft deletion stays, and its owner learns who shares it', async t => {
  let granted: Promise<unknown> = Promise.resolve();
  const gateway = await openGateway(t, {
    keepDeletedMs: hour,
    checkpoint({ point, operation }) {
      if (point === 'after-intent' && operation === 'delete')
        granted = replica.sharing.grant({ volumeId: 'a.pvc-1', grantee: 'b' }, grant);
    },
    wrapEngine: engine => ({ ...engine, transaction: work => granted.then(() => engine.transaction(work)) }),
  });
  const replica = await gateway.replica({ wrapEngine: engine => engine });
  const { volumes } = gateway;
  await volumes.create(a, 'a.pvc-1', volumeSpec('pvc-1'));
  const shared = /^volume "a\.pvc-1" is shared with cluster "b"/;
  await assert.rejects(volumes.delete(a, 'a.pvc-1'), { code: 'FAILED_PRECONDITION', detail: shared });
  assert.equal((await volumes.get(b, 'a.pvc-1')).state, 'ready');
});

test('no grant of an earlier volume shows the next volume of its id', async t => {
  const { create, remove, recovery, engine, volumes } = await open(t, 50);
  await remove();
  // The state of a store after a volume was shared while it was being deleted.
  await engine.transaction(sql => grantTable.add(sql, grant));
  const sweep = async () => (await recovery.sweep()) || undefined;
  assert.equal(await poll(sweep, { everyMs: 10, timeoutMs: 60_000 }), 1);
  assert.equal((await create()).status, 201);
  await assert.rejects(volumes.get(b, 'a.pvc-1'), { code: 'NOT_FOUND' });
  assert.deepEqual((await volumes.list(b, { limit: 10 })).volumes, []);
});

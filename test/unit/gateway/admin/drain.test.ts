import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  assertProblem,
  clusters,
  mounted,
  openGateway,
  volumeSpec,
  type Answer,
  type Gateway,
} from '../../../harness/gateway.ts';

const { a, b } = clusters;
const inPool = (pool: string) => ({ parameters: { pool } });
const refused = {
  code: 'FAILED_PRECONDITION',
  detail:
    /^pool "fast" takes no new volumes, because an operator drains it; .* fairlead admin drain fast --end$/,
};

/** Opens a gateway with the pools `fast` and `slow`, and one volume of a in each. */
async function open(t: TestContext) {
  const gateway = await openGateway(t, { pools: ['fast', 'slow'] });
  for (const pool of ['fast', 'slow']) await gateway.create(`a.${pool}`, inPool(pool));
  return gateway;
}

const drain = ({ ask }: Pick<Gateway, 'ask'>, body: object = {}, pool = 'fast'): Promise<Answer> =>
  ask(`PUT /v1/admin/pools/${pool}/drain`, { as: 'operator', body });

test('a drained pool takes no new volume on any gateway, and its volumes work as before', async t => {
  const gateway = await open(t);
  const other = await gateway.replica();
  const { body } = await drain(gateway);
  const left = [{ cluster: 'a', volumes: 1, snapshots: 0, reservedBytes: 2 ** 20 }];
  assert.deepEqual(body, { isDrained: true, left });
  for (const { create, capacities } of [gateway, other]) {
    await assert.rejects(create('a.new', inPool('fast')), refused);
    const spec = { parameters: { pool: 'fast' }, capabilities: [mounted] };
    assert.deepEqual(await capacities.find(b, spec), { availableBytes: 0 });
  }
  const copy = { ...inPool('fast'), source: { kind: 'volume', volumeId: 'a.fast' } } as const;
  await assert.rejects(gateway.create('a.copy', copy), refused);
  const importing = { as: 'operator', body: { pool: 'fast', storageId: 'old' } };
  assertProblem(await gateway.ask('PUT /v1/admin/imports/a.old', importing), 409, 'FAILED_PRECONDITION');
  assert.equal((await gateway.create('a.fast', inPool('fast'))).created, false);
  await gateway.create('a.new', inPool('slow'));
  await gateway.changes.expand(a, 'a.fast', { requiredBytes: 2 ** 21 });
  await gateway.snapshot('a.cut', 'a.fast');
  await gateway.snapshots.delete(a, 'a.cut');
  await gateway.volumes.delete(a, 'a.fast');
  assert.deepEqual((await drain(gateway)).body, { isDrained: true, left: [] });
});

test('a dry run of a drain lists the remaining volumes, and the pool stays open', async t => {
  const gateway = await open(t);
  const { body } = await drain(gateway, { dryRun: true });
  assert.partialDeepStrictEqual(body, { isDrained: false, left: [{ cluster: 'a', volumes: 1 }] });
  await gateway.create('a.new', inPool('fast'));
  assert.deepEqual(await changesOf(gateway), []);
});

test('a drain ends when an operator says so, each time as one change in the audit log', async t => {
  const gateway = await open(t);
  for (const end of [false, false, true, true]) await drain(gateway, { end });
  await gateway.create('a.new', inPool('fast'));
  assert.deepEqual(await changesOf(gateway), ['drain fast', 'end drain fast']);
  const { body } = await gateway.ask('GET /v1/admin/audit-log?cluster=fast', { as: 'operator' });
  assert.deepEqual(body, { entries: [] });
});

test('a volume whose creation was recorded before a drain is still created', async t => {
  const gateway = await open(t);
  const dying = await gateway.replica({
    checkpoint({ point, operation }) {
      if (operation === 'create' && point === 'after-intent') throw new Error('the gateway died');
    },
  });
  await assert.rejects(dying.create('a.new', inPool('fast')));
  await drain(gateway);
  await gateway.engine.transaction(sql => sql.run('update claims set until_ms = 0'));
  await gateway.recovery.sweep();
  assert.equal((await gateway.volumes.get(a, 'a.new')).state, 'ready');
});

test('an import that a drain overtakes adds no volume to the pool', async t => {
  const gateway = await openGateway(t, { pools: ['fast'], orphans: ['old'] });
  const { list } = gateway.backend;
  gateway.backend.list = async function* () {
    if (isDraining) await drain(gateway);
    yield* list?.() ?? [];
  };
  const take = () =>
    gateway.ask('PUT /v1/admin/imports/a.old', {
      as: 'operator',
      body: { pool: 'fast', storageId: 'old', capabilities: [mounted] },
    });
  let isDraining = true;
  assertProblem(await take(), 409, 'FAILED_PRECONDITION');
  assert.deepEqual((await drain(gateway)).body, { isDrained: true, left: [] });
  isDraining = false;
  await drain(gateway, { end: true });
  assert.equal((await take()).status, 200);
});

test('a drain names the pools if there is none of that name, and readers cannot drain', async t => {
  const gateway = await open(t);
  const missing = await drain(gateway, {}, 'fats');
  assertProblem(missing, 404, 'NOT_FOUND');
  assert.equal(
    missing.body['detail'],
    'there is no pool "fats" (did you mean "fast"?); the pools are fast, slow',
  );
  const route = 'PUT /v1/admin/pools/fast/drain';
  assert.equal((await gateway.ask(route, { as: 'reader of operators', body: {} })).status, 404);
  assert.equal(
    (await gateway.ask('PUT /v1/volumes/a.new', { body: volumeSpec('new', inPool('fast')) })).status,
    201,
  );
});

async function changesOf({ engine }: Gateway): Promise<readonly string[]> {
  const query = "select operation, resource from audit_log where kind = 'pool' order by id";
  return (await engine.reader.all(query)).map(({ operation, resource }) => `${operation} ${resource}`);
}

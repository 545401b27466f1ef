import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { BackendPlugin } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { plan, repair } from '../../../../gateway/admin/repair.ts';
import { check } from '../../../../gateway/admin/check.ts';
import { own } from '../../../../gateway/pools/owner.ts';
import { preconditionProblem, type Problem } from '../../../../src/api/problem.ts';
import {
  assertProblem,
  clusters,
  openGateway,
  mounted,
  volumeSpec,
  type Answer,
  type Gateway,
} from '../../../harness/gateway.ts';
import { createLocal } from '../backends/local.ts';
import { assertCounted, volumesIn } from '../../../harness/gateway/fixtures.ts';

const { a, b } = clusters;
const writing = { capability: mounted, readonly: false };

/** Opens a gateway with the volume `a.one`, which contains "data"; each cluster has reported a node `n1`. */
async function open(t: TestContext) {
  const gateway = await openGateway(t, { volumes: ['one'] });
  for (const cluster of [a, b]) await gateway.nodes.put(cluster, 'n1', {});
  return gateway;
}

const transfer = ({ ask }: Pick<Gateway, 'ask'>, body: object = { cluster: 'b' }, id = 'a.one') =>
  ask(`PUT /v1/admin/volumes/${id}/owner`, { as: 'operator', body });

/** Lists the volumes with their names in the storage. */
async function recorded({ engine }: Gateway): Promise<readonly string[]> {
  const rows = await engine.reader.all('select id, coalesce(storage_id, id) as there from volumes');
  return rows.map(({ id, there }) => `${id} ${there}`);
}

async function assertWhole(gateway: Gateway): Promise<void> {
  await assertCounted(gateway.engine);
  const { findings } = await check({ ...gateway, stuckAfterMs: 0 });
  assert.deepEqual(findings, []);
}

test('a transferred volume belongs to the other cluster, at its place, and the first one can do nothing with it', async t => {
  const gateway = await open(t);
  const { create, volumes, attachments, changes, backend } = gateway;
  const { status, body } = await transfer(gateway);
  assert.equal(status, 200);
  assert.partialDeepStrictEqual(body, {
    volume: { id: 'b.one', name: 'one', state: 'ready', attachments: [] },
    capabilities: [mounted],
  });
  assert.deepEqual(await volumesIn(backend), ['a.one']);
  await assert.rejects(volumes.get(a, 'a.one'), { code: 'NOT_FOUND' });
  await assert.rejects(volumes.get(a, 'b.one'), { code: 'NOT_FOUND' });
  await volumes.delete(a, 'a.one');
  await assertWhole(gateway);
  await changes.expand(b, 'b.one', { requiredBytes: 2 ** 21 });
  await changes.modify(b, 'b.one', { tier: 'fast' });
  const key = { cluster: b, volumeId: 'b.one', nodeId: 'n1' };
  await attachments.attach(key, writing);
  await attachments.detach(key);
  await gateway.snapshot('b.cut', 'b.one');
  const source = { kind: 'volume', volumeId: 'b.one' } as const;
  await create('b.copy', { source, requiredBytes: 2 ** 21 });
  await assertWhole(gateway);
  await volumes.delete(b, 'b.one');
  assert.deepEqual(await volumesIn(backend), ['b.copy']);
  await assertWhole(gateway);
});

test('the first cluster makes no volume of the same id before the name is free at the storage', async t => {
  const gateway = await open(t);
  const { create, volumes } = gateway;
  await transfer(gateway);
  const again = (): Promise<unknown> => create('a.one');
  await assert.rejects(again(), {
    code: 'FAILED_PRECONDITION',
    detail: /^"a\.one" still names a transferred volume/,
  });
  await assertWhole(gateway);
  await volumes.delete(b, 'b.one');
  await again();
  await assertWhole(gateway);
});

test('a transfer first detaches the volume from all nodes, also of a cluster that shared it', async t => {
  const gateway = await open(t);
  const { sharing, attachments, backend, volumes } = gateway;
  await sharing.grant({ volumeId: 'a.one', grantee: 'b' }, { access: 'read-write' });
  await attachments.attach({ cluster: b, volumeId: 'a.one', nodeId: 'n1' }, writing);
  backend.calls.length = 0;
  assert.equal((await transfer(gateway)).status, 200);
  assert.deepEqual(backend.calls, ['detach a.one']);
  assert.deepEqual((await volumes.list(b, { limit: 10 })).volumes.length, 1);
  assert.deepEqual(await gateway.engine.reader.all('select * from grants'), []);
});

test('a node that cannot be shut out prevents the transfer, and so does any other obstacle', async t => {
  const gateway = await open(t);
  const key = { cluster: a, volumeId: 'a.one', nodeId: 'n1' };
  await gateway.attachments.attach(key, writing);
  gateway.backend.failNext('detach', 'before', preconditionProblem('in use (injected)'));
  assertProblem(await transfer(gateway), 409, 'FAILED_PRECONDITION');
  assert.equal((await gateway.attachments.get(key)).state, 'attached');
  await gateway.create('b.one');
  gateway.backend.calls.length = 0;
  const refusals: readonly (readonly [body: object, status: number, code: string, says: RegExp])[] = [
    [{ cluster: 'b' }, 409, 'ALREADY_EXISTS', /give it another name$/],
    [{ cluster: 'a' }, 400, 'INVALID_ARGUMENT', /already belongs to cluster "a"/],
    [{ cluster: 'nobody' }, 400, 'INVALID_ARGUMENT', /there is no cluster "nobody"/],
    [{ cluster: 'b', name: 'not/a/name' }, 400, 'INVALID_ARGUMENT', /is not a valid volume id/],
  ];
  for (const [body, status, code, says] of refusals) {
    const answer = await transfer(gateway, body);
    assertProblem(answer, status, code);
    assert.match(String(answer.body['detail']), says);
  }
  await gateway.sharing.grant({ volumeId: 'a.one', grantee: 'any' }, { access: 'read-only' });
  assertProblem(await transfer(gateway, { cluster: 'b', name: 'two' }), 409, 'FAILED_PRECONDITION');
  assert.deepEqual(gateway.backend.calls, []);
  assert.equal((await gateway.attachments.get(key)).state, 'attached');
});

test('a pool whose volumes were all transferred still belongs to its store', async t => {
  const { backend, engine, ...gateway } = await open(t);
  await transfer(gateway);
  const marks: string[] = [];
  const owner = { read: async () => undefined, write: async (mark: string) => void marks.push(mark) };
  const pool = { ...gateway.pools.get('main'), backend: { ...backend, owner } };
  await own(pool, { id: 'this', reader: engine.reader, adopted: [] });
  assert.deepEqual(marks, ['this main\n']);
});

test('a transfer counts as done, even if its first cluster and operators were refused since', async t => {
  const gateway = await open(t);
  assert.equal((await transfer(gateway)).status, 200);
  const again = await gateway.ask('PUT /v1/volumes/a.one', { as: 'a', body: volumeSpec('one') });
  assertProblem(again, 409, 'FAILED_PRECONDITION');
  assertProblem(await transfer(gateway, { cluster: 'any' }), 404, 'NOT_FOUND');
  assert.equal((await transfer(gateway)).status, 200);
});

test('a volume that is passed on, back, and requested again stays one volume', async t => {
  const gateway = await open(t);
  const { backend } = gateway;
  for (let time = 0; time < 2; time++) assert.equal((await transfer(gateway)).status, 200);
  const onward = { cluster: 'any', name: 'moved' };
  for (let time = 0; time < 2; time++) assert.equal((await transfer(gateway, onward, 'b.one')).status, 200);
  await assertWhole(gateway);
  const back = { cluster: 'a', name: 'one' };
  for (let time = 0; time < 2; time++) assert.equal((await transfer(gateway, back, 'any.moved')).status, 200);
  assert.deepEqual(await recorded(gateway), ['a.one a.one']);
  await gateway.volumes.delete(a, 'a.one');
  assert.deepEqual(await volumesIn(backend), []);
  await assertWhole(gateway);
});

test('a gateway that dies at any point leaves the volume intact with one of the two clusters, and the next call finishes', async t => {
  const points = ['before-intent', 'after-intent', 'after-commit', 'before-answer'] as const;
  for (const point of points) {
    const gateway = await open(t);
    await gateway.attachments.attach({ cluster: a, volumeId: 'a.one', nodeId: 'n1' }, writing);
    const dying = await gateway.replica({
      checkpoint(step) {
        if (step.operation === 'transfer' && step.point === point) throw new Error('the gateway died');
      },
    });
    assert.equal((await transfer(dying)).status, 503, point);
    await gateway.engine.transaction(sql => sql.run('update claims set until_ms = 0'));
    await gateway.recovery.sweep();
    assert.equal((await gateway.engine.reader.all('select id from volumes')).length, 1, point);
    const { status, body } = await transfer(gateway);
    assert.deepEqual([status, (body['volume'] as { id: string } | undefined)?.id], [200, 'b.one'], point);
    assert.deepEqual(await volumesIn(gateway.backend), ['a.one'], point);
    await assertWhole(gateway);
  }
});

test('a volume that is shared during its transfer stays where it is, or is not shared', async t => {
  const gateway = await open(t);
  let granting: Promise<string> | undefined;
  const moving = await gateway.replica({
    checkpoint(step) {
      if (step.operation !== 'transfer' || step.point !== 'after-intent') return;
      granting = gateway.sharing.grant({ volumeId: 'a.one', grantee: 'any' }, { access: 'read-only' }).then(
        () => 'shared',
        error => (error as Problem).code,
      );
    },
  });
  const { status, body } = await transfer(moving);
  const outcome = [status, body['code'], await granting, ...(await recorded(gateway))];
  const stays = [409, 'FAILED_PRECONDITION', 'shared', 'a.one a.one'];
  assert.deepEqual(outcome, status === 200 ? [200, undefined, 'NOT_FOUND', 'b.one a.one'] : stays);
  await assertWhole(gateway);
});

const take = ({ ask }: Pick<Gateway, 'ask'>, id: string, body: object): Promise<Answer> =>
  ask(`PUT /v1/admin/imports/${id}`, { as: 'operator', body: { pool: 'main', ...body } });

for (const [plugin, file, says] of [
  [
    backends.image as BackendPlugin,
    'byhand.img',
    /a volume of it is a file CLUSTER\.NAME\.img in "\/.+", listed as CLUSTER\.NAME$/,
  ],
  [backends.dir as BackendPlugin, 'byhand', /a volume of it is a directory CLUSTER\.NAME in "\/[^"]+"$/],
] as const)
  test(`an import of "${file}" explains the names of the pool's volumes`, async t => {
    const { root, backend } = await createLocal(plugin).open(t);
    const gateway = await openGateway(t, { backend });
    writeFileSync(join(root, file), 'data');
    const answer = await take(gateway, 'a.byhand', { storageId: 'byhand' });
    assertProblem(answer, 404, 'NOT_FOUND');
    assert.match(String(answer.body['detail']), says);
  });

test('a volume that only the storage has is imported with its data, which no node formats', async t => {
  const gateway = await openGateway(t, { orphans: ['legacy', 'a.lost'] });
  const { volumes, attachments, backend } = gateway;
  await gateway.nodes.put(b, 'n1', {});
  for (let time = 0; time < 2; time++) {
    const { status, body } = await take(gateway, 'b.old', { storageId: 'legacy' });
    assert.equal(status, 200);
    assert.partialDeepStrictEqual(body, { volume: { id: 'b.old', state: 'ready', sizeBytes: 2 ** 20 } });
  }
  assert.equal((await take(gateway, 'a.lost', {})).status, 200);
  await assertWhole(gateway);
  const { attachment } = await attachments.attach({ cluster: b, volumeId: 'b.old', nodeId: 'n1' }, writing);
  assert.equal(attachment.attachment?.mayFormat, false);
  await attachments.detach({ cluster: b, volumeId: 'b.old', nodeId: 'n1' });
  await volumes.delete(b, 'b.old');
  assert.deepEqual(await volumesIn(backend), ['a.lost']);
});

test('an import refuses a recorded volume, a missing one, and one beyond the quota', async t => {
  const gateway = await openGateway(t, { volumes: ['one'], orphans: ['legacy'] });
  const refused = async (id: string, body: object, ...expected: [number, string]): Promise<void> =>
    assertProblem(await take(gateway, id, body), ...expected);
  await refused('b.mine', { storageId: 'a.one' }, 409, 'FAILED_PRECONDITION');
  await refused('a.one', { storageId: 'legacy' }, 409, 'ALREADY_EXISTS');
  await refused('b.mine', { storageId: 'nothing' }, 404, 'NOT_FOUND');
  await refused('nobody.x', { storageId: 'legacy' }, 400, 'INVALID_ARGUMENT');
  await refused('b.mine', { storageId: 'legacy', topology: { zone: 'a' } }, 400, 'INVALID_ARGUMENT');
  await transfer(gateway);
  await refused('a.mine', { storageId: 'a.one' }, 409, 'FAILED_PRECONDITION');
  assert.deepEqual(await recorded(gateway), ['b.one a.one']);
});

test('a repair that was planned before an import removes nothing of it', async t => {
  const gateway = await openGateway(t, { volumes: ['one'], orphans: ['a.lost'] });
  const settings = { ...gateway, stuckAfterMs: 0 };
  const steps = plan(await check(settings), 0);
  assert.deepEqual(
    steps.map(({ id, action }) => [id, action]),
    [['a.lost', 'remove']],
  );
  assert.equal((await take(gateway, 'b.found', { storageId: 'a.lost' })).status, 200);
  const [step] = await repair(settings, steps);
  assert.equal(step?.outcome, 'failed');
  assert.deepEqual(await volumesIn(gateway.backend), ['a.lost', 'a.one']);
  assert.deepEqual((await check(settings)).findings, []);
});

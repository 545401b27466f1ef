import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createDeadNodeDetachment } from '../../../../gateway/attachments/dead-nodes.ts';
import { createPools } from '../../../../gateway/pools/pools.ts';
import { attachmentTable } from '../../../../gateway/tables/attachments.ts';
import { volumeTable } from '../../../../gateway/tables/volumes.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { assertProblem, clusters, type Gateway, openGateway } from '../../../harness/gateway.ts';
import { waitingPool } from '../../../harness/gateway/waiting-pool.ts';

const { b } = clusters;
const capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;

/** Opens a gateway whose cluster b has the volumes `b.one` and `b.two` on its node `n1`, and the node `n2`. */
async function openAttached(t: TestContext) {
  const gateway = await openGateway(t);
  for (const nodeId of ['n1', 'n2']) await gateway.nodes.put(b, nodeId, {});
  for (const volumeId of ['b.one', 'b.two']) {
    await gateway.create(volumeId, { capabilities: [capability] });
    await gateway.attach(volumeId, 'n1', { capability });
  }
  gateway.backend.calls.length = 0;
  return gateway;
}

async function stateOf({ engine }: Pick<Gateway, 'engine'>): Promise<readonly string[]> {
  return (await attachmentTable.select(engine.reader, { cluster: 'b', nodeId: 'n1' })).map(
    ({ volumeId, state }) => `${volumeId} ${state}`,
  );
}

const bothAttached = ['b.one attached', 'b.two attached'];

test('the volumes of a dead node are attached elsewhere once they are detached, and none to it until it is reported', async t => {
  const gateway = await openAttached(t);
  await assert.rejects(gateway.attach('b.one', 'n2', { capability }), { code: 'FAILED_PRECONDITION' });
  const { status } = await gateway.ask('PUT /v1/nodes/n1/detachment', { as: 'b' });
  assert.equal(status, 204);
  assert.deepEqual(await stateOf(gateway), []);
  assert.equal((await gateway.nodes.get(b, 'n1')).isDead, true);
  await assert.rejects(gateway.attach('b.two', 'n1', { capability }), {
    code: 'FAILED_PRECONDITION',
    detail: /^cluster "b" has detached the dead node "n1"; /,
  });
  await gateway.attach('b.one', 'n2', { capability });
  await gateway.detachDeadNode(b, 'n1');
  await gateway.nodes.put(b, 'n1', { maxVolumes: 9 });
  assert.deepEqual(await gateway.nodes.get(b, 'n1'), { id: 'n1', maxVolumes: 9 });
  await gateway.attach('b.two', 'n1', { capability });
});

test('a dead node keeps all its volumes while a pool cannot cut it off', async t => {
  const gateway = await openAttached(t);
  await gateway.engine.transaction(sql => volumeTable.update(sql, { id: 'b.two' }, { pool: 'slow' }));
  const pools = createPools(
    () => gateway.pools.all(),
    () => [],
    () => new Map([['slow', waitingPool('pool "slow" is not open yet')]]),
  );
  await assert.rejects(createDeadNodeDetachment({ ...gateway, pools })(b, 'n1'), { code: 'UNAVAILABLE' });
  assert.deepEqual(await stateOf(gateway), bothAttached);
  Object.assign(gateway.backend, { cannotCutOff: true });
  await gateway.engine.transaction(sql =>
    volumeTable.update(sql, { id: 'b.two' }, { pool: gateway.pools.all()[0]?.name ?? '' }),
  );
  const refused = await gateway.ask('PUT /v1/nodes/n1/detachment', { as: 'b' });
  assertProblem(refused, 409, 'FAILED_PRECONDITION');
  assert.match(String(refused.body['detail']), /^pool ".*" cannot cut node "n1" off from volume "b\.one"; /);
  assert.deepEqual(await stateOf(gateway), bothAttached);
  assert.deepEqual(await gateway.nodes.get(b, 'n1'), { id: 'n1' });
  assert.deepEqual(gateway.backend.calls, []);
});

test('a detachment of a dead node that the storage does not confirm fails, and a repeated one ends it', async t => {
  const gateway = await openAttached(t);
  gateway.backend.failNext('detach', 'before', new Problem('FAILED_PRECONDITION', 'in use (injected)'));
  await assert.rejects(gateway.detachDeadNode(b, 'n1'), {
    code: 'UNAVAILABLE',
    detail: 'could not detach 1 volume from node "n1": in use (injected)',
  });
  assert.deepEqual(await stateOf(gateway), ['b.one attached']);
  await assert.rejects(gateway.attach('b.one', 'n2', { capability }), { code: 'FAILED_PRECONDITION' });
  assert.equal((await gateway.nodes.get(b, 'n1')).isDead, true);
  await gateway.detachDeadNode(b, 'n1');
  assert.deepEqual(await stateOf(gateway), []);
});

test('a node from which no volume could be detached is not recorded as dead, and keeps its volumes', async t => {
  const gateway = await openAttached(t);
  const refuse = () => {
    for (let each = 0; each < 2; each++)
      gateway.backend.failNext('detach', 'before', new Problem('FAILED_PRECONDITION', 'in use (injected)'));
  };
  refuse();
  await assert.rejects(gateway.detachDeadNode(b, 'n1'), { code: 'UNAVAILABLE' });
  assert.deepEqual([await stateOf(gateway), await gateway.nodes.get(b, 'n1')], [bothAttached, { id: 'n1' }]);
  await gateway.attach('b.one', 'n1', { capability });
  // A failure that may still take effect keeps the record, and so does a volume that an earlier call detached.
  gateway.backend.failNext('detach', 'before', new Error('unreachable'));
  gateway.backend.failNext('detach', 'before', new Problem('FAILED_PRECONDITION', 'in use (injected)'));
  await assert.rejects(gateway.detachDeadNode(b, 'n1'), { code: 'UNAVAILABLE' });
  assert.equal((await gateway.nodes.get(b, 'n1')).isDead, true);
});

test('a node stays recorded as dead when another call has detached its volumes meanwhile', async t => {
  const gateway = await openAttached(t);
  let other: Promise<void> | undefined;
  const late = createDeadNodeDetachment({
    ...gateway,
    attachments: {
      async detachChosen() {
        await (other ??= gateway.detachDeadNode(b, 'n1'));
        throw new Problem('FAILED_PRECONDITION', 'in use (injected)');
      },
    },
  });
  await assert.rejects(late(b, 'n1'), { code: 'UNAVAILABLE' });
  assert.deepEqual(await stateOf(gateway), []);
  assert.equal((await gateway.nodes.get(b, 'n1')).isDead, true);
});

test('the volumes of a dead node are detached at the same time', async t => {
  const gateway = await openAttached(t);
  const both = Promise.withResolvers<void>();
  let count = 0;
  const detachDeadNode = createDeadNodeDetachment({
    ...gateway,
    attachments: {
      async detachChosen() {
        if (++count === 2) both.resolve();
        await both.promise;
      },
    },
  });
  await detachDeadNode(b, 'n1');
  assert.equal(count, 2);
});

test('only a cluster with deadNodes may detach its dead nodes', async t => {
  const gateway = await openAttached(t);
  assertProblem(await gateway.ask('PUT /v1/nodes/n9/detachment', { as: 'b' }), 404, 'NOT_FOUND');
  await gateway.nodes.put(clusters.a, 'n1', {});
  const refused = await gateway.ask('PUT /v1/nodes/n1/detachment', { as: 'a' });
  assertProblem(refused, 409, 'FAILED_PRECONDITION');
  assert.deepEqual(await stateOf(gateway), bothAttached);
  const { body } = await gateway.ask('GET /v1/capabilities', { as: 'b' });
  assert.deepEqual(body['deadNodes'], { afterMs: 60_000 });
  assert.equal((await gateway.ask('GET /v1/capabilities')).body['deadNodes'], undefined);
});

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createNodeDetachment } from '../../../../gateway/attachments/node-detachment.ts';
import { createPools } from '../../../../gateway/pools/pools.ts';
import { attachmentTable } from '../../../../gateway/tables/attachments.ts';
import { volumeTable } from '../../../../gateway/tables/volumes.ts';
import { preconditionProblem } from '../../../../src/api/problem.ts';
import { type Answer, assertProblem, clusters, type Gateway, openGateway } from '../../../harness/gateway.ts';
import { waitingPool } from '../../../harness/gateway/waiting-pool.ts';

const { a } = clusters;
const capability = { accessType: 'block', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
const request = { cluster: 'a', nodeId: 'n1' };

/** Opens a gateway with the volumes `a.one` and `a.two`, attached to `n1` of a, which a has deleted. */
async function openAttached(t: TestContext) {
  const gateway = await openGateway(t, { volumes: ['one', 'two'], nodes: ['n1'] });
  for (const volumeId of ['a.one', 'a.two']) await gateway.attach(volumeId, 'n1', { capability });
  await assert.rejects(gateway.nodes.delete(a, 'n1'), { code: 'FAILED_PRECONDITION' });
  gateway.backend.calls.length = 0;
  return gateway;
}

const ask = (gateway: Gateway, body: object = {}, nodeId = 'n1'): Promise<Answer> =>
  gateway.ask(`PUT /v1/admin/nodes/a/${nodeId}/detachment`, { as: 'operator', body });

async function stateOf({ engine }: Pick<Gateway, 'engine'>): Promise<readonly unknown[]> {
  return (await attachmentTable.select(engine.reader, request)).map(
    ({ volumeId, state }) => `${volumeId} ${state}`,
  );
}

test('while a pool is not open, the detachment of a node leaves its volumes alone and detaches the others', async t => {
  const gateway = await openAttached(t);
  await gateway.engine.transaction(sql => volumeTable.update(sql, { id: 'a.two' }, { pool: 'slow' }));
  const pools = createPools(
    () => gateway.pools.all(),
    () => [],
    () => new Map([['slow', waitingPool('pool "slow" is not open yet')]]),
  );
  const detachNode = createNodeDetachment({ ...gateway, pools });
  const ofSlow = /^could not detach 1 volume from node "n1": volume "a\.two": pool "slow" is not open yet$/;
  for (const [dryRun, left] of [
    [true, ['a.one attached', 'a.two attached']],
    [false, ['a.two attached']],
  ] as const) {
    const body = { force: false, dryRun };
    await assert.rejects(detachNode({ ...request, body }), { code: 'UNAVAILABLE', detail: ofSlow });
    assert.deepEqual(await stateOf(gateway), left);
  }
  const forced = await detachNode({ ...request, body: { force: true, dryRun: true } });
  assert.deepEqual([forced.total, forced.isCutOff], [1, false]);

  await t.test('it refuses all of them while a pod may use one', async () => {
    await gateway.nodes.put(a, 'n1', {});
    const body = { force: false, dryRun: false };
    await assert.rejects(detachNode({ ...request, body }), { code: 'FAILED_PRECONDITION' });
  });
});

test('a detachment of a node that fails in part still says that detached volumes are not cut off', async t => {
  const gateway = await openAttached(t);
  const fail = () => gateway.backend.failNext('detach', 'before', preconditionProblem('in use (injected)'));
  fail();
  const cutOff = await ask(gateway, { force: true });
  assertProblem(cutOff, 409, 'FAILED_PRECONDITION');
  assert.doesNotMatch(String(cutOff.body['detail']), /cannot cut/);
  await gateway.attach('a.two', 'n1', { capability });
  Object.assign(gateway.backend, { cannotCutOff: true });
  fail();
  const { body } = await ask(gateway, { force: true });
  assert.match(
    String(body['detail']),
    /^could not detach 1 volume from node "n1": volume "a\.one": .*; a pool cannot cut the node off: if it still runs/,
  );
  fail();
  // The only volume that is left was not detached.
  assert.doesNotMatch(String((await ask(gateway, { force: true })).body['detail']), /cannot cut/);
});

test('a detachment of a node reports a volume that was attached again meanwhile', async t => {
  const gateway = await openAttached(t);
  const { detach } = gateway.backend;
  gateway.backend.detach = async (...asked) => {
    await detach(...asked);
    gateway.backend.detach = detach;
    // Stands for another gateway, because the volume is busy here.
    await gateway.engine.transaction(async sql => {
      await attachmentTable.update(sql, { ...request, volumeId: 'a.two' }, { attachmentId: 'newer' });
    });
  };
  const refused = await ask(gateway, { force: true });
  assertProblem(refused, 409, 'ABORTED');
  assert.match(
    String(refused.body['detail']),
    /^could not detach 1 volume from node "n1": volume "a\.two": .* was attached to node "n1" again meanwhile; try again$/,
  );
  assert.deepEqual(await stateOf(gateway), ['a.two attached']);
});

test('the audit log has a refused detachment of a node, but not a dry run', async t => {
  const gateway = await openAttached(t);
  await gateway.nodes.put(a, 'n1', {});
  for (const dryRun of [true, false])
    assertProblem(await ask(gateway, { dryRun }), 409, 'FAILED_PRECONDITION');
  const query =
    "select kind, resource, code from audit_log where actor = 'operator' and operation = 'detach'";
  assert.deepEqual(
    (await gateway.engine.reader.all(query)).map(row => Object.values(row)),
    [['node', 'a/n1', 'FAILED_PRECONDITION']],
  );
});

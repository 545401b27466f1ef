import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { preconditionProblem, unavailableProblem } from '../../../../src/api/problem.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { clusters, endClaims, openGateway, mounted } from '../../../harness/gateway.ts';

const { a, b } = clusters;
const key = { cluster: { ...b, acceptAnyNode: true }, volumeId: 'a.one', nodeId: 'n1' };
const writing = { capability: mounted, readonly: false };
const revokeByForce = 'DELETE /v1/admin/volumes/a.one/grants/b?force=true';

/** Makes a gateway die while it shuts `b`, which has `a.one` attached, out by force; returns the next gateway. */
async function openAfterDeath(t: TestContext, point: 'before-intent' | 'after-intent' | 'before-answer') {
  const dying = await openGateway(t, {
    checkpoint(step) {
      if (step.operation === 'detach' && step.point === point) void dying.engine.close();
    },
  });
  await dying.create('a.one');
  await dying.sharing.grant({ volumeId: 'a.one', grantee: 'b' }, { access: 'read-write' });
  await dying.attachments.attach(key, writing);
  assert.equal((await dying.ask(revokeByForce, { as: 'operator' })).status, 503);
  const next = await dying.replica({ checkpoint: () => undefined });
  await endClaims(next);
  return next;
}

for (const point of ['before-intent', 'after-intent', 'before-answer'] as const)
  test(`the next gateway completes a forced revocation after one that died at ${point} of a detach`, async t => {
    const next = await openAfterDeath(t, point);
    await next.recovery.sweep();
    await assert.rejects(next.volumes.get(b, 'a.one'), { code: 'NOT_FOUND' });
    assert.deepEqual((await next.volumes.get(a, 'a.one')).grants, undefined);
    assert.deepEqual(await next.engine.reader.all('select * from attachments'), []);
    assert.equal(await next.recovery.sweep(), 0);
    await next.volumes.delete(a, 'a.one');
  });

test('a sweep that cannot reach the storage admits nobody, and the next one continues', async t => {
  const next = await openAfterDeath(t, 'before-intent');
  next.backend.failNext('detach', 'before', unavailableProblem('unreachable (injected)'));
  await next.recovery.sweep();
  await assert.rejects(next.attachments.attach({ ...key, nodeId: 'n2' }, writing), {
    code: 'FAILED_PRECONDITION',
  });
  const isDone = async () => (await next.recovery.sweep()) === 0 || undefined;
  assert.ok(await poll(isDone, { everyMs: 10, timeoutMs: 30_000 }));
  await assert.rejects(next.volumes.get(b, 'a.one'), { code: 'NOT_FOUND' });
});

test('a cluster that a sweep cannot shut out keeps its grant', async t => {
  const next = await openAfterDeath(t, 'before-intent');
  next.backend.failNext('detach', 'before', preconditionProblem('in use (injected)'));
  assert.equal(await next.recovery.sweep(), 1);
  assert.equal(await next.recovery.sweep(), 0);
  assert.equal((await next.attachments.get(key)).state, 'attached');
  assert.equal((await next.attachments.attach(key, writing)).created, false);
});

test("a volume that is shared anew while a sweep continues its revocation stays shared, and so does its gateway's restored access", async t => {
  const next = await openAfterDeath(t, 'before-intent');
  const grant = { volumeId: 'a.one', grantee: 'b' };
  await next.sharing.finishRevoking(grant, async () => {
    await next.attachments.detach(key);
    await next.sharing.grant(grant, { access: 'read-write' });
  });
  assert.equal((await next.volumes.get(b, 'a.one')).state, 'ready');
  assert.equal((await next.attachments.attach(key, writing)).created, true);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAttachments, putAttachment } from '../../../../gateway/tables/attachments.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';
import { prepare, refused, volumeId } from '../watched-volume.ts';

test('an old way that the storage refuses to close leaves all as it was, for a retry to find', async t => {
  const { attach, backend, ways, attachments, gateway } = await prepare(t);
  await attach('n1@9');
  const before = await gateway.volumes.get('a', volumeId);
  backend.failNext('detach', 'before', new Problem('FAILED_PRECONDITION', 'still in use'));
  const says =
    'volume "a.pvc-1" is still attached to node "n1@9", whose place node "n1@10" took: still in use';
  await assert.rejects(attach('n1@10'), refused('UNAVAILABLE', says));
  assert.deepEqual(await gateway.volumes.get('a', volumeId), before);
  assert.equal(await gateway.recovery.sweep(), 0);
  assert.deepEqual(ways, ['attach n1@9']);
  await attach('n1@10');
  assert.deepEqual(await attachments(), ['n1@10 attached']);
});

for (const moment of ['before', 'after'] as const) {
  test(`an old way of which nobody knows whether it is closed (lost ${moment}) gives way to nothing, and the sweep goes on`, async t => {
    const { attach, backend, ways, attachments, gateway } = await prepare(t);
    await attach('n1@9');
    backend.failNext('detach', moment, new Error('connection reset'));
    await assert.rejects(attach('n1@10'), isProblemThat('UNAVAILABLE', /still attached to node "n1@9"/));
    assert.deepEqual(await attachments(), ['n1@10 attaching', 'n1@9 detaching']);
    assert.ok(!ways.includes('attach n1@10'));
    await assert.rejects(attach('n2'), isProblemThat('FAILED_PRECONDITION', /attached to node "n1@/));
    assert.equal(await gateway.recovery.sweep(), 1);
    assert.deepEqual(await attachments(), ['n1@10 attached']);
    assert.equal(await gateway.recovery.sweep(), 0);
    assert.deepEqual(ways.slice(-2), ['detach n1@9', 'attach n1@10']);
  });
}

test('what was closed is known to be closed, though the new way was refused for good', async t => {
  const { attach, backend, attachments } = await prepare(t);
  await attach('n1@9');
  backend.failNext('attach', 'before', new Problem('RESOURCE_EXHAUSTED', 'no more targets'));
  await assert.rejects(attach('n1@10'), refused('RESOURCE_EXHAUSTED', 'no more targets'));
  assert.deepEqual(await attachments(), []);
  await attach('n2');
});

test('of two old machines the one that was detached is so for good, though the other is in use', async t => {
  const { attach, inUse, attachments, gateway } = await prepare(t);
  await attach('n1@7');
  await gateway.engine.transaction(async sql => {
    for (const old of await findAttachments(sql, volumeId))
      await putAttachment(sql, { ...old, nodeId: 'n1@8' });
  });
  inUse.add('n1@8');
  await assert.rejects(attach('n1@9'), isProblemThat('UNAVAILABLE', /attached to node "n1@8", whose place/));
  assert.deepEqual(await attachments(), ['n1@8 attached']);
  inUse.clear();
  await attach('n1@9');
  assert.deepEqual(await attachments(), ['n1@9 attached']);
});

test('the sweep undoes an attach that was begun for a machine whose place is taken', async t => {
  const { attach, backend, ways, attachments, gateway } = await prepare(t);
  backend.failNext('attach', 'after', new Error('connection reset'));
  await assert.rejects(attach('n1@9'), isProblem('UNAVAILABLE'));
  await gateway.nodes.put('a', 'n1@10', {});
  assert.equal(await gateway.recovery.sweep(), 1);
  assert.deepEqual(ways, ['attach n1@9', 'detach n1@9']);
  assert.deepEqual(await attachments(), []);
});

test('a gateway whose work was taken over while it closed the old way does not open the new one', async t => {
  const { attach, backend, gateway, ways } = await prepare(t);
  await attach('n1@9');
  const release = backend.hold('detach');
  const attaching = attach('n1@10');
  await backend.entered('detach');
  await gateway.engine.transaction(sql => sql.run("update volumes set claim_owner = 'another'"));
  release();
  await assert.rejects(attaching, isProblemThat('ABORTED', /was taken over$/));
  assert.deepEqual(ways, ['attach n1@9', 'detach n1@9']);
});

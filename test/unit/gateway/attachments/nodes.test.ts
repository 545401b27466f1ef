import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusters, makeGateway, mounted, volumeSpec } from '../../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';

test('a node is as it was told last, with nothing left of what was told before', async t => {
  const { nodes } = await makeGateway(t);
  const first = { maxVolumes: 3, topology: { zone: 'z1' } };
  assert.deepEqual(await nodes.put(clusters.a, 'n1', first), { node: { id: 'n1', ...first }, created: true });
  assert.deepEqual(await nodes.put(clusters.a, 'n1', { maxVolumes: 4 }), {
    node: { id: 'n1', maxVolumes: 4 },
    created: false,
  });
  assert.deepEqual(await nodes.get(clusters.a, 'n1'), { id: 'n1', maxVolumes: 4 });
});

test('the same node of two clusters is two nodes', async t => {
  const { nodes } = await makeGateway(t);
  await nodes.put(clusters.a, 'n1', { maxVolumes: 1 });
  await nodes.put(clusters.b, 'n1', { maxVolumes: 2 });
  await nodes.delete(clusters.a, 'n1');
  await assert.rejects(nodes.get(clusters.a, 'n1'), isProblem('NOT_FOUND'));
  assert.equal((await nodes.get(clusters.b, 'n1')).maxVolumes, 2);
});

test('a node with volumes is not deleted, and the message names one', async t => {
  const { nodes, volumes, attachments } = await makeGateway(t);
  await nodes.put(clusters.a, 'n1', {});
  await volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'));
  const key = { cluster: clusters.a, volumeId: 'a.pvc-1', nodeId: 'n1' };
  await attachments.attach(key, { capability: mounted, readonly: false });
  await assert.rejects(
    nodes.delete(clusters.a, 'n1'),
    isProblemThat('FAILED_PRECONDITION', /^node "n1" still has 1 volumes attached, such as "a.pvc-1"$/),
  );
  await attachments.detach(key);
  await nodes.delete(clusters.a, 'n1');
  await nodes.delete(clusters.a, 'n1');
});

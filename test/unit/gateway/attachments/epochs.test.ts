import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem, volumeSpec } from '../../../harness/gateway-harness.ts';
import { isProblemThat } from '../../../harness/gateway-problems.ts';
import { cluster, prepare, refused, volumeId, writing } from '../watched-volume.ts';

for (const old of ['n1@9', 'n1']) {
  test(`attaching to what took the place of ${old} closes the old way before it opens the new one`, async t => {
    const { attach, ways, attachments } = await prepare(t);
    const before = await attach(old);
    const after = await attach('n1@10');
    assert.deepEqual(ways, [`attach ${old}`, `detach ${old}`, 'attach n1@10']);
    assert.deepEqual(await attachments(), ['n1@10 attached']);
    assert.notEqual(after?.attachmentId, before?.attachmentId);
    assert.deepEqual(await attach('n1@10'), after);
    assert.equal(ways.length, 3);
  });

  test(`a late call for ${old} takes the volume from nobody, and is told who has it`, async t => {
    const { attach, ways, attachments } = await prepare(t);
    await attach('n1@10');
    const says = `volume "a.pvc-1" is attached to node "n1@10", which took the place of node "${old}"`;
    await assert.rejects(attach(old), refused('FAILED_PRECONDITION', says));
    assert.deepEqual(ways, ['attach n1@10']);
    assert.deepEqual(await attachments(), ['n1@10 attached']);
  });

  test(`${old} is not attached to, attached before or not, once the cluster has told of what took its place`, async t => {
    const { attach, detach, gateway, ways } = await prepare(t);
    await attach(old);
    await gateway.nodes.put('a', 'n1@10', {});
    const isRefused = refused('FAILED_PRECONDITION', `node "n1@10" took the place of node "${old}"`);
    await assert.rejects(attach(old), isRefused);
    await detach(old);
    await assert.rejects(attach(old), isRefused);
    await gateway.nodes.delete('a', 'n1@10');
    await attach(old);
    assert.deepEqual(ways, [`attach ${old}`, `detach ${old}`, `attach ${old}`]);
  });

  test(`a detach from what took the place of ${old} closes what is left of ${old}`, async t => {
    const { attach, detach, ways, attachments } = await prepare(t);
    await attach(old);
    await detach('n1@10');
    assert.deepEqual(ways, [`attach ${old}`, `detach ${old}`]);
    assert.deepEqual(await attachments(), []);
  });

  test(`a late detach from ${old} leaves what took its place alone`, async t => {
    const { attach, detach, ways } = await prepare(t);
    await attach('n1@10');
    await detach(old);
    assert.deepEqual(ways, ['attach n1@10']);
  });
}

test('nodes whose names are only alike, or of another cluster, take nobody its place', async t => {
  const { attach, detach, gateway } = await prepare(t);
  await gateway.nodes.put('b', 'n1@11', {});
  for (const other of ['n2@1', 'n11@1', 'n1@x', 'n1@01', 'n1@10@11']) {
    await gateway.nodes.put('a', other, {});
    await attach(other);
    await assert.rejects(
      attach('n1@10'),
      refused('FAILED_PRECONDITION', `volume "a.pvc-1" is attached to node "${other}"`),
    );
    await detach(other);
  }
  await attach('n1@10');
});

test('of the nodes that share a volume only the one whose place was taken loses it', async t => {
  const { attach, ways, attachments } = await prepare(t);
  const capability = { accessType: 'block', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
  const sharing = { ...writing, capability };
  for (const nodeId of ['n1@9', 'n2@9', 'n3']) await attach(nodeId, sharing);
  await attach('n1@10', sharing);
  assert.deepEqual(await attachments(), ['n1@10 attached', 'n2@9 attached', 'n3 attached']);
  assert.deepEqual(ways.slice(3), ['detach n1@9', 'attach n1@10']);
});

test('a full node is full, whatever it took the place of, and then nothing is closed', async t => {
  const { attach, gateway, ways, attachments } = await prepare(t);
  await attach('n1@9');
  await gateway.nodes.put('a', 'n1@10', { maxVolumes: 1 });
  await gateway.volumes.create('a', 'a.pvc-2', volumeSpec('pvc-2'));
  await gateway.attachments.attach({ cluster, volumeId: 'a.pvc-2', nodeId: 'n1@10' }, writing);
  await assert.rejects(
    attach('n1@10'),
    refused('RESOURCE_EXHAUSTED', 'node "n1@10" has 1 volumes attached, and takes no more than 1'),
  );
  assert.deepEqual(ways, ['attach n1@9', 'attach n1@10']);
  assert.deepEqual(await attachments(), ['n1@9 attached']);
});

test('two that attach to the new machine at once are one, and what the old one asks meanwhile is ABORTED', async t => {
  const { attach, backend, ways } = await prepare(t);
  await attach('n1@9');
  const release = backend.hold('detach');
  const both = [attach('n1@10'), attach('n1@10')];
  await backend.entered('detach');
  await assert.rejects(attach('n1@9'), isProblemThat('ABORTED', /is busy: attach runs/));
  release();
  const [one, other] = await Promise.all(both);
  assert.deepEqual(one, other);
  assert.deepEqual(ways, ['attach n1@9', 'detach n1@9', 'attach n1@10']);
});

test('over HTTP a node id may have its epoch as it is or escaped, and the late call is 409', async t => {
  const { gateway, ways } = await prepare(t);
  const path = `/v1/volumes/${volumeId}/attachments`;
  for (const nodeId of ['n1@9', 'n1@10']) {
    const { status } = await gateway.ask(`PUT /v1/nodes/${encodeURIComponent(nodeId)}`, { body: {} });
    assert.equal(status, 201);
    if (nodeId === 'n1@9')
      assert.equal((await gateway.ask(`PUT ${path}/${nodeId}`, { body: writing })).status, 201);
  }
  const late = await gateway.ask(`PUT ${path}/n1@9`, { body: writing });
  assertProblem(late, 409, 'FAILED_PRECONDITION');
  const { status, body } = await gateway.ask(`PUT ${path}/n1%4010`, { body: writing });
  assert.deepEqual([status, body['nodeId'], body['state']], [201, 'n1@10', 'attached']);
  assert.deepEqual((await gateway.ask(`GET /v1/volumes/${volumeId}`)).body['attachments'], [
    { nodeId: 'n1@10', state: 'attached', readonly: false },
  ]);
  assert.equal((await gateway.ask(`DELETE ${path}/n1@11`)).status, 204);
  assert.deepEqual(ways, ['attach n1@9', 'detach n1@9', 'attach n1@10', 'detach n1@10']);
});

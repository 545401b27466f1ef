import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Problem } from '../../src/api/problem.ts';
import type { AttachmentResource, AttachmentSpec } from '../../src/api/resources.ts';
import { createFaultyBackend, type FaultyBackend } from './faulty-backend.ts';
import { assertProblem, makeGateway, mounted, openMemory, volumeSpec, type Gateway } from './harness.ts';
import { isProblem, isProblemThat } from './problems.ts';

const cluster = { name: 'a', acceptAnyNode: true };
const writing: AttachmentSpec = { capability: mounted, readonly: false };
const sharing: AttachmentSpec = {
  ...writing,
  capability: { ...mounted, accessMode: 'MULTI_NODE_MULTI_WRITER' },
};

for (const old of ['n1@9', 'n1']) {
  test(`attaching to what took the place of ${old} closes the old way before it opens the new one`, async t => {
    const { attach, ways, attachments } = await prepare(t);
    const before = await attach(old);
    const after = await attach('n1@10');
    assert.deepEqual(ways, [`attach ${old}`, `detach ${old}`, 'attach n1@10']);
    assert.deepEqual(await attachments(), ['n1@10 attached']);
    assert.notEqual(after.attachment?.attachmentId, before.attachment?.attachmentId);
    assert.deepEqual(await attach('n1@10'), after);
    assert.equal(ways.length, 3);
  });

  test(`a late call for ${old} takes the volume from nobody, and names who has it`, async t => {
    const { attach, ways, attachments } = await prepare(t);
    await attach('n1@10');
    const says = `volume "a.pvc-1" is attached to node "n1@10", which took the place of node "${old}"`;
    await assert.rejects(attach(old), isProblemThat('FAILED_PRECONDITION', exactly(says)));
    assert.deepEqual(ways, ['attach n1@10']);
    assert.deepEqual(await attachments(), ['n1@10 attached']);
  });

  test(`${old} is not attached to once the cluster has told of what took its place`, async t => {
    const { attach, gateway, ways } = await prepare(t);
    for (const nodeId of ['n1@8', 'n1@next', 'n11@10', 'n1@10@11']) await gateway.nodes.put('a', nodeId, {});
    await gateway.nodes.put('b', 'n1@10', {});
    await attach('n1@9');
    await gateway.nodes.put('a', 'n1@10', {});
    const says = `node "n1@10" took the place of node "n1@9"`;
    await assert.rejects(attach('n1@9'), isProblemThat('FAILED_PRECONDITION', exactly(says)));
    await attach('n1@10');
    assert.deepEqual(ways, ['attach n1@9', 'detach n1@9', 'attach n1@10']);
  });
}

test('other nodes are no older machines, though their names are alike', async t => {
  const { attach, ways } = await prepare(t);
  for (const other of ['n2@1', 'n11@1', 'n1@x', 'n1@01']) {
    const { detach } = await prepare(t);
    await attach(other);
    await assert.rejects(
      attach('n1@10'),
      isProblemThat('FAILED_PRECONDITION', exactly(`volume "a.pvc-1" is attached to node "${other}"`)),
    );
    await detach(other);
    assert.equal(ways.pop(), `attach ${other}`);
    break;
  }
});

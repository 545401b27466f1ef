import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Attachments } from '../../../../gateway/attachments/attachments.ts';
import { Problem } from '../../../../src/api/problem.ts';
import type { AccessMode } from '../../../../src/api/storage.ts';
import type { AttachmentResource, AttachmentSpec } from '../../../../src/api/node.ts';
import { createFaultyBackend, type FaultyBackend } from '../faulty-backend.ts';
import {
  clusters,
  makeGateway,
  mounted,
  openMemory,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';

const cluster = clusters.a;
const writing: AttachmentSpec = { capability: mounted, readonly: false };

test('attachVolume tells how the node reaches the volume, and the same again', async t => {
  const { attach } = await prepare(t);
  const { attachment, created } = await attach('n1');
  assert.equal(created, true);
  assert.equal(attachment.state, 'attached');
  assert.equal(attachment.attachment?.sizeBytes, 2 ** 20);
  assert.equal(attachment.attachment?.readonly, false);
  assert.equal(attachment.attachment?.mayFormat, true);
  assert.ok(attachment.attachment?.attachmentId);
  assert.deepEqual(await attach('n1'), { attachment, created: false });
});

test('each time that a volume is attached it has another attachment id', async t => {
  const { attach, detach } = await prepare(t);
  const first = (await attach('n1')).attachment.attachment?.attachmentId;
  await detach('n1');
  assert.notEqual((await attach('n1')).attachment.attachment?.attachmentId, first);
});

test('a mode for readers makes the attachment read-only', async t => {
  const { attach } = await prepare(t);
  const capability = { ...mounted, accessMode: 'SINGLE_NODE_READER_ONLY' as const };
  const { attachment } = await attach('n1', { capability, readonly: false });
  assert.equal(attachment.readonly, true);
  assert.equal(attachment.attachment?.readonly, true);
});

const incompatible = [
  { name: 'read-only', spec: { ...writing, readonly: true }, says: /is attached to node "n1" for writing/ },
  {
    name: 'another capability',
    spec: { ...writing, capability: { ...mounted, accessType: 'block' as const } },
    says: /is attached to node "n1" with another capability/,
  },
];
for (const { name, spec, says } of incompatible) {
  test(`attachVolume to the same node, ${name}, is ALREADY_EXISTS`, async t => {
    const { attach } = await prepare(t);
    await attach('n1');
    await assert.rejects(attach('n1', spec), isProblemThat('ALREADY_EXISTS', says));
  });
}

test('attachVolume to a second node names the first', async t => {
  const { attach, backend } = await prepare(t);
  await attach('n1');
  await assert.rejects(
    attach('n2'),
    isProblemThat('FAILED_PRECONDITION', /^volume "a.pvc-1" is attached to node "n1"$/),
  );
  assert.deepEqual(backend.calls, ['attach a.pvc-1']);
});

const shared: readonly { first: Side; second: Side; together: boolean }[] = [
  { first: ['MULTI_NODE_MULTI_WRITER', false], second: ['MULTI_NODE_MULTI_WRITER', false], together: true },
  { first: ['MULTI_NODE_READER_ONLY', true], second: ['MULTI_NODE_READER_ONLY', false], together: true },
  { first: ['MULTI_NODE_MULTI_WRITER', false], second: ['MULTI_NODE_READER_ONLY', true], together: true },
  { first: ['MULTI_NODE_SINGLE_WRITER', false], second: ['MULTI_NODE_SINGLE_WRITER', true], together: true },
  {
    first: ['MULTI_NODE_SINGLE_WRITER', false],
    second: ['MULTI_NODE_SINGLE_WRITER', false],
    together: false,
  },
  { first: ['MULTI_NODE_SINGLE_WRITER', false], second: ['MULTI_NODE_READER_ONLY', true], together: false },
  { first: ['SINGLE_NODE_READER_ONLY', true], second: ['SINGLE_NODE_READER_ONLY', true], together: false },
  { first: ['SINGLE_NODE_WRITER', true], second: ['SINGLE_NODE_WRITER', true], together: false },
  { first: ['SINGLE_NODE_MULTI_WRITER', false], second: ['MULTI_NODE_MULTI_WRITER', false], together: false },
];
type Side = readonly [mode: AccessMode, readonly: boolean];
for (const { first, second, together } of shared) {
  test(`${first.join(' readonly:')} and ${second.join(' readonly:')} ${together ? 'go' : 'do not go'} together`, async t => {
    const { attach } = await prepare(t);
    await attach('n1', specOf(first));
    const attaching = attach('n2', specOf(second));
    if (together) assert.equal((await attaching).attachment.state, 'attached');
    else await assert.rejects(attaching, isProblem('FAILED_PRECONDITION'));
  });
}

test('a filesystem that several nodes write to is refused, but where volumes are shares', async t => {
  for (const areShares of [undefined, true] as const) {
    const capability = { ...mounted, accessMode: 'MULTI_NODE_MULTI_WRITER' as const };
    const backend = { ...(await openMemory()), ...(areShares && { areShares }) };
    const { volumes, attachments, nodes } = await makeGateway(t, { backend });
    await nodes.put(clusters.a, 'n1', {});
    await volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'));
    const spec = volumeSpec('pvc-2', {
      capabilities: [mounted, { ...capability, accessType: 'block' }, capability],
    });
    const key = { cluster, volumeId: 'a.pvc-1', nodeId: 'n1' };
    const { confirmed } = await volumes.validate(clusters.a, 'a.pvc-1', { capabilities: [capability] });
    assert.equal(confirmed, areShares === true);
    const asked = [
      volumes.create(clusters.a, 'a.pvc-2', spec),
      attachments.attach(key, { capability, readonly: false }),
    ];
    if (areShares) await Promise.all(asked);
    else for (const one of asked) await assert.rejects(one, isProblemThat('INVALID_ARGUMENT', /type mount$/));
  }
});

test('attachVolume looks for the volume, then for the node', async t => {
  const { gateway, attach } = await prepare(t);
  const unknown = { cluster, volumeId: 'a.never', nodeId: 'nowhere' };
  await assert.rejects(gateway.attachments.attach(unknown, writing), isProblemThat('NOT_FOUND', /"a.never"/));
  await assert.rejects(attach('nowhere'), isProblemThat('NOT_FOUND', /no node "nowhere"/));
});

test('a cluster may be set to accept any node', async t => {
  const { gateway } = await prepare(t);
  const key = { cluster: { ...clusters.a, acceptAnyNode: true }, volumeId: 'a.pvc-1', nodeId: 'nowhere' };
  assert.equal((await gateway.attachments.attach(key, writing)).created, true);
});

test('a volume that is not ready is ABORTED', async t => {
  const { gateway, backend } = await prepare(t);
  backend.failNext('create', 'before', new Error('unreachable'));
  await assert.rejects(gateway.volumes.create(clusters.a, 'a.half', volumeSpec('half')));
  const key = { cluster, volumeId: 'a.half', nodeId: 'n1' };
  await assert.rejects(gateway.attachments.attach(key, writing), isProblemThat('ABORTED', /it is creating/));
});

test('a full node is RESOURCE_EXHAUSTED, and has space again after a detach', async t => {
  const { gateway, attach, detach } = await prepare(t);
  await gateway.nodes.put(clusters.a, 'small', { maxVolumes: 1 });
  await gateway.volumes.create(clusters.a, 'a.pvc-2', volumeSpec('pvc-2'));
  await attach('small');
  const second = { cluster, volumeId: 'a.pvc-2', nodeId: 'small' };
  await assert.rejects(
    gateway.attachments.attach(second, writing),
    isProblemThat('RESOURCE_EXHAUSTED', /node "small" has 1 volumes attached, and takes no more than 1/),
  );
  assert.equal((await attach('small')).created, false);
  await detach('small');
  assert.equal((await gateway.attachments.attach(second, writing)).created, true);
});

test('detachVolume is fine with what is unknown, foreign, or not attached', async t => {
  const { gateway, detach, backend } = await prepare(t);
  await detach('n1');
  await detach('nowhere');
  await detach();
  for (const volumeId of ['a.never', 'b.pvc-1', 'malformed', ''])
    await gateway.attachments.detach({ cluster, volumeId, nodeId: 'n1' });
  assert.deepEqual(backend.calls, []);
});

test('detachVolume without a node detaches from all', async t => {
  const { attach, detach, gateway, backend } = await prepare(t);
  const sharing = specOf(['MULTI_NODE_MULTI_WRITER', false]);
  await attach('n1', sharing);
  await attach('n2', sharing);
  await detach();
  assert.deepEqual((await gateway.volumes.get(clusters.a, 'a.pvc-1')).attachments, []);
  assert.deepEqual(backend.calls.slice(2), ['detach a.pvc-1', 'detach a.pvc-1']);
});

test('a detach that the storage refuses leaves the volume attached, with the same context', async t => {
  const { attach, detach, gateway, backend } = await prepare(t);
  const { attachment } = await attach('n1');
  backend.failNext('detach', 'before', new Problem('FAILED_PRECONDITION', 'still in use'));
  await assert.rejects(detach('n1'), isProblem('FAILED_PRECONDITION'));
  const { attachments } = await gateway.volumes.get(clusters.a, 'a.pvc-1');
  assert.deepEqual(attachments, [{ nodeId: 'n1', state: 'attached', readonly: false }]);
  assert.deepEqual((await attach('n1')).attachment, attachment);
  await assert.rejects(attach('n2'), isProblemThat('FAILED_PRECONDITION', /"n1"/));
  await assert.rejects(gateway.volumes.delete(clusters.a, 'a.pvc-1'), isProblem('FAILED_PRECONDITION'));
  await detach('n1');
  assert.equal((await attach('n2')).created, true);
});

test('a volume that was attached as a writable raw device is never formatted from then on', async t => {
  const { attach, detach } = await prepare(t);
  assert.equal((await attach('n1')).attachment.attachment?.mayFormat, true);
  await detach('n1');
  const block = {
    capability: { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' },
    readonly: false,
  } as const;
  const raw = await attach('n1', block);
  assert.equal(raw.attachment.attachment?.mayFormat, false);
  assert.deepEqual((await attach('n1', block)).attachment, raw.attachment);
  await detach('n1');
  assert.equal((await attach('n1')).attachment.attachment?.mayFormat, false);
});

test('a detach that did not end can be followed by attaching to the same node', async t => {
  const { attach, detach, backend } = await prepare(t);
  await attach('n1');
  backend.failNext('detach', 'before', new Error('unreachable'));
  await assert.rejects(detach('n1'), isProblem('UNAVAILABLE'));
  assert.equal((await attach('n1')).attachment.state, 'attached');
});

test('an attach that did not end goes on with the same attachment id, or is detached', async t => {
  const { attach, detach, gateway, backend } = await prepare(t);
  const ids: string[] = [];
  const inner = backend.attach.bind(backend);
  backend.attach = (volume, access) => {
    ids.push(access.attachmentId);
    return inner(volume, access);
  };
  backend.failNext('attach', 'after', new Error('the answer was lost'));
  await assert.rejects(attach('n1'), isProblem('UNAVAILABLE'));
  await assert.rejects(attach('n2'), isProblem('FAILED_PRECONDITION'));
  await attach('n1');
  assert.equal(new Set(ids).size, 1);
  backend.failNext('attach', 'after', new Error('the answer was lost'));
  await detach('n1');
  await assert.rejects(attach('n1'), isProblem('UNAVAILABLE'));
  await detach('n1');
  assert.deepEqual((await gateway.volumes.get(clusters.a, 'a.pvc-1')).attachments, []);
});

test('an attach that the storage refused for good leaves nothing', async t => {
  const { attach, gateway, backend } = await prepare(t);
  backend.failNext('attach', 'before', new Problem('RESOURCE_EXHAUSTED', 'no more targets'));
  await assert.rejects(attach('n1'), isProblem('RESOURCE_EXHAUSTED'));
  assert.deepEqual((await gateway.volumes.get(clusters.a, 'a.pvc-1')).attachments, []);
});

test('a volume that is attached is not deleted, and nothing of it changes', async t => {
  const { attach, gateway, backend } = await prepare(t);
  await attach('n1');
  const before = await gateway.volumes.get(clusters.a, 'a.pvc-1');
  await assert.rejects(
    gateway.volumes.delete(clusters.a, 'a.pvc-1'),
    isProblemThat('FAILED_PRECONDITION', /^volume "a.pvc-1" is attached to node "n1"$/),
  );
  assert.deepEqual(await gateway.volumes.get(clusters.a, 'a.pvc-1'), before);
  assert.deepEqual(backend.calls, ['attach a.pvc-1']);
});

test('of a delete and an attach at once one wins and the other gets a clean error', async t => {
  const { gateway } = await prepare(t);
  for (let i = 0; i < 10; i++) {
    const volumeId = `a.race-${i}`;
    await gateway.volumes.create(clusters.a, volumeId, volumeSpec(`race-${i}`));
    const racing = [
      () => gateway.volumes.delete(clusters.a, volumeId),
      () => gateway.attachments.attach({ cluster, volumeId, nodeId: 'n1' }, writing),
    ];
    const outcomes = await Promise.allSettled((i % 2 ? racing : racing.toReversed()).map(run => run()));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        assert.ok(isProblem('ABORTED', 'NOT_FOUND', 'FAILED_PRECONDITION')(outcome.reason));
  }
});

test('attachVolume refuses what can be no node id', async t => {
  const { attach } = await prepare(t);
  for (const nodeId of ['', 'x'.repeat(257), 'ä'.repeat(129), 'a\nb', '\0'])
    await assert.rejects(attach(nodeId), isProblem('INVALID_ARGUMENT'), JSON.stringify(nodeId));
});

function specOf([accessMode, readonly]: Side): AttachmentSpec {
  return { capability: { accessType: 'block', accessMode }, readonly };
}

type Prepared = {
  readonly gateway: Gateway;
  readonly backend: FaultyBackend;
  attach(nodeId: string, spec?: AttachmentSpec): ReturnType<Attachments['attach']>;
  detach(nodeId?: string): Promise<void>;
};

/** A gateway with the volume a.pvc-1 and the nodes n1 and n2; calls from before are not counted. */
async function prepare(t: TestContext): Promise<Prepared> {
  const backend = createFaultyBackend(await openMemory());
  const gateway = await makeGateway(t, { backend });
  await gateway.volumes.create(clusters.a, 'a.pvc-1', volumeSpec('pvc-1'));
  for (const nodeId of ['n1', 'n2']) await gateway.nodes.put(clusters.a, nodeId, {});
  backend.calls.splice(0);
  return {
    gateway,
    backend,
    attach: (nodeId, spec = writing): Promise<{ attachment: AttachmentResource; created: boolean }> =>
      gateway.attachments.attach({ cluster, volumeId: 'a.pvc-1', nodeId }, spec),
    detach: nodeId =>
      gateway.attachments.detach({ cluster, volumeId: 'a.pvc-1', ...(nodeId !== undefined && { nodeId }) }),
  };
}

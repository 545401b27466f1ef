import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Problem } from '../../../../src/api/problem.ts';
import { accessModes, type AccessMode } from '../../../../src/api/storage.ts';
import type { Cluster } from '../../../../gateway/callers/cluster.ts';
import type { AttachmentSpec } from '../../../../src/api/node.ts';
import { clusters, openGateway, mounted, volumeSpec } from '../../../harness/gateway.ts';

const cluster = clusters.a;
const volumeId = 'a.pvc-1';
const writing: AttachmentSpec = { capability: mounted, readonly: false };
const block: AttachmentSpec = { ...writing, capability: { ...mounted, accessType: 'block' } };

/** Opens a gateway with the volume a.pvc-1 and the nodes n1 and n2. */
async function open(t: TestContext) {
  const gateway = await openGateway(t, { volumes: ['pvc-1'], nodes: ['n1', 'n2'] });
  const { attachments, volumes } = gateway;
  return {
    ...gateway,
    attach: (nodeId: string, spec = writing) => attachments.attach({ cluster, volumeId, nodeId }, spec),
    detach: (nodeId?: string) => attachments.detach({ cluster, volumeId, nodeId }),
    attached: async () => (await volumes.get(cluster, volumeId)).attachments,
  };
}

test("attachVolume returns the volume's attachment, and the same again, with a new id for each attachment", async t => {
  const { attach, detach } = await open(t);
  const { attachment, created } = await attach('n1');
  assert.equal(created, true);
  const { attachmentId } = attachment.attachment ?? {};
  const way = { sizeBytes: 2 ** 20, readonly: false, mayFormat: true };
  assert.partialDeepStrictEqual(attachment, { state: 'attached', attachment: way });
  assert.deepEqual(await attach('n1'), { attachment, created: false });
  await detach('n1');
  const { attachment: next } = await attach('n1');
  assert.ok(attachmentId && next.attachment && next.attachment.attachmentId !== attachmentId);
});

test('a mode for readers makes the attachment read-only', async t => {
  const { attach } = await open(t);
  const capability = { ...mounted, accessMode: 'SINGLE_NODE_READER_ONLY' as const };
  const { attachment } = await attach('n1', { capability, readonly: false });
  assert.deepEqual([attachment.readonly, attachment.attachment?.readonly], [true, true]);
});

for (const [name, spec, says] of [
  ['read-only', { ...writing, readonly: true }, /is attached to node "n1" for writing/],
  ['another capability', block, /is attached to node "n1" with another capability/],
] as const)
  test(`attachVolume to the same node, ${name}, is ALREADY_EXISTS`, async t => {
    const { attach } = await open(t);
    await attach('n1');
    await assert.rejects(attach('n1', spec), { code: 'ALREADY_EXISTS', detail: says });
  });

test('a second node and a deletion learn where a volume is attached, and change nothing', async t => {
  const { attach, attached, volumes, backend } = await open(t);
  await attach('n1');
  const held = { code: 'FAILED_PRECONDITION', detail: /^volume "a.pvc-1" is attached to node "n1"$/ };
  await assert.rejects(attach('n2'), held);
  await assert.rejects(volumes.delete(cluster, volumeId), held);
  assert.deepEqual(await attached(), [{ nodeId: 'n1', state: 'attached', readonly: false }]);
  assert.deepEqual(backend.calls, ['attach a.pvc-1']);
});

/**
 * Opens a gateway whose storage accepts the writes of readers that may replay a journal, with the volume a.one for
 * clusters a and b.
 */
async function openReplaying(t: TestContext) {
  const gateway = await openGateway(t, {
    own: memory => ({
      accessModes,
      attach: async (volume, access) => ({
        ...(await memory.attach(volume, access)),
        ...(access.mayReplay && { mayReplay: true }),
      }),
    }),
    volumes: ['one'],
    nodes: ['n1', 'n2'],
  });
  const { nodes, attachments } = gateway;
  for (const nodeId of ['n1', 'n2']) await nodes.put(clusters.b, nodeId, {});
  const ask = async (nodeId: string, spec: AttachmentSpec, by: Cluster = cluster) => {
    const found = await attachments.attach({ cluster: by, volumeId: 'a.one', nodeId }, spec);
    return found.attachment.attachment?.mayReplay;
  };
  return { ...gateway, ask };
}

const ofMode = (accessMode: AccessMode, readonly = true): AttachmentSpec => ({
  capability: { ...mounted, accessMode },
  readonly,
});

for (const [accessMode, isAlone] of [
  ['SINGLE_NODE_READER_ONLY', true],
  ['SINGLE_NODE_WRITER', true],
  ['SINGLE_NODE_SINGLE_WRITER', true],
  ['MULTI_NODE_READER_ONLY', true],
  // A writer may join it.
  ['MULTI_NODE_SINGLE_WRITER', undefined],
] as const)
  test(`a reader in mode ${accessMode} ${isAlone ? 'may' : 'may not'} replay the journal of a volume that no other node has`, async t => {
    const { ask, attachments } = await openReplaying(t);
    assert.equal(await ask('n1', ofMode(accessMode)), isAlone);
    assert.equal(await ask('n1', ofMode(accessMode)), isAlone);
    await attachments.detach({ cluster, volumeId: 'a.one', nodeId: 'n1' });
  });

test('a writer, a raw device and a read-only grant never replay a journal', async t => {
  const { ask, attachments, sharing: grants } = await openReplaying(t);
  const detach = (by: Cluster = cluster) =>
    attachments.detach({ cluster: by, volumeId: 'a.one', nodeId: 'n1' });
  for (const spec of [writing, { ...block, readonly: true }]) {
    assert.equal(await ask('n1', spec), undefined);
    await detach();
  }
  await grants.grant({ volumeId: 'a.one', grantee: 'b' }, { access: 'read-only' });
  assert.equal(await ask('n1', ofMode('SINGLE_NODE_READER_ONLY'), clusters.b), undefined);
  await detach(clusters.b);
  await grants.grant({ volumeId: 'a.one', grantee: 'b' }, { access: 'read-write' });
  assert.equal(await ask('n1', ofMode('SINGLE_NODE_READER_ONLY'), clusters.b), true);
});

test('only the first of several readers may replay a journal, and no writer joins it', async t => {
  const { ask, attachments } = await openReplaying(t);
  const reader = ofMode('MULTI_NODE_READER_ONLY');
  assert.deepEqual([await ask('n1', reader), await ask('n2', reader)], [true, undefined]);
  await attachments.detach({ cluster, volumeId: 'a.one', nodeId: 'n2' });
  const raw = { ...ofMode('MULTI_NODE_MULTI_WRITER', false).capability, accessType: 'block' as const };
  await assert.rejects(ask('n2', { capability: raw, readonly: false }), { code: 'FAILED_PRECONDITION' });
  assert.equal(await ask('n2', reader), undefined);
  await attachments.detach({ cluster, volumeId: 'a.one', nodeId: 'n1' });
  assert.equal(await ask('n1', reader), undefined);
});

type Side = readonly [mode: AccessMode, readonly: boolean];
const pairs: readonly (readonly [first: Side, second: Side, together: boolean])[] = [
  [['MULTI_NODE_MULTI_WRITER', false], ['MULTI_NODE_MULTI_WRITER', false], true],
  [['MULTI_NODE_READER_ONLY', true], ['MULTI_NODE_READER_ONLY', false], true],
  [['MULTI_NODE_MULTI_WRITER', false], ['MULTI_NODE_READER_ONLY', true], true],
  [['MULTI_NODE_SINGLE_WRITER', false], ['MULTI_NODE_SINGLE_WRITER', true], true],
  [['MULTI_NODE_SINGLE_WRITER', false], ['MULTI_NODE_SINGLE_WRITER', false], false],
  [['MULTI_NODE_SINGLE_WRITER', false], ['MULTI_NODE_READER_ONLY', true], false],
  [['SINGLE_NODE_READER_ONLY', true], ['SINGLE_NODE_READER_ONLY', true], false],
  [['SINGLE_NODE_WRITER', true], ['SINGLE_NODE_WRITER', true], false],
  [['SINGLE_NODE_MULTI_WRITER', false], ['MULTI_NODE_MULTI_WRITER', false], false],
];
for (const [first, second, together] of pairs)
  test(`${first.join(' readonly:')} and ${second.join(' readonly:')} ${together ? 'are' : 'are not'} compatible`, async t => {
    const { attach } = await open(t);
    await attach('n1', sharing(first));
    const attaching = attach('n2', sharing(second));
    if (together) assert.equal((await attaching).attachment.state, 'attached');
    else await assert.rejects(attaching, { code: 'FAILED_PRECONDITION' });
  });

for (const areShares of [undefined, true] as const)
  test(`several nodes ${areShares ? 'may write to a share' : 'may not write to a filesystem of a device'}`, async t => {
    const capability = { ...mounted, accessMode: 'MULTI_NODE_MULTI_WRITER' as const };
    const options = { own: { areShares }, volumes: ['pvc-1'], nodes: ['n1'] };
    const { create, volumes, attachments } = await openGateway(t, options);
    const { confirmed } = await volumes.validate(cluster, volumeId, { capabilities: [capability] });
    assert.equal(confirmed, areShares === true);
    const capabilities = [mounted, { ...capability, accessType: 'block' as const }, capability];
    const asked = [
      create('a.pvc-2', { capabilities }),
      attachments.attach({ cluster, volumeId, nodeId: 'n1' }, { capability, readonly: false }),
    ];
    if (areShares) await Promise.all(asked);
    else
      for (const one of asked) await assert.rejects(one, { code: 'INVALID_ARGUMENT', detail: /type mount$/ });
  });

test('attachVolume requires a ready volume, and a node that the cluster has or may name', async t => {
  const { create, attach, attachments, backend } = await open(t);
  const unknown = { cluster, volumeId: 'a.never', nodeId: 'nowhere' };
  await assert.rejects(attachments.attach(unknown, writing), { code: 'NOT_FOUND', detail: /"a.never"/ });
  backend.failNext('create', 'before', new Error('unreachable'));
  await assert.rejects(create('a.half'));
  const half = { ...unknown, volumeId: 'a.half' };
  await assert.rejects(attachments.attach(half, writing), { code: 'ABORTED', detail: /it is creating/ });
  await assert.rejects(attach('nowhere'), { code: 'NOT_FOUND', detail: /no node "nowhere"/ });
  const trusting = { ...cluster, acceptAnyNode: true };
  const { created } = await attachments.attach({ ...unknown, cluster: trusting, volumeId }, writing);
  assert.equal(created, true);
  for (const nodeId of ['', 'x'.repeat(257), 'ä'.repeat(129), 'a\nb', '\0'])
    await assert.rejects(attach(nodeId), { code: 'INVALID_ARGUMENT' }, JSON.stringify(nodeId));
});

test('detachVolume succeeds for an unknown, foreign or detached volume', async t => {
  const { attachments, detach, backend } = await open(t);
  for (const nodeId of ['n1', 'nowhere', undefined]) await detach(nodeId);
  for (const id of ['a.never', 'b.pvc-1', 'malformed', ''])
    await attachments.detach({ cluster, volumeId: id, nodeId: 'n1' });
  assert.deepEqual(backend.calls, []);
});

test('detachVolume without a node detaches from all nodes', async t => {
  const { attach, detach, attached, backend } = await open(t);
  for (const nodeId of ['n1', 'n2']) await attach(nodeId, sharing(['MULTI_NODE_MULTI_WRITER', false]));
  await detach();
  assert.deepEqual(await attached(), []);
  assert.deepEqual(backend.calls.slice(2), ['detach a.pvc-1', 'detach a.pvc-1']);
});

test('a detach that the storage refuses leaves the volume attached, with the same context', async t => {
  const { attach, detach, attached, volumes, backend } = await open(t);
  const { attachment } = await attach('n1');
  backend.failNext('detach', 'before', new Problem('FAILED_PRECONDITION', 'still in use'));
  await assert.rejects(detach('n1'), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(await attached(), [{ nodeId: 'n1', state: 'attached', readonly: false }]);
  assert.deepEqual((await attach('n1')).attachment, attachment);
  await assert.rejects(attach('n2'), { code: 'FAILED_PRECONDITION' });
  await assert.rejects(volumes.delete(cluster, volumeId), { code: 'FAILED_PRECONDITION' });
  await detach('n1');
  assert.equal((await attach('n2')).created, true);
});

test('a volume that was attached as a writable raw device is never formatted from then on', async t => {
  const { attach, detach } = await open(t);
  const mayFormat = async (spec?: AttachmentSpec) => {
    const { attachment } = await attach('n1', spec);
    await detach('n1');
    return attachment.attachment?.mayFormat;
  };
  assert.deepEqual([await mayFormat(), await mayFormat(block), await mayFormat()], [true, false, false]);
});

test('an unfinished attach continues with the same attachment id, or is detached', async t => {
  const { attach, detach, attached, backend } = await open(t);
  const ids: string[] = [];
  const inner = backend.attach.bind(backend);
  backend.attach = (volume, access) => {
    ids.push(access.attachmentId);
    return inner(volume, access);
  };
  backend.failNext('attach', 'after', new Error('the answer was lost'));
  await assert.rejects(attach('n1'), { code: 'UNAVAILABLE' });
  await assert.rejects(attach('n2'), { code: 'FAILED_PRECONDITION' });
  await attach('n1');
  assert.equal(new Set(ids).size, 1);
  await detach('n1');
  backend.failNext('attach', 'after', new Error('the answer was lost'));
  await assert.rejects(attach('n1'), { code: 'UNAVAILABLE' });
  await detach('n1');
  assert.deepEqual(await attached(), []);
});

test('an attach that the storage refused finally leaves nothing', async t => {
  const { attach, attached, backend } = await open(t);
  backend.failNext('attach', 'before', new Problem('RESOURCE_EXHAUSTED', 'no more targets'));
  await assert.rejects(attach('n1'), { code: 'RESOURCE_EXHAUSTED' });
  assert.deepEqual(await attached(), []);
});

test('an attach that may have succeeded is not forgotten when a retry is refused finally', async t => {
  const { attach, detach, backend } = await open(t);
  backend.failNext('attach', 'after', new Error('the answer was lost'));
  await assert.rejects(attach('n1'), { code: 'UNAVAILABLE' });
  backend.failNext('attach', 'before', new Problem('RESOURCE_EXHAUSTED', 'no more targets'));
  await assert.rejects(attach('n1'), { code: 'RESOURCE_EXHAUSTED' });
  await assert.rejects(attach('n2'), { code: 'FAILED_PRECONDITION' });
  await detach('n1');
  await attach('n2');
});

test('one of a concurrent delete and attach wins, and the other one gets a clear error', async t => {
  const { volumes, attachments } = await open(t);
  for (let i = 0; i < 10; i++) {
    const id = `a.race-${i}`;
    await volumes.create(cluster, id, volumeSpec(`race-${i}`));
    const racing = [
      () => volumes.delete(cluster, id),
      () => attachments.attach({ cluster, volumeId: id, nodeId: 'n1' }, writing),
    ];
    const outcomes = await Promise.allSettled((i % 2 ? racing : racing.toReversed()).map(run => run()));
    const failed = outcomes.filter(({ status }) => status === 'rejected');
    assert.equal(failed.length, 1);
    for (const { reason } of failed as PromiseRejectedResult[])
      assert.match((reason as Problem).code, /ABORTED|NOT_FOUND|FAILED_PRECONDITION/);
  }
});

function sharing([accessMode, readonly]: Side): AttachmentSpec {
  return { capability: { accessType: 'block', accessMode }, readonly };
}

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { preconditionProblem } from '../../../../src/api/problem.ts';
import type { NodeAccess } from '../../../../gateway/backend.ts';
import type { MemoryBackend } from '../../../../gateway/backends/memory.ts';
import { findSomeAttachments } from '../../../../gateway/tables/attachments.ts';
import { volumeTable } from '../../../../gateway/tables/volumes.ts';
import { findSnapshotSet } from '../../../../gateway/snapshots/record.ts';
import type { Step } from '../../../../gateway/operations/operation.ts';
import { createFaultyBackend } from '../../../fakes/faulty-backend.ts';
import { clusters, openGateway, mounted, openMemory, volumeSpec } from '../../../harness/gateway.ts';
import { stopperOf } from '../../../harness/gateway/fixtures.ts';

const { a } = clusters;
const id = 'a.pvc-1';
const spec = volumeSpec('pvc-1', { source: { kind: 'volume', volumeId: 'a.source' } });
const cut = { name: 'cut', volumeId: 'a.source' };
const key = { cluster: { ...a, acceptAnyNode: true }, volumeId: 'a.source', nodeId: 'n1' };
const writing = { capability: mounted, readonly: false };
const refused = preconditionProblem('refused (injected)');

/**
 * Opens two gateways on one store and one storage with a source that contains "old"; the first one is paused in tests.
 */
async function openPair(t: TestContext, storage?: MemoryBackend) {
  const memory = storage ?? (await openMemory());
  const stopping = await openGateway(t, { backend: createFaultyBackend(memory), leaseMs: 600_000 });
  const other = await stopping.replica({ backend: createFaultyBackend(memory) });
  await stopping.create('a.source');
  memory.write('a.source', 0, Buffer.from('old'));
  const stop = stopperOf(stopping);
  return { memory, stopping, other, stop };
}

const holds = (memory: MemoryBackend) => Buffer.from(memory.read(id, 0, 3)).toString();
const listed = (memory: MemoryBackend) => Array.fromAsync(memory.list?.() ?? []);
const taken = (memory: MemoryBackend) => Array.fromAsync(memory.snapshots?.list?.() ?? []);

test('a create that others took over and finally failed leaves nothing when it continues', async t => {
  const { memory, stopping, other, stop } = await openPair(t);
  const resume = await stop('create', () => stopping.volumes.create(a, id, spec));
  other.backend.failNext('create', 'before', refused);
  await assert.rejects(other.volumes.create(a, id, spec), { code: 'FAILED_PRECONDITION' });
  assert.ok(other.backend.calls.includes(`delete ${id}`));
  await resume();
  assert.deepEqual(await listed(memory), ['a.source']);
  memory.write('a.source', 0, Buffer.from('new'));
  assert.equal((await other.volumes.create(a, id, spec)).created, true);
  assert.equal(holds(memory), 'new');
});

test('the remains of late work that could not be removed are not given to the next volume of its name', async t => {
  const { memory, stopping, other, stop } = await openPair(t);
  const resume = await stop('create', () => stopping.volumes.create(a, id, spec));
  other.backend.failNext('create', 'before', refused);
  await assert.rejects(other.volumes.create(a, id, spec), { code: 'FAILED_PRECONDITION' });
  stopping.backend.failNext('delete', 'before', new Error('unreachable'));
  await resume();
  assert.deepEqual(await listed(memory), ['a.source', id]);
  await assert.rejects(other.volumes.create(a, id, spec), { code: 'ALREADY_EXISTS' });
  await assert.rejects(other.volumes.get(a, id), { code: 'NOT_FOUND' });
});

test('a create that others took over and finished changes nothing when it continues', async t => {
  const { memory, stopping, other, stop } = await openPair(t);
  const resume = await stop('create', () => stopping.volumes.create(a, id, spec));
  await other.volumes.create(a, id, spec);
  memory.write(id, 0, Buffer.from('own'));
  await resume();
  assert.equal(holds(memory), 'own');
  assert.equal((await other.volumes.get(a, id)).state, 'ready');
});

test('a delete that others took over and finished leaves the next volume of its name alone', async t => {
  const { memory, stopping, other, stop } = await openPair(t);
  await other.volumes.create(a, id, spec);
  const resume = await stop('delete', () => stopping.volumes.delete(a, id));
  await other.volumes.delete(a, id);
  await other.volumes.create(a, id, spec);
  memory.write(id, 0, Buffer.from('own'));
  await resume();
  assert.equal(holds(memory), 'own');
});

test('a snapshot that others took over and finally failed leaves nothing when it continues', async t => {
  const { memory, stopping, other, stop } = await openPair(t);
  const resume = await stop('snapshot', () => stopping.snapshots.create(a, 'a.cut', cut));
  other.backend.failNext('snapshot', 'before', refused);
  await assert.rejects(other.snapshots.create(a, 'a.cut', cut), { code: 'FAILED_PRECONDITION' });
  await resume();
  assert.deepEqual(await taken(memory), []);
});

test('a final failure is reported once nothing is left, and is not final before', async t => {
  const { memory, other } = await openPair(t);
  other.backend.failNext('create', 'after', refused);
  other.backend.failNext('delete', 'before', new Error('unreachable'));
  await assert.rejects(other.volumes.create(a, id, spec), { code: 'UNAVAILABLE' });
  assert.equal((await other.volumes.get(a, id)).state, 'deleting');
  await other.recovery.sweep();
  assert.deepEqual(await listed(memory), ['a.source']);
  await other.volumes.create(a, id, spec);
});

test('work that its caller finished meanwhile is not undone', async t => {
  const { memory, other } = await openPair(t);
  const { backend, engine, volumes, snapshots, attachments } = other;
  for (const method of ['create', 'snapshot', 'attach'] as const)
    backend.failNext(method, 'after', new Error('unreachable'));
  await assert.rejects(volumes.create(a, id, spec));
  await assert.rejects(snapshots.create(a, 'a.cut', cut));
  await assert.rejects(attachments.attach(key, writing));
  const volume = await volumeTable.find(engine.reader, { id });
  const recorded = await findSnapshotSet(engine.reader, { kind: 'snapshot', id: 'a.cut' });
  const [attachment] = await findSomeAttachments(engine.reader, 'a.source', 1);
  assert.ok(volume && recorded && attachment);
  await attachments.attach(key, writing);
  await attachments.undo(key, attachment);
  assert.equal((await attachments.get(key)).state, 'attached');
  await attachments.detach(key);
  await snapshots.create(a, 'a.cut', cut);
  await snapshots.undo('a.cut', recorded);
  await volumes.create(a, id, spec);
  await volumes.undo(volume);
  assert.equal((await volumes.get(a, id)).state, 'ready');
  assert.deepEqual([await listed(memory), await taken(memory)], [['a.source', id], ['a.cut']]);
});

/** Opens a storage that grants and revokes access node by node, like one in a network. */
async function openRemotePair(t: TestContext) {
  const memory = await openMemory();
  const nodes = new Set<string>();
  const accesses: NodeAccess[] = [];
  const remote: MemoryBackend = {
    ...memory,
    async attach(volume, access) {
      nodes.add(access.nodeId);
      accesses.push(access);
      return memory.attach(volume, access);
    },
    detach: async (_volume, nodeId) => void nodes.delete(nodeId),
  };
  return { nodes, accesses, ...(await openPair(t, remote)) };
}

test('an attach that others took over and undid admits no node when it continues', async t => {
  const { nodes, stopping, other, stop } = await openRemotePair(t);
  const resume = await stop('attach', () => stopping.attachments.attach(key, writing));
  await other.attachments.detach(key);
  await other.attachments.attach({ ...key, nodeId: 'n2' }, writing);
  await resume();
  assert.deepEqual([...nodes], ['n2']);
  await assert.rejects(other.attachments.get(key), { code: 'NOT_FOUND' });
});

test('a detach that others took over does not shut out a node that is attached again', async t => {
  const { nodes, accesses, stopping, other, stop } = await openRemotePair(t);
  await other.nodes.put(a, 'n1', { topology: { zone: 'one' } });
  await other.attachments.attach(key, writing);
  const resume = await stop('detach', () => stopping.attachments.detach(key));
  await other.attachments.detach(key);
  const { attachment } = await other.attachments.attach(key, writing);
  await resume();
  assert.deepEqual([...nodes], ['n1']);
  assert.deepEqual(await other.attachments.get(key), attachment);
  const [, again, settled, ...more] = accesses;
  assert.deepEqual([settled, more], [again, []], 'the node is let in as it was attached');
  assert.deepEqual(settled?.topology, { zone: 'one' });
});

test('late work is settled after other work on the same volume is done', async t => {
  const { nodes, stopping, other, stop } = await openRemotePair(t);
  const resume = await stop('attach', () => stopping.attachments.attach(key, writing));
  await other.attachments.detach(key);
  const release = other.backend.hold('expand');
  const growing = other.changes.expand(a, 'a.source', { requiredBytes: 2 ** 30 });
  await other.backend.entered('expand');
  const resumed = resume();
  while (nodes.size === 0) await stopping.engine.transaction(async () => {});
  for (let count = 0; count < 10; count++) await stopping.engine.transaction(async () => {});
  release();
  await Promise.all([growing, resumed]);
  assert.deepEqual([...nodes], []);
});

test('late work that could not be settled at once is settled by a sweep', async t => {
  const { nodes, stopping, other, stop } = await openRemotePair(t);
  const resume = await stop('attach', () => stopping.attachments.attach(key, writing));
  await other.attachments.detach(key);
  stopping.backend.failNext('detach', 'before', new Error('unreachable'));
  await resume();
  assert.deepEqual([...nodes], ['n1']);
  await other.recovery.sweep();
  assert.deepEqual([...nodes], []);
});

test('a modification that continues late is followed by the recorded one', async t => {
  const { stopping, other, stop } = await openPair(t);
  const resume = await stop('modify', () => stopping.changes.modify(a, 'a.source', { tier: 'fast' }));
  await other.recovery.sweep();
  await other.changes.modify(a, 'a.source', { tier: 'standard' });
  await resume();
  const before = other.backend.calls.length;
  await other.recovery.sweep();
  assert.deepEqual(other.backend.calls.slice(before), ['modify a.source']);
  const { mutableParameters, pending } = await other.volumes.get(a, 'a.source');
  assert.deepEqual([mutableParameters, pending], [{ tier: 'standard' }, undefined]);
});

test('an expansion that continues late leaves the next volume of its name as it is', async t => {
  const { memory, stopping, other, stop } = await openPair(t);
  await other.volumes.create(a, id, spec);
  const resume = await stop('expand', () => stopping.changes.expand(a, id, { requiredBytes: 2 ** 30 }));
  await other.recovery.sweep();
  await other.volumes.delete(a, id);
  await other.volumes.create(a, id, spec);
  await resume();
  const asItIs = { requiredBytes: 0, limitBytes: 0 };
  const grown = await memory.expand?.({ id, sizeBytes: 0, parameters: {} }, asItIs);
  assert.equal(grown?.sizeBytes, 2 ** 20);
});

for (const [name, wallMs, elapsedMs] of [
  ['', 600_000, 0],
  [', while the clock went back', -600_000, 600_000],
] as const)
  test(`a gateway that was paused past the end of its claim before its storage call leaves the storage alone${name}`, async t => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
    const { now } = performance;
    const checkpoint = ({ point }: Step): void => {
      if (point !== 'after-intent') return;
      t.mock.timers.setTime(Date.now() + wallMs);
      t.mock.method(performance, 'now', () => now.call(performance) + elapsedMs);
    };
    const { create, backend } = await openGateway(t, { checkpoint });
    await assert.rejects(create('a.new'), { code: 'ABORTED' });
    assert.deepEqual(backend.calls, []);
  });

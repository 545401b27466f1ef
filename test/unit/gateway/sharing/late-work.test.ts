import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { MemoryBackend } from '../../../../gateway/backends/memory.ts';
import { volumeTable } from '../../../../gateway/tables/volumes.ts';
import { clusters, openGateway, mounted, openMemory, type Gateway } from '../../../harness/gateway.ts';
import { createFaultyBackend } from '../../../fakes/faulty-backend.ts';
import { stopperOf, volumesIn } from '../../../harness/gateway/fixtures.ts';

const { a, b } = clusters;
const key = { cluster: { ...a, acceptAnyNode: true }, volumeId: 'a.one', nodeId: 'n1' };
const writing = { capability: mounted, readonly: false };

/** Opens two gateways on one store and one storage that admits nodes one by one; work of the first one pauses. */
async function openPair(t: TestContext) {
  const memory = await openMemory();
  const nodes = new Set<string>();
  const storage: MemoryBackend = {
    ...memory,
    async attach(volume, access) {
      nodes.add(`${access.cluster}/${access.nodeId}`);
      return memory.attach(volume, access);
    },
    detach: async (_volume, nodeId, cluster) => void nodes.delete(`${cluster}/${nodeId}`),
  };
  const stopping = await openGateway(t, { backend: createFaultyBackend(storage), leaseMs: 600_000 });
  const other = await stopping.replica({ backend: createFaultyBackend(storage) });
  const stop = stopperOf(stopping);
  return { memory, nodes, stopping, other, stop };
}

const create = (gateway: Gateway) => gateway.create('a.one');

async function transfer({ ask }: Gateway): Promise<void> {
  const body = { cluster: 'b' };
  assert.equal((await ask('PUT /v1/admin/volumes/a.one/owner', { as: 'operator', body })).status, 200);
}

async function take({ ask }: Gateway, id: string): Promise<void> {
  const body = { pool: 'main', storageId: 'a.one' };
  assert.equal((await ask(`PUT /v1/admin/imports/${id}`, { as: 'operator', body })).status, 200);
}

test('a create that continues after others finished and transferred its volume removes nothing', async t => {
  const { memory, stopping, other, stop } = await openPair(t);
  const resume = await stop('create', () => create(stopping));
  await create(other);
  await transfer(other);
  await resume();
  assert.deepEqual(await volumesIn(memory), ['a.one']);
  assert.equal((await other.volumes.get(b, 'b.one')).state, 'ready');
});

test('an operation that was listed as begun is not undone if its volume has since been finished and transferred', async t => {
  const { memory, other } = await openPair(t);
  other.backend.failNext('create', 'after', new Error('unreachable'));
  await assert.rejects(create(other));
  const begun = await volumeTable.find(other.engine.reader, { id: 'a.one' });
  assert.ok(begun);
  await create(other);
  await transfer(other);
  await other.volumes.undo(begun);
  assert.deepEqual(await volumesIn(memory), ['a.one']);
});

for (const id of ['a.one', 'b.found'])
  test(`a create that continues after its remains were imported as ${id} removes nothing`, async t => {
    const { memory, stopping, other, stop } = await openPair(t);
    const resume = await stop('create', () => create(stopping));
    await create(other);
    await other.engine.transaction(sql => volumeTable.remove(sql, { id: 'a.one' }));
    await take(other, id);
    await resume();
    assert.deepEqual(await volumesIn(memory), ['a.one']);
  });

test('an attach that continues after a transfer admits no node of the first cluster', async t => {
  const { nodes, stopping, other, stop } = await openPair(t);
  await create(other);
  const resume = await stop('attach', () => stopping.attachments.attach(key, writing));
  await other.attachments.detach(key);
  await transfer(other);
  await resume();
  assert.deepEqual([...nodes], []);
  assert.deepEqual(await other.engine.reader.all('select * from attachments'), []);
});

test('a late attach shuts out no node that got the volume back meanwhile', async t => {
  const { nodes, stopping, other, stop } = await openPair(t);
  await create(other);
  const resume = await stop('attach', () => stopping.attachments.attach(key, writing));
  await other.attachments.detach(key);
  await transfer(other);
  await other.sharing.grant({ volumeId: 'b.one', grantee: 'a' }, { access: 'read-write' });
  await other.attachments.attach({ ...key, volumeId: 'b.one' }, writing);
  await resume();
  assert.deepEqual([...nodes], ['a/n1']);
});

test('a modification that continues after a transfer is followed by the recorded one', async t => {
  const { stopping, other, stop } = await openPair(t);
  await create(other);
  const resume = await stop('modify', () => stopping.changes.modify(a, 'a.one', { tier: 'fast' }));
  await other.recovery.sweep();
  await other.changes.modify(a, 'a.one', { tier: 'standard' });
  await transfer(other);
  await resume();
  const before = other.backend.calls.length;
  await other.recovery.sweep();
  assert.deepEqual(other.backend.calls.slice(before), ['modify a.one']);
  const { mutableParameters, pending } = await other.volumes.get(b, 'b.one');
  assert.deepEqual([mutableParameters, pending], [{ tier: 'standard' }, undefined]);
});

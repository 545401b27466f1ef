import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAdminSharing } from '../../../../gateway/admin/sharing.ts';
import type { Engine } from '../../../../gateway/store.ts';
import { listPoolsGranted, readCount, recount } from '../../../../gateway/tables/counts.ts';
import { Problem, unavailableProblem } from '../../../../src/api/problem.ts';
import { openGateway, clusters, mounted } from '../../../harness/gateway.ts';

const { a, b } = clusters;

/**
 * Reads the numbers of cluster a's nodes and attachments, and of b's grants; fails unless the kept counts equal the
 * records.
 */
async function read(engine: Engine): Promise<readonly number[]> {
  const { reader } = engine;
  const all = () =>
    Promise.all([
      readCount(reader, 'a', 'nodes'),
      readCount(reader, 'a', 'attachments'),
      readCount(reader, 'b', 'grants'),
    ]);
  const kept = await all();
  await engine.transaction(recount);
  assert.deepEqual(await all(), kept);
  return kept;
}

test('nodes are counted once, however often they are reported, until they are deleted', async t => {
  const { nodes, engine } = await openGateway(t, { volumes: ['pvc-1'] });
  for (const nodeId of ['n1', 'n2', 'n1']) await nodes.put(a, nodeId, { maxVolumes: 3 });
  await nodes.put(b, 'n1', {});
  assert.deepEqual(await read(engine), [2, 0, 0]);
  for (let round = 0; round < 2; round++) await nodes.delete(a, 'n1');
  assert.deepEqual(await read(engine), [1, 0, 0]);
});

test('attachments are counted while they are recorded, even after failures', async t => {
  const gateway = await openGateway(t, { volumes: ['one', 'two'] });
  const { backend, engine, detach, recovery } = gateway;
  await gateway.attach('a.one');
  assert.deepEqual(await read(engine), [0, 1, 0]);
  backend.failNext('attach', 'before', new Problem('FAILED_PRECONDITION', 'no'));
  await assert.rejects(gateway.attach('a.two'));
  assert.deepEqual(await read(engine), [0, 1, 0]);
  backend.failNext('attach', 'after', unavailableProblem('lost'));
  await assert.rejects(gateway.attach('a.two'));
  assert.deepEqual(await read(engine), [0, 2, 0]);
  assert.equal(await recovery.sweep(), 1);
  backend.failNext('detach', 'before', new Problem('FAILED_PRECONDITION', 'no'));
  await assert.rejects(detach('a.one'));
  assert.deepEqual(await read(engine), [0, 2, 0]);
  for (const id of ['a.one', 'a.two', 'a.one']) await detach(id);
  assert.deepEqual(await read(engine), [0, 0, 0]);
});

test('grants are counted by the pool of their volume, until they are revoked or their volume is gone', async t => {
  const gateway = await openGateway(t, { volumes: ['one', 'two', 'three'] });
  const { engine, sharing, volumes } = gateway;
  const share = (volumeId: string, access: 'read-only' | 'read-write' = 'read-only') =>
    sharing.grant({ volumeId, grantee: 'b' }, { access });
  for (const id of ['a.one', 'a.two', 'a.three']) await share(id);
  await share('a.one', 'read-write');
  assert.deepEqual(await read(engine), [0, 0, 3]);
  assert.deepEqual(await listPoolsGranted(engine.reader, 'b'), ['main']);
  for (let round = 0; round < 2; round++) await sharing.revoke({ volumeId: 'a.one', grantee: 'b' });
  assert.deepEqual(await read(engine), [0, 0, 2]);
  const { transferVolume } = createAdminSharing({ ...gateway, clusters: () => clusters });
  await transferVolume({ volumeId: 'a.two', body: { cluster: 'b', dryRun: false } });
  assert.deepEqual(await read(engine), [0, 0, 1]);
  await sharing.revoke({ volumeId: 'a.three', grantee: 'b' });
  await volumes.delete(a, 'a.three');
  assert.deepEqual(await read(engine), [0, 0, 0]);
  assert.deepEqual(await listPoolsGranted(engine.reader, 'b'), []);
});

test('a volume that is attached in several modes is counted for each of its nodes', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  const { engine, attachments } = gateway;
  const asked = { capability: { ...mounted, accessMode: 'MULTI_NODE_READER_ONLY' }, readonly: true } as const;
  for (const nodeId of ['n1', 'n2', 'n2']) await gateway.attach('a.one', nodeId, asked);
  assert.deepEqual(await read(engine), [0, 2, 0]);
  await attachments.detach({ cluster: a, volumeId: 'a.one' });
  assert.deepEqual(await read(engine), [0, 0, 0]);
});

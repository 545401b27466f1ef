import assert from 'node:assert/strict';
import { test } from 'node:test';
import { restoreAttachments } from '../../../../gateway/attachments/restore.ts';
import type { AttachedVolume } from '../../../../gateway/backend.ts';
import { clusters, makeGateway, mounted, openMemory, volumeSpec } from '../../../harness/gateway-harness.ts';
import { isProblem } from '../../../harness/gateway-problems.ts';
import { createFaultyBackend } from '../faulty-backend.ts';

const cluster = clusters.a;

test('a pool is told of what is attached or being attached, not of what is being detached or is elsewhere', async t => {
  const [main, other] = [createFaultyBackend(await openMemory()), createFaultyBackend(await openMemory())];
  const { engine, volumes, nodes, attachments } = await makeGateway(t, { pools: { main, other } });
  const topology = { zone: 'one' };
  await nodes.put(cluster, 'n1', { topology });
  const attach = async (name: string, pool: string): Promise<unknown> => {
    await volumes.create(cluster, `a.${name}`, volumeSpec(name, { parameters: { pool } }));
    const key = { cluster, volumeId: `a.${name}`, nodeId: 'n1' };
    return attachments.attach(key, { capability: mounted, readonly: false });
  };
  for (const name of ['there', 'leaving']) await attach(name, 'main');
  await attach('elsewhere', 'other');
  main.failNext('attach', 'after', new Error('lost'));
  await assert.rejects(attach('coming', 'main'), isProblem('UNAVAILABLE'));
  main.failNext('detach', 'after', new Error('lost'));
  const leaving = attachments.detach({ cluster, volumeId: 'a.leaving', nodeId: 'n1' });
  await assert.rejects(leaving, isProblem('UNAVAILABLE'));

  let told: readonly AttachedVolume[] = [];
  const restore = async (attached: AsyncIterable<AttachedVolume>): Promise<void> => {
    told = await Array.fromAsync(attached);
  };
  await restoreAttachments(engine.reader, { name: 'main', backend: { ...main, restore } });
  assert.partialDeepStrictEqual(told, [
    { volume: { id: 'a.coming' }, access: { nodeId: 'n1', cluster: 'a', capability: mounted, topology } },
    {
      volume: { id: 'a.there', sizeBytes: 2 ** 20 },
      reach: { protocol: 'loop' },
      access: { nodeId: 'n1' },
    },
  ]);
  assert.equal(told.length, 2);
});

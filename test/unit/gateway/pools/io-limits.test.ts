import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import * as z from 'zod';
import { openMemory } from '../../../../gateway/backends/memory.ts';
import type { Backend } from '../../../../gateway/backend.ts';
import { withIoLimits } from '../../../../gateway/pools/io-limits.ts';
import type { IoLimits } from '../../../../src/api/attachments/io-limits.ts';
import { clusters, mounted, openGateway } from '../../../harness/gateway.ts';

const [cluster, id, nodeId] = [clusters.a, 'a.pvc-1', 'n1'];

/** Opens a gateway with limits over a memory with other members, and records the limits of each attach. */
async function open(t: TestContext, own: Partial<Backend> = {}, isLimiting = false) {
  const memory = openMemory({ capacity: 2 ** 30 });
  const seen: (IoLimits | undefined)[] = [];
  const backend: Backend = withIoLimits({
    ...memory,
    async attach(volume, access) {
      seen.push(access.limits);
      const reach = await memory.attach(volume, access);
      return isLimiting ? { ...reach, limitsIo: true } : reach;
    },
    ...own,
  });
  const gateway = await openGateway(t, { backend, nodes: [nodeId] });
  const spec = { capability: mounted, readonly: false };
  return {
    ...gateway,
    seen,
    make: (mutableParameters: Record<string, string>) => gateway.create(id, { mutableParameters }),
    modify: (parameters: Record<string, string>) => gateway.changes.modify(cluster, id, parameters),
    async attach(): Promise<IoLimits> {
      const { attachment } = await gateway.attachments.attach({ cluster, volumeId: id, nodeId }, spec);
      assert.ok(attachment.attachment && !('limitsIo' in attachment.attachment));
      const { iops, bytesPerSecond } = attachment.attachment;
      return { iops, bytesPerSecond };
    },
    detach: () => gateway.attachments.detach({ cluster, volumeId: id, nodeId }),
  };
}

test('an attachment carries the limits of its volume, and later ones come with the next attachment', async t => {
  const { make, modify, attach, detach } = await open(t);
  await make({ iops: '500', tier: 'fast' });
  assert.deepEqual(await attach(), { iops: 500, bytesPerSecond: undefined });
  await modify({ iops: '0', bytesPerSecond: '10Mi' });
  assert.deepEqual(await attach(), { iops: 500, bytesPerSecond: undefined });
  await detach();
  assert.deepEqual(await attach(), { iops: undefined, bytesPerSecond: 10 * 2 ** 20 });
});

test('a pool lists its limits beside its own mutable parameters, and refuses impossible ones', async t => {
  const { make, modify, ask } = await open(t);
  const { body } = await ask('GET /v1/capabilities');
  const { mutable } = body['parameters'] as { readonly mutable: { readonly properties: object } };
  assert.deepEqual(Object.keys(mutable.properties).toSorted(), ['bytesPerSecond', 'iops', 'label', 'tier']);
  await make({});
  for (const [name, value] of [
    ['iops', '9'],
    ['iops', 'fast'],
    ['bytesPerSecond', '-1'],
    ['bytesPerSecond', '1.5Gi'],
    ['tier', 'slow'],
    ['colour', 'red'],
  ] as const)
    await assert.rejects(modify({ [name]: value }), { code: 'INVALID_ARGUMENT', detail: new RegExp(name) });
  await modify({ tier: 'fast' });
});

test('a storage that enforces the limits learns changed ones at once, and nodes learn none', async t => {
  const { make, modify, attach, seen } = await open(t, {}, true);
  await make({ iops: '500' });
  assert.deepEqual(await attach(), { iops: undefined, bytesPerSecond: undefined });
  await modify({ iops: '1000' });
  assert.deepEqual(seen, [{ iops: 500 }, { iops: 1_000 }]);
  assert.deepEqual(await attach(), { iops: undefined, bytesPerSecond: undefined });
});

test('a mutable parameter of a storage that has the name of a limit is passed on to the storage', async t => {
  const applied: unknown[] = [];
  const modification: Backend['modification'] = {
    parameters: z.strictObject({ iops: z.enum(['low', '20000']).exactOptional() }),
    apply: async (_, parameters) => void applied.push(parameters),
  };
  const { make, modify, attach, seen } = await open(t, { modification });
  await make({ bytesPerSecond: '1Mi' });
  await modify({ iops: '20000' });
  assert.deepEqual(applied, [{ iops: '20000' }]);
  assert.deepEqual(await attach(), { iops: undefined, bytesPerSecond: 2 ** 20 });
  assert.deepEqual(seen, [{ bytesPerSecond: 2 ** 20 }]);
});

test('a storage without mutable parameters has limits, and one of shares has none', async t => {
  const { modification: _, ...fixed } = openMemory({ capacity: 2 ** 30 });
  assert.ok(withIoLimits(fixed).modification);
  assert.equal(withIoLimits({ ...fixed, areShares: true }).modification, undefined);
  const { make, attach } = await open(t, { modification: undefined } as unknown as Partial<Backend>);
  await make({ iops: '500' });
  assert.deepEqual(await attach(), { iops: 500, bytesPerSecond: undefined });
});

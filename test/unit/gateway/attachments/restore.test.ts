import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openImages } from '../../../../gateway/backends/image.ts';
import { openLoop } from '../../../../gateway/exports/loop.ts';
import { attachmentTable } from '../../../../gateway/tables/attachments.ts';
import { allAttachmentsPageSchema } from '../../../../src/api/admin/listings.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { restoreAttachments } from '../../../../gateway/attachments/restore.ts';
import type { AttachedVolume } from '../../../../gateway/backend.ts';
import { clusters, openGateway, mounted, temporaryDirectory } from '../../../harness/gateway.ts';

const cluster = clusters.a;

test('a pool learns at the start which volumes are attached or being attached, not those being detached or elsewhere', async t => {
  const gateway = await openGateway(t, { pools: ['main', 'other'] });
  const { create, engine, nodes, attachments, backend: main } = gateway;
  const topology = { zone: 'one' };
  await nodes.put(cluster, 'n1', { topology });
  const attach = async (name: string, pool: string): Promise<unknown> => {
    await create(`a.${name}`, { parameters: { pool } });
    const key = { cluster, volumeId: `a.${name}`, nodeId: 'n1' };
    return attachments.attach(key, { capability: mounted, readonly: false });
  };
  for (const name of ['there', 'leaving']) await attach(name, 'main');
  await attach('elsewhere', 'other');
  main.failNext('attach', 'after', new Error('lost'));
  await assert.rejects(attach('coming', 'main'), { code: 'UNAVAILABLE' });
  main.failNext('detach', 'after', new Error('lost'));
  const leaving = attachments.detach({ cluster, volumeId: 'a.leaving', nodeId: 'n1' });
  await assert.rejects(leaving, { code: 'UNAVAILABLE' });

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

test("an attachment over an earlier release's protocol is logged at the start, and can be detached", async t => {
  const lines: unknown[] = [];
  const log = { ...silentLog, error: (...line: readonly unknown[]) => void lines.push(line) };
  const main = await openImages(temporaryDirectory(t), undefined, { exported: openLoop(), log });
  t.after(() => main.close());
  const { create, engine, nodes, attachments, ask } = await openGateway(t, { pools: { main } });
  const key = { cluster, volumeId: 'a.old', nodeId: 'n1' };
  const attach = () => attachments.attach(key, { capability: mounted, readonly: false });
  await nodes.put(cluster, 'n1', {});
  await create('a.old');
  await attach();
  const reach = { protocol: 'nbd', server: '192.0.2.10', port: 10_810, export: 'x' } as never;
  await engine.transaction(async sql => {
    const record = await attachmentTable.find(sql, { ...key, cluster: 'a' });
    await attachmentTable.update(sql, record ?? assert.fail('it is not recorded'), { reach });
  });

  await restoreAttachments(engine.reader, { name: 'main', backend: main });
  const detail = 'nbd is no longer offered: detach it and attach it again';
  const fields = { volumeId: 'a.old', nodeId: 'n1', detail };
  assert.deepEqual(lines, [['cannot export an attached volume', fields]]);
  const says =
    /^volume "a\.old" is attached to node "n1" over nbd, which is no longer offered; detach it and/;
  for (const call of [attach, () => attachments.get(key)])
    await assert.rejects(call(), { code: 'FAILED_PRECONDITION', detail: says });
  const { body } = await ask('GET /v1/admin/attachments', { as: 'operator' });
  assert.partialDeepStrictEqual(allAttachmentsPageSchema.parse(body), { attachments: [{ protocol: 'nbd' }] });

  await attachments.detach(key);
  assert.partialDeepStrictEqual(await attach(), { attachment: { attachment: { protocol: 'loop' } } });
});

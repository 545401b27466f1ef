import assert from 'node:assert/strict';
import { globSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createClient, type StorageClient } from '../../../src/api/client.ts';
import type { Call } from '../../../src/api/http.ts';
import { mounted } from '../../harness/gateway.ts';
import { referenceVendors, startVendor, type RunningVendor } from '../../fakes/storages/reference.ts';

const call = (): Call => ({ deadlineMs: Date.now() + 30_000 });
const ids = { volumeId: 'east.pvc-1', nodeId: 'n1' };
const body = { name: 'pvc-1', requiredBytes: 3 * 2 ** 20, capabilities: [mounted] };

for (const { language, command, skip } of referenceVendors) {
  test(`the reference vendor in ${language} serves a volume's whole life`, { skip }, async t => {
    const { client } = await open(t, command);
    const created = await client.createVolume({ ...ids, body }, call());
    assert.equal(created.sizeBytes, body.requiredBytes);
    assert.deepEqual(await client.createVolume({ ...ids, body }, call()), created);
    const use = { capability: mounted, readonly: false };
    const { attachment } = await client.attachVolume({ ...ids, body: use }, call());
    assert.equal(attachment?.protocol, 'loop');
    await assert.rejects(client.deleteVolume(ids, call()), { code: 'FAILED_PRECONDITION' });
    const elsewhere = client.attachVolume({ ...ids, nodeId: 'n2', body: use }, call());
    await assert.rejects(elsewhere, { code: 'FAILED_PRECONDITION' });
    await client.detachVolume(ids, call());
    await client.expandVolume({ ...ids, body: { requiredBytes: 4 * 2 ** 20 } }, call());
    const cut = { snapshotId: 'east.snap-1', body: { name: 'snap-1', volumeId: ids.volumeId } };
    const snapshot = await client.createSnapshot(cut, call());
    assert.equal(snapshot.sizeBytes, 4 * 2 ** 20);
    await client.deleteVolume(ids, call());
    const source = { kind: 'snapshot', snapshotId: cut.snapshotId } as const;
    const { requiredBytes: _, ...anySize } = body;
    const restored = await client.createVolume({ ...ids, body: { ...anySize, source } }, call());
    assert.equal(restored.sizeBytes, snapshot.sizeBytes);
  });

  test(
    `the reference vendor in ${language} knows after a kill everything that it answered`,
    { skip },
    async t => {
      const { client, vendor } = await open(t, command);
      await client.createVolume({ ...ids, body }, call());
      await client.attachVolume({ ...ids, body: { capability: mounted, readonly: false } }, call());
      const before = await client.listVolumes({}, call());
      await vendor.kill();
      await vendor.start();
      assert.deepEqual(await client.listVolumes({}, call()), before);
    },
  );

  test(
    `the reference vendor in ${language} keeps images without a record, and removes incomplete ones`,
    { skip },
    async t => {
      const { client, vendor } = await open(t, command);
      await client.createVolume({ ...ids, body }, call());
      await vendor.kill();
      const [image] = globSync(join(vendor.directory, 'volume/*'));
      assert.ok(image);
      for (const file of globSync(join(vendor.directory, 'state.sqlite*'))) rmSync(file);
      writeFileSync(join(vendor.directory, 'volume/east.pvc-2.img.new'), '');
      await vendor.start();
      assert.deepEqual(globSync(join(vendor.directory, 'volume/*')), [image]);
    },
  );
}

async function open(
  t: TestContext,
  command: readonly string[],
): Promise<{ readonly client: StorageClient; readonly vendor: RunningVendor }> {
  const vendor = await startVendor(t, { command });
  const client = createClient({ url: vendor.url, token: () => vendor.token });
  t.after(() => client.close());
  return { client, vendor };
}

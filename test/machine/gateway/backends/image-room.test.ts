import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { backends } from '../../../../gateway/backends/index.ts';
import { clusters, openGateway, volumeSpec } from '../../../harness/gateway.ts';
import { assertCounted, hour } from '../../../harness/gateway/fixtures.ts';
import { openPlugin } from '../../../harness/gateway/open-plugin.ts';
import { imagesIn, MiB, testPool } from './image-pool.ts';

const { a } = clusters;

/** Fills the image with data, so that its blocks are really taken. */
function fill(path: string, bytes: number): void {
  const file = openSync(path, 'r+');
  for (let at = 0; at < bytes; at += 8 * MiB) writeSync(file, randomBytes(8 * MiB), 0, 8 * MiB, at);
  fsyncSync(file);
  closeSync(file);
}

testPool(
  'a full pool of soft-deleted volumes has room for new ones, and creates that race for it all get theirs',
  { on: ['ext4', 'btrfs'], sizeBytes: 400 * MiB },
  async ({ directory }, t) => {
    mkdirSync(join(directory, 'small'));
    const backend = await openPlugin(backends.image, { dir: join(directory, 'small'), capacity: 256 * MiB });
    t.after(() => backend.close?.());
    const gateway = await openGateway(t, {
      pools: { images: backend },
      keepDeletedMs: hour,
      patienceMs: 60_000,
    });
    const replica = await gateway.replica();
    const create = (name: string, by = gateway) =>
      by.volumes.create(a, `a.${name}`, volumeSpec(name, { requiredBytes: 64 * MiB }));
    const images = () => imagesIn(join(directory, 'small')).map(name => name.slice(2, -4));
    for (const name of ['old1', 'old2', 'old3', 'live']) {
      await create(name);
      fill(join(directory, 'small', `a.${name}.img`), 64 * MiB);
    }
    for (const name of ['old1', 'old2', 'old3']) await gateway.volumes.delete(a, `a.${name}`);
    assert.deepEqual(images(), ['live', 'old1', 'old2', 'old3']);
    await create('new1');
    assert.deepEqual(images(), ['live', 'new1', 'old2', 'old3']);
    await Promise.all([create('new2'), create('new3', replica)]);
    assert.deepEqual(images(), ['live', 'new1', 'new2', 'new3']);
    await assert.rejects(create('new4'), { code: 'RESOURCE_EXHAUSTED' });
    await assertCounted(gateway.engine);
  },
);

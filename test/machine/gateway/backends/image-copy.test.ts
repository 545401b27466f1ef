import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pause, poll } from '../../../../src/lib/concurrency.ts';
import { isProblem } from '../../../harness/gateway-problems.ts';
import { makeVolume } from '../../../suites/backend-members.ts';
import { allocatedOf, hashOf, MiB, openPool, poolFilesystems, whyNoPool, type Pool } from './image-pool.ts';

for (const filesystem of poolFilesystems) {
  const skip = whyNoPool(filesystem);
  const check = (title: string, work: (pool: Pool) => Promise<void>): void => {
    test(`${filesystem}: ${title}`, skip === undefined ? {} : { skip }, async t =>
      work(await openPool(t, filesystem, { capacityBytes: 2 ** 40 })),
    );
  };

  check(
    'holes stay holes, and no more is allocated than in the source',
    async ({ backend, content, directory }) => {
      const volume = await makeVolume(backend, { requiredBytes: 10 * 1024 * MiB });
      for (let index = 0; index < 16; index++)
        await content.write(volume.id, index * 600 * MiB, randomBytes(MiB));
      const source = { kind: 'volume', volume, attachedForWriting: false } as const;
      await makeVolume(backend, { id: 'a.clone', source });
      const [before, after] = ['a.volume.img', 'a.clone.img'].map(name => allocatedOf(join(directory, name)));
      assert.ok(
        after !== undefined && before !== undefined && after <= before + MiB,
        `${after} of ${before}`,
      );
      for (let index = 0; index < 16; index++) {
        const [offset, length] = [index * 600 * MiB, 2 * MiB];
        assert.deepEqual(
          await content.read('a.clone', offset, length),
          await content.read(volume.id, offset, length),
        );
      }
    },
  );
}

const skipExt4 = whyNoPool('ext4');
const needsExt4 = skipExt4 === undefined ? {} : { skip: skipExt4 };

test(
  'a copy that the filesystem has no room for is RESOURCE_EXHAUSTED, and nothing is left',
  needsExt4,
  async t => {
    const { backend, content, directory } = await openPool(t, 'ext4', {
      sizeBytes: 128 * MiB,
      capacityBytes: 2 ** 40,
    });
    const volume = await makeVolume(backend, { requiredBytes: 100 * MiB });
    await content.write(volume.id, 0, randomBytes(70 * MiB));
    const before = statfsSync(directory).bavail;
    const source = { kind: 'volume', volume, attachedForWriting: false } as const;
    await assert.rejects(makeVolume(backend, { id: 'a.clone', source }), isProblem('RESOURCE_EXHAUSTED'));
    const cut = { volume, attachedForWriting: false, parameters: {} };
    await assert.rejects(
      Promise.resolve(backend.snapshots?.create({ id: 'a.cut', ...cut })),
      isProblem('RESOURCE_EXHAUSTED'),
    );
    assert.deepEqual(
      readdirSync(directory).filter(name => name.endsWith('.img')),
      ['a.volume.img'],
    );
    assert.ok(statfsSync(directory).bavail >= before - 16);
  },
);

test(
  'killed in a copy, the gateway takes the copy along, and the next try makes the volume',
  needsExt4,
  async t => {
    const pool = await openPool(t, 'ext4', { sizeBytes: 1024 * MiB, capacityBytes: 2 ** 40 });
    const { backend, directory } = pool;
    const volume = await makeVolume(backend, { requiredBytes: 400 * MiB });
    writeFileSync(join(directory, 'a.volume.img'), randomBytes(400 * MiB), { flag: 'r+' });
    await backend.close?.();
    const child = spawn(process.execPath, ['--input-type=module', '-e', copying, directory], {
      stdio: 'inherit',
    });
    const drafts = join(directory, 'drafts');
    const halfWay = (): boolean => draftSizes(drafts).some(size => size > 20 * MiB);
    assert.ok(await poll(() => halfWay() || undefined, { everyMs: 2, timeoutMs: 60_000 }));
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    let sizes = draftSizes(drafts);
    for (let isStill = false; !isStill;) {
      await pause(300);
      const next = draftSizes(drafts);
      isStill = String(next) === String(sizes);
      sizes = next;
    }
    const [size = Number.POSITIVE_INFINITY, ...others] = sizes;
    assert.ok(size < 400 * MiB, `the copy went on to its end: ${size} bytes`);
    assert.ok(others.length === 0 && !readdirSync(directory).includes('a.clone.img'));
    const reopened = await pool.reopen();
    assert.deepEqual(readdirSync(drafts), []);
    await makeVolume(reopened, {
      id: 'a.clone',
      source: { kind: 'volume', volume, attachedForWriting: false },
    });
    assert.equal(hashOf(join(directory, 'a.clone.img')), hashOf(join(directory, 'a.volume.img')));
  },
);

const copying = `
const { image } = await import('${fileURLToPath(new URL('../../../../gateway/backends/image.ts', import.meta.url))}');
const backend = await image.open({ dir: process.argv[1] }, {});
const volume = { id: 'a.volume', sizeBytes: 400 * 2 ** 20, parameters: {} };
const source = { kind: 'volume', volume, attachedForWriting: false };
await backend.create({ id: 'a.clone', requiredBytes: 400 * 2 ** 20, limitBytes: 0, parameters: {}, capabilities: [], source });`;

function draftSizes(drafts: string): readonly number[] {
  try {
    return readdirSync(drafts).map(name => statSync(join(drafts, name)).blocks * 512);
  } catch {
    return [];
  }
}

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { isProblem } from '../../../harness/gateway-problems.ts';
import { makeVolume } from '../../../suites/backend-members.ts';
import { allocatedOf, imagesIn, MiB, openPool, whyNoPool } from './image-pool.ts';

const preallocate = { preallocate: 'true' };

for (const filesystem of ['ext4', 'xfs'] as const) {
  const skip = whyNoPool(filesystem);
  const options = skip === undefined ? {} : { skip };

  test(
    `${filesystem}: what is allocated beforehand can be written when the filesystem is full`,
    options,
    async t => {
      const { backend, directory, content } = await openPool(t, filesystem, { capacityBytes: 2 ** 40 });
      const volume = await makeVolume(backend, { requiredBytes: 32 * MiB });
      const bytes = randomBytes(MiB);
      await content.write(volume.id, 3 * MiB, bytes);
      await backend.modification?.apply(volume, preallocate);
      const path = join(directory, 'a.volume.img');
      assert.ok(allocatedOf(path) >= 32 * MiB);
      assert.deepEqual(await content.read(volume.id, 3 * MiB, MiB), bytes);
      assert.throws(() =>
        execFileSync('dd', ['if=/dev/zero', `of=${join(directory, 'rest')}`, 'bs=1M'], { stdio: 'pipe' }),
      );
      execFileSync('dd', ['if=/dev/zero', `of=${path}`, 'bs=1M', 'count=32', 'conv=notrunc,fsync'], {
        stdio: 'pipe',
      });
    },
  );

  test(`${filesystem}: a volume that cannot be allocated beforehand is not made`, options, async t => {
    const { backend, directory } = await openPool(t, filesystem, { capacityBytes: 2 ** 40 });
    const large = { requiredBytes: 600 * MiB, mutableParameters: preallocate };
    await assert.rejects(makeVolume(backend, large), isProblem('RESOURCE_EXHAUSTED'));
    assert.deepEqual(imagesIn(directory), []);
    await makeVolume(backend, { ...large, requiredBytes: 40 * MiB });
    assert.ok(allocatedOf(join(directory, 'a.volume.img')) >= 40 * MiB);
  });
}

const skipExt4 = whyNoPool('ext4');
test(
  'a volume that holds data is not removed because it cannot be allocated',
  skipExt4 === undefined ? {} : { skip: skipExt4 },
  async t => {
    const { backend, content } = await openPool(t, 'ext4', { capacityBytes: 2 ** 40 });
    const volume = await makeVolume(backend, { requiredBytes: 600 * MiB });
    await content.write(volume.id, 0, Buffer.from('data'));
    const again = makeVolume(backend, { requiredBytes: 600 * MiB, mutableParameters: preallocate });
    await assert.rejects(again, isProblem('UNAVAILABLE'));
    assert.equal(String(await content.read(volume.id, 0, 4)), 'data');
  },
);

const skipBtrfs = whyNoPool('btrfs');
test(
  'btrfs writes no block in place, so that nothing is promised there',
  skipBtrfs === undefined ? {} : { skip: skipBtrfs },
  async t => {
    const { backend } = await openPool(t, 'btrfs');
    assert.equal(backend.modification, undefined);
  },
);

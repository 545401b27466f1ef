import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProblem } from '../../../harness/gateway-problems.ts';
import { imagesIn, makeVolume, MiB, openPool, poolFilesystems, whyNoPool } from './image-pool.ts';

const TiB = 2 ** 40;
const capacityBytes = 64 * TiB;

for (const filesystem of poolFilesystems) {
  const skip = whyNoPool(filesystem);
  const options = skip === undefined ? {} : { skip };

  test(
    `${filesystem}: no volume is told to be possible that is larger than a file can be`,
    options,
    async t => {
      const { backend, directory } = await openPool(t, filesystem, { capacityBytes });
      assert.deepEqual(imagesIn(directory), []);
      assert.equal((await backend.capacity?.())?.totalBytes, capacityBytes);
      const maximumVolumeBytes = backend.sizes?.maximumBytes ?? 0;
      assert.ok(maximumVolumeBytes > TiB && maximumVolumeBytes <= capacityBytes, String(maximumVolumeBytes));
      const tooLarge = { requiredBytes: maximumVolumeBytes + 1 };
      await assert.rejects(makeVolume(backend, tooLarge), isProblem('OUT_OF_RANGE'));
      const volume = await makeVolume(backend, { requiredBytes: MiB });
      const grow = backend.expand?.(volume, { ...tooLarge, limitBytes: 0 });
      await assert.rejects(Promise.resolve(grow), isProblem('OUT_OF_RANGE'));
      const largest = await makeVolume(backend, { id: 'a.largest', requiredBytes: maximumVolumeBytes - MiB });
      assert.equal(largest.sizeBytes, maximumVolumeBytes - MiB);
    },
  );
}

test('ext4 takes no file of all that a pool may promise', async t => {
  const skip = whyNoPool('ext4');
  if (skip !== undefined) return t.skip(skip);
  const { backend } = await openPool(t, 'ext4', { capacityBytes });
  assert.ok((backend.sizes?.maximumBytes ?? capacityBytes) < capacityBytes);
});

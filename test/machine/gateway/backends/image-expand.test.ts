import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeVolume } from '../../../suites/backend-members.ts';
import { connectLoop, disconnectLoop, hashOf, MiB, openPool, whyNoPool } from './image-pool.ts';

const skip = whyNoPool('ext4');
const options = skip === undefined ? {} : { skip };
const unbounded = { limitBytes: 0 };

test('a volume in use grows, and its loop device sees that after a rescan', options, async t => {
  const { backend, directory, content } = await openPool(t, 'ext4');
  const volume = await makeVolume(backend, { requiredBytes: 4 * MiB });
  await content.write(volume.id, 0, randomBytes(4 * MiB));
  const path = join(directory, 'a.volume.img');
  const before = hashOf(path);
  const device = connectLoop(path);
  const grown = await backend.expand?.(volume, { requiredBytes: 10 * MiB, ...unbounded });
  assert.deepEqual(grown, { sizeBytes: 10 * MiB, nodeExpansionRequired: true });
  execFileSync('losetup', ['--set-capacity', device]);
  assert.equal(Number(execFileSync('blockdev', ['--getsize64', device], { encoding: 'utf8' })), 10 * MiB);
  disconnectLoop(device);
  truncateSync(path, 4 * MiB);
  assert.equal(hashOf(path), before);
});

test(
  'a volume whose filesystem cannot hold what it may still be filled with is DEGRADED',
  options,
  async t => {
    const { backend, content } = await openPool(t, 'ext4', { sizeBytes: 64 * MiB, capacityBytes: 2 ** 40 });
    const small = await makeVolume(backend, { id: 'a.small' });
    const large = await makeVolume(backend, { id: 'a.large', requiredBytes: 100 * MiB });
    const [entry, ...rest] = (await backend.volumeHealth?.(large)) ?? [];
    assert.deepEqual([entry?.status, entry?.reason, rest], ['DEGRADED', 'PoolTooSmall', []]);
    assert.deepEqual(await backend.volumeHealth?.(small), []);
    await content.write(small.id, 0, randomBytes(MiB));
    assert.deepEqual(await backend.volumeHealth?.(small), []);
  },
);

test('a filesystem that has become read-only makes its volumes DEGRADED', options, async t => {
  const { backend, directory } = await openPool(t, 'ext4');
  const volume = await makeVolume(backend);
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map(line => line.split(' ')[4] ?? '');
  const mounted = mounts.find(path => path !== '/' && path !== '' && directory.startsWith(`${path}/images-`));
  execFileSync('mount', ['--options', 'remount,ro', '--', String(mounted)]);
  const entries = await backend.volumeHealth?.(volume);
  execFileSync('mount', ['--options', 'remount,rw', '--', String(mounted)]);
  assert.deepEqual(
    entries?.map(({ status, reason }) => [status, reason]),
    [['DEGRADED', 'PoolReadOnly']],
  );
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, truncateSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe } from 'node:test';
import { connectInOwnMounts } from '../../../harness/machine.ts';
import { makeVolume } from '../../../suites/backend-fixtures.ts';
import { testBackend } from '../../../suites/backend.ts';
import {
  allocatedOf,
  connectLoop,
  disconnectLoop,
  imagesIn,
  MiB,
  openPool,
  poolFilesystems,
  testPool,
  whyNoPool,
} from './image-pool.ts';
import { hashOf } from '../../../harness/values.ts';

for (const filesystem of poolFilesystems)
  describe(`the image backend on ${filesystem}`, { skip: whyNoPool[filesystem] }, () => {
    testBackend(t => openPool(t, filesystem));
  });

const preallocate = { preallocate: 'true' };

testPool('a volume open as a loop device is not detached or deleted', { on: ['ext4'] }, async pool => {
  const { backend, directory } = pool;
  const volume = await makeVolume(backend);
  const device = connectLoop(join(directory, 'a.volume.img'));
  const names = {
    code: 'FAILED_PRECONDITION',
    detail: new RegExp(`"a\\.volume" is still in use by ${device}`),
  };
  await assert.rejects(backend.detach(volume, 'n1'), names);
  await assert.rejects(backend.delete(volume), names);
  assert.deepEqual(imagesIn(directory), ['a.volume.img']);
  disconnectLoop(device);
  await backend.detach(volume, 'n1');
  await backend.delete(volume);
});

testPool(
  'a loop device keeps its volume, and no other volume, when its mount namespace is gone',
  { on: ['ext4'] },
  async (pool, t) => {
    const { backend, directory } = pool;
    const [volume, other] = [await makeVolume(backend), await makeVolume(backend, { id: 'a.other' })];
    const elsewhere = await connectInOwnMounts(t, {
      directory,
      at: dirname(dirname(directory)),
      name: 'a.volume.img',
    });
    await elsewhere.end();
    const inUse = { code: 'FAILED_PRECONDITION', detail: new RegExp(`in use by ${elsewhere.device}`) };
    await assert.rejects(backend.detach(volume, 'n1'), inUse);
    await assert.rejects(backend.delete(volume), inUse);
    await backend.delete(other);
    disconnectLoop(elsewhere.device);
    await backend.delete(volume);
  },
);

testPool(
  'a loop device does not hold a volume whose path another file has in another mount namespace',
  { on: ['ext4'] },
  async (pool, t) => {
    const { backend, directory } = pool;
    const [volume, other] = [await makeVolume(backend), `${directory}/other`];
    mkdirSync(other);
    execFileSync('truncate', ['--size=1M', `${other}/a.volume.img`]);
    const elsewhere = await connectInOwnMounts(t, { directory: other, at: directory, name: 'a.volume.img' });
    await backend.detach(volume, 'n1');
    await backend.delete(volume);
    disconnectLoop(elsewhere.device);
    await elsewhere.end();
  },
);

testPool(
  'a volume whose image was deleted is in use while a loop device has it, and then deleted',
  { on: ['ext4'] },
  async pool => {
    const { backend, directory } = pool;
    const volume = await makeVolume(backend);
    const device = connectLoop(join(directory, 'a.volume.img'));
    rmSync(join(directory, 'a.volume.img'));
    await assert.rejects(backend.detach(volume, 'n1'), { code: 'FAILED_PRECONDITION' });
    disconnectLoop(device);
    await backend.detach(volume, 'n1');
    await backend.delete(volume);
  },
);

testPool('a volume in use grows, and its loop device after a rescan', { on: ['ext4'] }, async pool => {
  const { backend, directory, content } = pool;
  const volume = await makeVolume(backend, { requiredBytes: 4 * MiB });
  content.write(volume.id, 0, randomBytes(4 * MiB));
  const path = join(directory, 'a.volume.img');
  const before = hashOf(path);
  const device = connectLoop(path);
  const grown = await backend.expand(volume, { requiredBytes: 10 * MiB, limitBytes: 0 });
  assert.deepEqual(grown, { sizeBytes: 10 * MiB, nodeExpansionRequired: true });
  execFileSync('losetup', ['--set-capacity', device]);
  assert.equal(Number(execFileSync('blockdev', ['--getsize64', device], { encoding: 'utf8' })), 10 * MiB);
  disconnectLoop(device);
  truncateSync(path, 4 * MiB);
  assert.equal(hashOf(path), before);
});

testPool('a pool too small or read-only makes volumes DEGRADED', { on: ['ext4'] }, async pool => {
  const { backend, content, directory } = pool;
  const small = await makeVolume(backend);
  const large = await makeVolume(backend, { id: 'a.large', requiredBytes: 600 * MiB });
  const healthOf = async (volume: typeof small) =>
    (await backend.volumeHealth(volume)).map(({ status, reason }) => `${status} ${reason}`);
  assert.deepEqual(await healthOf(large), ['DEGRADED PoolTooSmall']);
  content.write(small.id, 0, randomBytes(MiB));
  assert.deepEqual(await healthOf(small), []);
  const mounted = dirname(directory);
  execFileSync('mount', ['--options', 'remount,ro', '--', mounted]);
  const found = await healthOf(small);
  execFileSync('mount', ['--options', 'remount,rw', '--', mounted]);
  assert.deepEqual(found, ['DEGRADED PoolReadOnly']);
});

testPool('a preallocated volume can be written on a full disk', { on: ['ext4', 'xfs'] }, async pool => {
  const { backend, content, directory } = pool;
  const volume = await makeVolume(backend, { requiredBytes: 32 * MiB });
  const bytes = randomBytes(MiB);
  content.write(volume.id, 3 * MiB, bytes);
  await backend.modification.apply(volume, preallocate);
  const path = join(directory, 'a.volume.img');
  assert.ok(allocatedOf(path) >= 32 * MiB);
  assert.deepEqual(content.read(volume.id, 3 * MiB, MiB), bytes);
  assert.throws(() => fill(join(directory, 'rest')));
  fill(path, 'count=32', 'conv=notrunc,fsync');
});

testPool(
  'a file that cannot be allocated is neither removed nor emptied, however late the failure comes',
  { on: ['ext4', 'xfs'] },
  async pool => {
    const { backend, content, directory } = pool;
    const large = { requiredBytes: 600 * MiB, mutableParameters: preallocate };
    await assert.rejects(makeVolume(backend, large), { code: 'RESOURCE_EXHAUSTED' });
    await backend.delete({ id: 'a.volume', nonce: 'own' });
    assert.deepEqual(imagesIn(directory), []);
    await makeVolume(backend, { ...large, id: 'a.small', requiredBytes: 40 * MiB });
    assert.ok(allocatedOf(join(directory, 'a.small.img')) >= 40 * MiB);
    await makeVolume(backend, { requiredBytes: 600 * MiB });
    content.write('a.volume', 0, Buffer.from('data'));
    await assert.rejects(makeVolume(backend, large), { code: 'RESOURCE_EXHAUSTED' });
    assert.equal(String(content.read('a.volume', 0, 4)), 'data');
  },
);

testPool('where blocks are shared nothing is preallocated', { on: ['btrfs'] }, async ({ backend }) => {
  assert.equal(backend.modification, undefined);
});

/** Writes zeros until the file is full; throws on an error. */
function fill(file: string, ...more: readonly string[]): void {
  execFileSync('dd', ['if=/dev/zero', `of=${file}`, 'bs=1M', ...more], { stdio: 'pipe' });
}

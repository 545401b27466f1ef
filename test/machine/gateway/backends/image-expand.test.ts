import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isProblem } from '../../../harness/gateway-problems.ts';
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

test('a volume that grew and was not recorded yet can be attached', options, async t => {
  const { backend } = await openPool(t, 'ext4');
  const volume = await makeVolume(backend);
  await backend.expand?.(volume, { requiredBytes: 2 * MiB, ...unbounded });
  const capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;
  const access = { nodeId: 'n1', attachmentId: 'x', capability, readonly: false };
  assert.equal((await backend.attach(volume, access)).protocol, 'loop');
  const larger = { ...volume, sizeBytes: 3 * MiB };
  await assert.rejects(backend.attach(larger, access), isProblem('FAILED_PRECONDITION'));
});

test('a volume that is not there does not grow', options, async t => {
  const { backend, directory } = await openPool(t, 'ext4');
  const never = { id: 'a.never', sizeBytes: MiB, parameters: {} };
  await assert.rejects(
    async () => backend.expand?.(never, { requiredBytes: MiB, ...unbounded }),
    isProblem('NOT_FOUND'),
  );
  assert.throws(() => statSync(join(directory, 'a.never.img')));
});

test(
  'an image that is cut off or gone is DATA_LOSS, and one that is no file INACCESSIBLE',
  options,
  async t => {
    const { backend, directory } = await openPool(t, 'ext4');
    const volume = await makeVolume(backend, { requiredBytes: 4 * MiB });
    const path = join(directory, 'a.volume.img');
    const ailment = async () =>
      (await backend.volumeHealth?.(volume))?.map(({ status, reason }) => `${status} ${reason}`);
    assert.deepEqual(await ailment(), []);
    truncateSync(path, MiB);
    assert.deepEqual(await ailment(), ['DATA_LOSS ImageTruncated']);
    rmSync(path);
    assert.deepEqual(await ailment(), ['DATA_LOSS ImageMissing']);
    mkdirSync(path);
    assert.deepEqual(await ailment(), ['INACCESSIBLE ImageUnreadable']);
  },
);

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

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Backend } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { newVolume, testBackend } from '../../../suites/backend.ts';
import { temporaryDirectory } from '../../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';
import { imagesIn } from './image-pool.ts';
import { openPlugin } from '../../../harness/open-plugin.ts';

const roomBytes = 4 * 2 ** 30;
const mebibyte = 2 ** 20;

testBackend(async t => (await openImages(t)).backend, roomBytes);

async function openImages(
  t: TestContext,
  directory = temporaryDirectory(t),
  capacity: number | undefined = roomBytes,
): Promise<{ backend: Backend; directory: string }> {
  const backend = await openPlugin(backends.image, { dir: directory, capacity });
  t.after(() => backend.close?.());
  return { backend, directory };
}

test('a volume is one sparse file that only its owner can read', async t => {
  const { backend, directory } = await openImages(t);
  await backend.create(newVolume({ requiredBytes: 100 * mebibyte }));
  assert.deepEqual(imagesIn(directory), ['a.volume.img']);
  const { size, blocks, mode } = statSync(join(directory, 'a.volume.img'));
  assert.equal(size, 100 * mebibyte);
  assert.ok(blocks * 512 < mebibyte);
  assert.equal(mode & 0o777, 0o600);
});

test('an image is a whole number of mebibytes, or OUT_OF_RANGE', async t => {
  const { backend } = await openImages(t);
  const rounded = await backend.create(newVolume({ requiredBytes: mebibyte + 1 }));
  assert.equal(rounded.sizeBytes, 2 * mebibyte);
  const rows = [
    { requiredBytes: mebibyte + 1, limitBytes: 2 * mebibyte - 1 },
    { requiredBytes: 0, limitBytes: mebibyte - 1 },
  ];
  for (const row of rows)
    await assert.rejects(backend.create(newVolume({ id: 'a.odd', ...row })), isProblem('OUT_OF_RANGE'));
});

test('what an unfinished create left is completed', async t => {
  const { backend, directory } = await openImages(t);
  writeFileSync(join(directory, 'a.volume.img'), '');
  assert.deepEqual(await backend.create(newVolume({ requiredBytes: 3 * mebibyte })), {
    sizeBytes: 3 * mebibyte,
  });
  assert.equal(statSync(join(directory, 'a.volume.img')).size, 3 * mebibyte);
});

test('what an unfinished create left is removed when the volume does not fit', async t => {
  const { backend, directory } = await openImages(t);
  writeFileSync(join(directory, 'a.volume.img'), '');
  const tooLarge = newVolume({ requiredBytes: 2 * roomBytes });
  await assert.rejects(backend.create(tooLarge), isProblem('OUT_OF_RANGE'));
  assert.deepEqual(imagesIn(directory), []);
});

test('an image with data is never cut off', async t => {
  const { backend, directory } = await openImages(t);
  const path = join(directory, 'a.volume.img');
  writeFileSync(path, 'data');
  truncateSync(path, 4 * mebibyte);
  const smaller = newVolume({ limitBytes: 2 * mebibyte });
  await assert.rejects(backend.create(smaller), isProblem('ALREADY_EXISTS'));
  assert.equal(statSync(path).size, 4 * mebibyte);
  assert.equal(readFileSync(path, 'utf8').slice(0, 4), 'data');
});

test('images that were there at the start count, and other files do not', async t => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'a.old.img'), '');
  truncateSync(join(directory, 'a.old.img'), 64 * mebibyte);
  writeFileSync(join(directory, 'notes.txt'), 'x');
  const { backend } = await openImages(t, directory);
  assert.equal((await backend.capacity?.())?.availableBytes, roomBytes - 64 * mebibyte);
  assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), ['a.old']);
});

test('without image-capacity the room is what the filesystem has', async t => {
  const directory = temporaryDirectory(t);
  const backend = await openPlugin(backends.image, { dir: directory });
  t.after(() => backend.close?.());
  const { availableBytes = 0 } = (await backend.capacity?.()) ?? {};
  assert.ok(availableBytes > 0);
  const tooLarge = newVolume({ requiredBytes: 2 ** 50 });
  await assert.rejects(backend.create(tooLarge), isProblem('OUT_OF_RANGE'));
});

test('no id leads out of the directory', async t => {
  const { backend, directory } = await openImages(t);
  const ids = ['../escape', 'a/../../escape', 'a.x/../../escape', '/etc/passwd', 'a.x\0', '', '.', 'a.'];
  for (const id of ids) {
    await assert.rejects(backend.create(newVolume({ id })), isProblem('INVALID_ARGUMENT'), id);
    await assert.rejects(backend.delete({ id }), isProblem('INVALID_ARGUMENT'), id);
  }
  assert.deepEqual(imagesIn(directory), []);
});

test('a link in the place of an image is not followed', async t => {
  const { backend, directory } = await openImages(t);
  const target = join(temporaryDirectory(t), 'target');
  symlinkSync(target, join(directory, 'a.volume.img'));
  await assert.rejects(backend.create(newVolume()), isProblem('UNAVAILABLE'));
  assert.throws(() => statSync(target));
});

test('attaching tells the path of the image, and fails when the image is gone', async t => {
  const { backend, directory } = await openImages(t);
  const { sizeBytes } = await backend.create(newVolume());
  const known = { id: 'a.volume', sizeBytes, parameters: {} };
  const capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;
  const access = { nodeId: 'n1', attachmentId: 'x', capability, readonly: false };
  assert.deepEqual(await backend.attach(known, access), {
    protocol: 'loop',
    path: join(directory, 'a.volume.img'),
  });
  await backend.delete(known);
  await assert.rejects(backend.attach(known, access), isProblem('FAILED_PRECONDITION'));
});

test('a volume that a loop device has open is neither detached nor deleted', async t => {
  if (process.getuid?.() !== 0) return t.skip('needs root for a loop device');
  const { backend, directory } = await openImages(t);
  await backend.create(newVolume());
  const path = join(directory, 'a.volume.img');
  let device: string;
  try {
    device = execFileSync('losetup', ['--find', '--show', '--', path], { encoding: 'utf8' }).trim();
  } catch {
    return t.skip('this machine gives no loop device');
  }
  const release = (): void => void execFileSync('losetup', ['--detach', device]);
  try {
    const names = isProblemThat(
      'FAILED_PRECONDITION',
      new RegExp(`"a\\.volume" is still in use by ${device}`),
    );
    await assert.rejects(backend.detach({ id: 'a.volume' }, 'n1'), names);
    await assert.rejects(backend.delete({ id: 'a.volume' }), names);
    assert.deepEqual(imagesIn(directory), ['a.volume.img']);
  } finally {
    release();
  }
  await backend.detach({ id: 'a.volume' }, 'n1');
  await backend.delete({ id: 'a.volume' });
});

const unusable = [
  { name: 'is not there', make: (dir: string) => join(dir, 'none'), says: /there is no such directory/ },
  {
    name: 'is a file',
    make: (dir: string) => {
      writeFileSync(join(dir, 'file'), '');
      return join(dir, 'file');
    },
    says: /it is not a directory/,
  },
];
for (const { name, make, says } of unusable) {
  test(`an image directory that ${name} is refused with one line`, async t => {
    const directory = make(temporaryDirectory(t));
    await assert.rejects(openImages(t, directory), (error: Error) => {
      assert.match(error.message, says);
      assert.match(error.message, new RegExp(`^cannot use the image directory "${directory}"`));
      return true;
    });
  });
}

test('a link to the directory is resolved, as the kernel shows the files of loop devices', async t => {
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, 'real'));
  symlinkSync(join(directory, 'real'), join(directory, 'link'));
  const { backend } = await openImages(t, join(directory, 'link'));
  const { sizeBytes } = await backend.create(newVolume());
  const capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;
  const access = { nodeId: 'n1', attachmentId: 'x', capability, readonly: false };
  const reach = await backend.attach({ id: 'a.volume', sizeBytes, parameters: {} }, access);
  assert.deepEqual(reach, { protocol: 'loop', path: join(directory, 'real', 'a.volume.img') });
});

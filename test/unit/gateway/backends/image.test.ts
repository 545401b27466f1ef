import assert from 'node:assert/strict';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Backend } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { newVolume, testBackend } from '../../../suites/backend.ts';
import { contentOf, testBackendMembers } from '../../../suites/backend-members.ts';
import { temporaryDirectory } from '../../../harness/gateway-harness.ts';
import { isProblem } from '../../../harness/gateway-problems.ts';
import { openPlugin } from '../../../harness/open-plugin.ts';

const mebibyte = 2 ** 20;
const capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;
const access = { nodeId: 'n1', attachmentId: 'x', capability, readonly: false };

testBackend(async t => (await openImages(t)).backend);
testBackendMembers(async t => {
  const { backend, directory } = await openImages(t);
  const content = contentOf(id => join(directory, `${id}.img`));
  return { backend, content, mutableParameters: { preallocate: 'true' } };
});

async function openImages(
  t: TestContext,
  directory = temporaryDirectory(t),
): Promise<{ backend: Backend; directory: string }> {
  const backend = await openPlugin(backends.image, { dir: directory });
  t.after(() => backend.close?.());
  return { backend, directory };
}

function imagesIn(directory: string): readonly string[] {
  return readdirSync(directory).filter(name => name.endsWith('.img'));
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

test('what an unfinished create left is completed', async t => {
  const { backend, directory } = await openImages(t);
  writeFileSync(join(directory, 'a.volume.img'), '');
  assert.deepEqual(await backend.create(newVolume({ requiredBytes: 3 * mebibyte })), {
    sizeBytes: 3 * mebibyte,
  });
  assert.equal(statSync(join(directory, 'a.volume.img')).size, 3 * mebibyte);
});

test('a size that the filesystem cannot hold is OUT_OF_RANGE, and nothing is left', async t => {
  const { backend, directory } = await openImages(t);
  const tooLarge = { requiredBytes: Number.MAX_SAFE_INTEGER };
  const made = backend.create(newVolume(tooLarge)).then(() => assert.ok(true), isOutOfRange);
  await made;
  if (imagesIn(directory).length > 0) return t.skip('this filesystem holds files of any size');
  const known = { id: 'a.volume', ...(await backend.create(newVolume())), parameters: {} };
  await assert.rejects(
    async () => backend.expand?.(known, { ...tooLarge, limitBytes: 0 }),
    isProblem('OUT_OF_RANGE'),
  );
  assert.equal(statSync(join(directory, 'a.volume.img')).size, mebibyte);
});

function isOutOfRange(error: unknown): void {
  assert.ok(isProblem('OUT_OF_RANGE')(error), String(error));
}

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

test('images that were there at the start are listed, and other files are not', async t => {
  const directory = temporaryDirectory(t);
  for (const name of ['a.old.img', 'notes.txt', 'old.img']) writeFileSync(join(directory, name), 'x');
  const { backend } = await openImages(t, directory);
  assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), ['a.old']);
});

test('the capacity is what is set, or else what the filesystem can hold', async t => {
  const directory = temporaryDirectory(t);
  const backend = await openPlugin(backends.image, { dir: directory, capacity: '10Gi' });
  assert.deepEqual(await backend.capacity?.(), { totalBytes: 10 * 2 ** 30 });
  await backend.close?.();
  const whole = await openImages(t, directory);
  assert.ok(((await whole.backend.capacity?.())?.totalBytes ?? 0) > 0);
});

test('a directory has one gateway at a time', async t => {
  const { backend, directory } = await openImages(t);
  await assert.rejects(openImages(t, directory), { message: /is in use by a live process/ });
  await backend.close?.();
  await openImages(t, directory);
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
  assert.deepEqual(await backend.attach(known, access), {
    protocol: 'loop',
    path: join(directory, 'a.volume.img'),
  });
  await backend.delete(known);
  await assert.rejects(backend.attach(known, access), isProblem('FAILED_PRECONDITION'));
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
  const reach = await backend.attach({ id: 'a.volume', sizeBytes, parameters: {} }, access);
  assert.deepEqual(reach, { protocol: 'loop', path: join(directory, 'real', 'a.volume.img') });
});

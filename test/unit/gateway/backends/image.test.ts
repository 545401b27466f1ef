import assert from 'node:assert/strict';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Backend } from '../../../../gateway/backend.ts';
import { copyTogether, fromVolume } from '../../../../gateway/backends/image/copies.ts';
import { openPool } from '../../../../gateway/backends/image/pool.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { newVolume, testBackend } from '../../../suites/backend.ts';
import { contentOf, makeVolume, testBackendMembers } from '../../../suites/backend-members.ts';
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

const known = { id: 'a.volume', sizeBytes: mebibyte, parameters: {} };
const source = { kind: 'volume', volume: known, attachedForWriting: false } as const;

test('a volume is one sparse file that only its owner can read', async t => {
  const { backend, directory } = await openImages(t);
  await backend.create(newVolume({ requiredBytes: 100 * mebibyte }));
  assert.deepEqual(imagesIn(directory), ['a.volume.img']);
  const { size, blocks, mode } = statSync(join(directory, 'a.volume.img'));
  assert.equal(size, 100 * mebibyte);
  assert.ok(blocks * 512 < mebibyte);
  assert.equal(mode & 0o777, 0o600);
});

test('a snapshot takes what its volume has allocated, and the backend says so before', async t => {
  const { backend, directory } = await openImages(t);
  await backend.create(newVolume({ requiredBytes: 100 * mebibyte }));
  const path = join(directory, 'a.volume.img');
  writeFileSync(path, Buffer.alloc(4 * mebibyte, 1), { flag: 'r+' });
  const volume = { ...known, sizeBytes: 100 * mebibyte };
  const bytes = (await backend.snapshots?.measure?.(volume)) ?? 0;
  assert.ok(bytes >= 4 * mebibyte && bytes < 20 * mebibyte, String(bytes));
  const cut = { id: 'a.cut', volume, attachedForWriting: false, parameters: {} };
  const { reservedBytes = 0 } = (await backend.snapshots?.create(cut)) ?? {};
  assert.ok(reservedBytes <= bytes, `${reservedBytes} of ${bytes}`);
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
  await makeVolume(backend);
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
  await makeVolume(backend);
  assert.deepEqual(await backend.attach(known, access), {
    protocol: 'loop',
    path: join(directory, 'a.volume.img'),
  });
  await backend.delete(known);
  await assert.rejects(backend.attach(known, access), isProblem('FAILED_PRECONDITION'));
});

test('a volume that grew and was not recorded yet can be attached', async t => {
  const { backend } = await openImages(t);
  await makeVolume(backend);
  await backend.expand?.(known, { requiredBytes: 2 * mebibyte, limitBytes: 0 });
  assert.equal((await backend.attach(known, access)).protocol, 'loop');
  const larger = { ...known, sizeBytes: 3 * mebibyte };
  await assert.rejects(backend.attach(larger, access), isProblem('FAILED_PRECONDITION'));
});

test('a volume that is missing neither grows nor is copied, and nothing is left', async t => {
  const { backend, directory } = await openImages(t);
  const bounds = { requiredBytes: mebibyte, limitBytes: 0 };
  await assert.rejects(async () => backend.expand?.(known, bounds), isProblem('NOT_FOUND'));
  const snapshot = { id: 'a.never', volumeId: 'a.volume', sizeBytes: mebibyte };
  for (const missing of [source, { kind: 'snapshot', snapshot } as const])
    await assert.rejects(makeVolume(backend, { id: 'a.clone', source: missing }), isProblem('NOT_FOUND'));
  assert.deepEqual(imagesIn(directory), []);
  assert.deepEqual(readdirSync(join(directory, 'drafts')), []);
});

test('an image that is cut off or gone is DATA_LOSS, and one that is no file INACCESSIBLE', async t => {
  const { backend, directory } = await openImages(t);
  const volume = await makeVolume(backend, { requiredBytes: 4 * mebibyte });
  const path = join(directory, 'a.volume.img');
  const found = async () =>
    (await backend.volumeHealth?.(volume))?.map(({ status, reason }) => `${status} ${reason}`);
  assert.deepEqual(await found(), []);
  truncateSync(path, mebibyte);
  assert.deepEqual(await found(), ['DATA_LOSS ImageTruncated']);
  rmSync(path);
  assert.deepEqual(await found(), ['DATA_LOSS ImageMissing']);
  mkdirSync(path);
  assert.deepEqual(await found(), ['INACCESSIBLE ImageUnreadable']);
});

test('a clone is readable by its owner alone, and an image without a size gives way to it', async t => {
  const { backend, directory } = await openImages(t);
  await makeVolume(backend);
  writeFileSync(join(directory, 'a.clone.img'), '');
  await makeVolume(backend, { id: 'a.clone', source });
  const { mode, size } = statSync(join(directory, 'a.clone.img'));
  assert.deepEqual([mode & 0o777, size], [0o600, mebibyte]);
});

test('a copy never replaces a file that has its name', async t => {
  const { backend, directory } = await openImages(t);
  await makeVolume(backend);
  const target = join(directory, 'a.clone.img');
  writeFileSync(target, 'in use');
  await copyTogether(openPool(directory), [{ ...fromVolume(openPool(directory), source), target }]);
  assert.equal(readFileSync(target, 'utf8'), 'in use');
  assert.deepEqual(readdirSync(join(directory, 'drafts')), []);
});

test('an interrupted copy is removed at the next start', async t => {
  const { backend, directory } = await openImages(t);
  writeFileSync(join(directory, 'drafts', 'a.clone.img.1'), 'half');
  await backend.close?.();
  await openImages(t, directory);
  assert.deepEqual(readdirSync(join(directory, 'drafts')), []);
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
  const reach = await backend.attach(await makeVolume(backend), access);
  assert.deepEqual(reach, { protocol: 'loop', path: join(directory, 'real', 'a.volume.img') });
});

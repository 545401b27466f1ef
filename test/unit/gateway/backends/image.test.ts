import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Problem } from '../../../../src/api/problem.ts';
import { openImages } from '../../../../gateway/backends/image.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { copyImage, fromVolume } from '../../../../gateway/backends/image/copies.ts';
import type { MappedExtent } from '../../../../gateway/backends/image/extents.ts';
import { openPool } from '../../../../gateway/backends/image/pool.ts';
import { unsharedRanges } from '../../../../gateway/backends/image/changes.ts';
import type { RecordedAttachment } from '../../../../gateway/export.ts';
import { openLoop } from '../../../../gateway/exports/loop.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';
import { openPlugin } from '../../../harness/gateway/open-plugin.ts';
import {
  contentOf,
  idsOf,
  makeVolume,
  newSnapshot,
  newVolume,
  sourceOf,
  takeSnapshot,
} from '../../../suites/backend-fixtures.ts';
import { createLocal } from './local.ts';

const mebibyte = 2 ** 20;
const { open } = createLocal(backends.image);
const known = { id: 'a.volume', sizeBytes: mebibyte, parameters: {} };
const source = { kind: 'volume', volume: known, attachedForWriting: false } as const;

function imagesIn(directory: string): readonly string[] {
  return readdirSync(directory).filter(name => name.endsWith('.img'));
}

test('a pool is not opened while nbd-servers of an earlier release may write to its images', async t => {
  const { backend, root } = await open(t);
  await backend.close?.();
  const config = join(root, '.nbd', 'a.volume');
  mkdirSync(join(root, '.nbd'));
  writeFileSync(config, '');
  const says = `nbd is no longer offered, and "${root}/.nbd" names servers of it: end them, then remove the directory`;
  await assert.rejects(openPlugin(backends.image, { dir: root }), { message: `export: ${says}` });
  const settings = backends.image.settings.parse({ dir: root });
  assert.deepEqual(await backends.image.check?.(settings, { name: 'test', log: silentLog }), [
    `export: ${says}`,
  ]);
  rmSync(config);
  await (await openPlugin(backends.image, { dir: root })).close?.();
});

test('a volume is a sparse file that only its owner can read, and so is a clone', async t => {
  const { backend, root } = await open(t);
  const volume = await makeVolume(backend, { requiredBytes: 100 * mebibyte });
  // The remains of an unfinished create of an empty volume give way to a clone.
  writeFileSync(join(root, 'a.clone.img'), '');
  await makeVolume(backend, { id: 'a.clone', source: await sourceOf(backend, 'volume', volume) });
  assert.deepEqual(imagesIn(root).toSorted(), ['a.clone.img', 'a.volume.img']);
  for (const name of imagesIn(root)) {
    const { size, blocks, mode } = statSync(join(root, name));
    assert.deepEqual([size, mode & 0o777], [100 * mebibyte, 0o600]);
    assert.ok(blocks * 512 < mebibyte);
  }
});

test('a snapshot takes as much as its volume has allocated, which the backend reports before', async t => {
  const { backend, root } = await open(t);
  const volume = await makeVolume(backend, { requiredBytes: 100 * mebibyte });
  writeFileSync(join(root, 'a.volume.img'), Buffer.alloc(4 * mebibyte, 1), { flag: 'r+' });
  const bytes = await backend.snapshots.measure(volume);
  assert.ok(bytes >= 4 * mebibyte && bytes < 20 * mebibyte, String(bytes));
  const snapshot = newSnapshot('a.snapshot', volume);
  const { reservedBytes = 0 } = await backend.snapshots.create(snapshot);
  assert.ok(reservedBytes >= 4 * mebibyte && reservedBytes <= bytes, `${reservedBytes} of ${bytes}`);
  assert.equal((await backend.snapshots.create(snapshot)).reservedBytes, reservedBytes);
});

test('group snapshots are not offered', async t => {
  const { backend } = await open(t);
  assert.ok(!('createGroup' in backend.snapshots));
});

test('a size that the filesystem cannot hold is OUT_OF_RANGE, and a delete leaves nothing', async t => {
  const { backend, root } = await open(t);
  const tooLarge = { requiredBytes: Number.MAX_SAFE_INTEGER, limitBytes: 0 };
  const made = await backend
    .create(newVolume(tooLarge))
    .catch((error: Problem) => assert.equal(error.code, 'OUT_OF_RANGE'));
  if (made) return t.skip('this filesystem holds files of any size');
  await backend.delete(newVolume());
  assert.deepEqual(imagesIn(root), []);
  await makeVolume(backend);
  await assert.rejects(backend.expand(known, tooLarge), { code: 'OUT_OF_RANGE' });
  assert.equal(statSync(join(root, 'a.volume.img')).size, mebibyte);
});

test('existing images are listed after the start, and other files are not', async t => {
  const { backend, root } = await open(t);
  for (const name of ['a.old.img', 'notes.txt', 'old.img']) writeFileSync(join(root, name), 'x');
  assert.deepEqual(await idsOf(backend), ['a.old']);
});

test('an expanded volume that is not recorded yet is attached, and not cloned to a smaller size', async t => {
  const { backend, root, access } = await open(t);
  await makeVolume(backend);
  await backend.expand(known, { requiredBytes: 2 * mebibyte, limitBytes: 0 });
  assert.equal((await backend.attach(known, access)).protocol, 'loop');
  const larger = { ...known, sizeBytes: 3 * mebibyte };
  await assert.rejects(backend.attach(larger, access), { code: 'FAILED_PRECONDITION' });
  const clone = makeVolume(backend, { id: 'a.clone', source, limitBytes: mebibyte });
  await assert.rejects(clone, { code: 'OUT_OF_RANGE' });
  assert.deepEqual(imagesIn(root), ['a.volume.img']);
});

test('a missing volume is neither expanded nor copied nor read, and nothing is left', async t => {
  const { backend, root } = await open(t);
  const isMissing = { code: 'NOT_FOUND' };
  await assert.rejects(backend.expand(known, { requiredBytes: mebibyte, limitBytes: 0 }), isMissing);
  const snapshot = { id: 'a.never', volumeId: 'a.volume', sizeBytes: mebibyte };
  for (const missing of [source, { kind: 'snapshot', snapshot } as const])
    await assert.rejects(makeVolume(backend, { id: 'a.clone', source: missing }), isMissing);
  await assert.rejects(Array.fromAsync(backend.changes.allocated(snapshot, 0)), isMissing);
  assert.deepEqual([imagesIn(root), readdirSync(join(root, 'drafts'))], [[], []]);
});

test('a truncated or missing image is DATA_LOSS, and one that is no file is INACCESSIBLE', async t => {
  const { backend, root } = await open(t);
  const volume = await makeVolume(backend, { requiredBytes: 4 * mebibyte });
  const path = join(root, 'a.volume.img');
  const found = async () =>
    (await backend.volumeHealth(volume)).map(({ status, reason }) => `${status} ${reason}`);
  truncateSync(path, mebibyte);
  assert.deepEqual(await found(), ['DATA_LOSS ImageTruncated']);
  rmSync(path);
  assert.deepEqual(await found(), ['DATA_LOSS ImageMissing']);
  mkdirSync(path);
  assert.deepEqual(await found(), ['INACCESSIBLE ImageUnreadable']);
});

test('a copy never replaces a file with its name, and leaves no draft', async t => {
  const { backend, root } = await open(t);
  await makeVolume(backend);
  const [pool, target] = [openPool(root, openLoop()), join(root, 'a.clone.img')];
  writeFileSync(target, 'in use');
  const copy = { ...fromVolume(pool, source), target, nonce: 'own' };
  await assert.rejects(copyImage(pool, copy), { code: 'ALREADY_EXISTS' });
  assert.equal(readFileSync(target, 'utf8'), 'in use');
  assert.deepEqual(readdirSync(join(root, 'drafts')), []);
  writeFileSync(join(root, 'drafts', 'a.two.img.1'), 'half');
  openPool(root, openLoop());
  assert.deepEqual(readdirSync(join(root, 'drafts')), []);
});

test('a link to the directory is resolved, as the kernel shows the files of loop devices', async t => {
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, 'real'));
  symlinkSync(join(directory, 'real'), join(directory, 'link'));
  const backend = await openPlugin(backends.image, { dir: join(directory, 'link') });
  t.after(() => backend.close?.());
  const capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;
  const access = { nodeId: 'n1', attachmentId: 'x', capability, readonly: false };
  const reach = await backend.attach(await makeVolume(backend), access);
  assert.deepEqual(reach, { protocol: 'loop', path: join(directory, 'real', 'a.volume.img') });
});

test('an export learns at the start how nodes reach their volumes', async t => {
  const told: RecordedAttachment[] = [];
  const restore = async (recorded: AsyncIterable<RecordedAttachment>): Promise<void> =>
    void told.push(...(await Array.fromAsync(recorded)));
  const exporting = { exported: { ...openLoop(), restore }, log: silentLog };
  const backend = await openImages(temporaryDirectory(t), 2 ** 30, exporting);
  t.after(() => backend.close());
  const volume = await makeVolume(backend);
  const capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;
  const access = { nodeId: 'n1', attachmentId: 'x', capability, readonly: false };
  const reach = await backend.attach(volume, access);
  async function* attached() {
    yield { volume, access, reach };
  }
  await backend.restore(attached());
  assert.partialDeepStrictEqual(told, [{ volume: { id: volume.id }, access, reach }]);
});

test('every byte is compared if the filesystem has no extent maps', async t => {
  const dir = mkdtempSync('/dev/shm/fairlead-test-');
  t.after(() => rmSync(dir, { recursive: true }));
  const backend = await openPlugin(backends.image, { dir, capacity: 2 ** 30 });
  t.after(() => backend.close?.());
  const volume = await makeVolume(backend, { requiredBytes: 4 * mebibyte });
  contentOf(id => join(dir, `${id}.img`)).write(volume.id, 2 * mebibyte, Buffer.from('data'));
  const snapshot = await takeSnapshot(backend, newSnapshot('a.snapshot', volume));
  const extents = await Array.fromAsync(backend.changes?.allocated(snapshot, 0) ?? []);
  assert.deepEqual(extents, [{ offset: 2 * mebibyte, length: 4_096 }]);
});

type Map = readonly MappedExtent[];
const at = (offset: number, length: number, physical?: number) => ({ offset, length, physical });
const maps: readonly (readonly [name: string, base: Map, target: Map, differ: readonly number[][]])[] = [
  ['nothing in both', [], [], []],
  ['one address', [at(0, 8, 100)], [at(0, 8, 100)], []],
  ['other addresses', [at(0, 8, 100)], [at(0, 8, 200)], [[0, 8]]],
  ['an unknown address', [at(0, 8)], [at(0, 8)], [[0, 8]]],
  ['a hole in the target', [at(2, 4, 100)], [], [[2, 4]]],
  ['one address in two pieces', [at(0, 8, 100)], [at(0, 3, 100), at(3, 5, 103)], []],
  ['a part that moved', [at(0, 8, 100)], [at(0, 2, 100), at(2, 2, 50), at(4, 4, 104)], [[2, 2]]],
  ['one address, but shifted', [at(0, 4, 100)], [at(2, 4, 100)], [0, 2, 4].map(offset => [offset, 2])],
  ['data beyond the end', [at(0, 90, 100)], [], [[0, 16]]],
];
for (const [name, base, target, differ] of maps)
  test(`two maps with ${name} may differ where expected`, () => {
    const ranges = unsharedRanges(base, target, 16).map(({ offset, length }) => [offset, length]);
    assert.deepEqual([...ranges], differ);
  });

test('a link in place of the drafts is refused, and nothing behind it is removed', t => {
  const root = temporaryDirectory(t);
  const [drafts, elsewhere] = [join(root, 'drafts'), join(root, 'elsewhere')];
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, 'a.one.img.1'), 'precious');
  symlinkSync(elsewhere, drafts);
  const message = `"${drafts}" is a link or a file and must be a directory of the pool; move it away`;
  assert.throws(() => openPool(root, openLoop()), { message });
  assert.deepEqual(readdirSync(elsewhere), ['a.one.img.1']);
});

test('a start removes only drafts and leaves other files among them', t => {
  const root = temporaryDirectory(t);
  mkdirSync(join(root, 'drafts'));
  for (const name of ['notes.txt', 'a.one.img.1']) writeFileSync(join(root, 'drafts', name), 'some');
  openPool(root, openLoop());
  assert.deepEqual(readdirSync(join(root, 'drafts')), ['notes.txt']);
});

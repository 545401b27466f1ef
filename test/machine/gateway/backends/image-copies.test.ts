import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pause, poll } from '../../../../src/lib/concurrency.ts';
import type { KnownVolume } from '../../../../gateway/backend.ts';
import { idsOf, makeVolume, newSnapshot, sourceOf, takeSnapshot } from '../../../suites/backend-fixtures.ts';
import {
  allocatedOf,
  connectLoop,
  disconnectLoop,
  imagesIn,
  MiB,
  sharing,
  testPool,
  type Pool,
} from './image-pool.ts';
import { hashOf } from '../../../harness/values.ts';

testPool('holes stay holes, and no more is allocated than in the source', {}, async pool => {
  const { backend, content, directory } = pool;
  const volume = await makeVolume(backend, { requiredBytes: 10 * 1024 * MiB });
  const offsets = Array.from({ length: 16 }, (_, index) => index * 600 * MiB);
  for (const offset of offsets) content.write(volume.id, offset, randomBytes(MiB));
  await makeVolume(backend, { id: 'a.clone', source: await sourceOf(backend, 'volume', volume) });
  const [before = 0, after] = ['a.volume.img', 'a.clone.img'].map(name => allocatedOf(join(directory, name)));
  assert.ok(after !== undefined && after <= before + MiB, `${after} of ${before}`);
  for (const offset of offsets)
    assert.deepEqual(content.read('a.clone', offset, 2 * MiB), content.read(volume.id, offset, 2 * MiB));
});

testPool('a copy without space is RESOURCE_EXHAUSTED, and nothing is left', { on: ['ext4'] }, async pool => {
  const { backend, content, directory } = pool;
  const volume = await makeVolume(backend, { requiredBytes: 400 * MiB });
  content.write(volume.id, 0, randomBytes(280 * MiB));
  const before = statfsSync(directory).bavail;
  const source = await sourceOf(backend, 'volume', volume);
  const isFull = { code: 'RESOURCE_EXHAUSTED' };
  await assert.rejects(makeVolume(backend, { id: 'a.clone', source }), isFull);
  await assert.rejects(backend.snapshots.create(newSnapshot('a.snapshot', volume)), isFull);
  assert.deepEqual(imagesIn(directory), ['a.volume.img']);
  assert.ok(statfsSync(directory).bavail >= before - 16);
});

testPool('a killed copy ends, and is made anew', { on: ['ext4'], sizeBytes: 1024 * MiB }, async pool => {
  const { backend, directory, content } = pool;
  const volume = await makeVolume(backend, { requiredBytes: 400 * MiB });
  content.write(volume.id, 0, randomBytes(400 * MiB));
  await backend.close();
  const child = spawn(process.execPath, ['--input-type=module', '-e', copying, directory], {
    stdio: 'inherit',
  });
  const drafts = join(directory, 'drafts');
  const isHalfWay = () => draftSizes(drafts).some(size => size > 20 * MiB) || undefined;
  assert.ok(await poll(isHalfWay, { everyMs: 2, timeoutMs: 60_000 }));
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
  assert.deepEqual([others, imagesIn(directory)], [[], ['a.volume.img']]);
  const reopened = await pool.reopen();
  assert.deepEqual(readdirSync(drafts), []);
  await makeVolume(reopened, { id: 'a.clone', source: await sourceOf(reopened, 'volume', volume) });
  assert.equal(hashOf(join(directory, 'a.clone.img')), hashOf(join(directory, 'a.volume.img')));
});

testPool('data written to a device is in the snapshot, durable or not', { on: sharing }, async pool => {
  const { backend, directory } = pool;
  const volume = await makeVolume(backend, { requiredBytes: 4 * MiB });
  const path = join(directory, 'a.volume.img');
  const device = connectLoop(path);
  const random = ['if=/dev/urandom', `of=${device}`, 'bs=1M', 'count=3', 'oflag=direct'];
  execFileSync('dd', random, { stdio: 'pipe' });
  await takeSnapshot(backend, newSnapshot('a.snapshot', volume, true));
  disconnectLoop(device);
  assert.equal(hashOf(join(directory, 'snapshots', 'a.snapshot.snap')), hashOf(path));
});

testPool('a volume in use is copied at one instant', { on: sharing, sizeBytes: 1024 * MiB }, async pool => {
  const { backend } = pool;
  const volume = await makeVolume(backend, { requiredBytes: 64 * MiB });
  await withGuest(pool, volume, async () => {
    for (const round of [0, 1, 2, 3, 4]) {
      await pause(150);
      const snapshot = await takeSnapshot(backend, newSnapshot(`a.snapshot-${round}`, volume, true));
      await makeVolume(backend, { id: `a.copy-${round}`, source: { kind: 'snapshot', snapshot } });
    }
  });
  for (const round of [0, 1, 2, 3, 4]) inspect(pool, `a.copy-${round}`);
});

testPool('a volume that is written is refused, and copied once it is not', { on: ['ext4'] }, async pool => {
  const { backend, directory } = pool;
  const volume = await makeVolume(backend, { requiredBytes: 64 * MiB });
  await withGuest(pool, volume, async () => {
    const isRefused = { code: 'FAILED_PRECONDITION', detail: /"a\.volume" is attached for writing/ };
    // A loop device counts even if the gateway believes that the volume is not attached.
    for (const attachedForWriting of [true, false])
      await assert.rejects(
        takeSnapshot(backend, newSnapshot('a.snapshot', volume, attachedForWriting)),
        isRefused,
      );
    const source = { kind: 'volume', volume, attachedForWriting: true } as const;
    await assert.rejects(makeVolume(backend, { id: 'a.clone', source }), isRefused);
  });
  assert.deepEqual(readdirSync(join(directory, 'drafts')), []);
  assert.deepEqual(imagesIn(directory), ['a.volume.img']);
  assert.deepEqual(await idsOf(backend.snapshots), []);
  await takeSnapshot(backend, newSnapshot('a.snapshot', volume));
});

testPool('an image that changes while it is copied is refused', { on: ['ext4'] }, async pool => {
  const { backend, content } = pool;
  const volume = await makeVolume(backend);
  const writing = setInterval(() => content.write(volume.id, 0, randomBytes(512)), 1);
  const changed = { code: 'FAILED_PRECONDITION', detail: /written while it was copied/ };
  const take = () => backend.snapshots.create(newSnapshot('a.snapshot', volume));
  await assert.rejects(take(), changed).finally(() => clearInterval(writing));
  await take();
});

/** Runs work while a machine has the volume mounted and writes to it without pause. */
async function withGuest(pool: Pool, { id }: KnownVolume, work: () => Promise<void>): Promise<void> {
  const path = join(pool.directory, `${id}.img`);
  execFileSync('mkfs.ext4', ['-q', path]);
  const mounted = join(pool.directory, 'guest');
  mkdirSync(mounted);
  const device = connectLoop(path);
  execFileSync('mount', ['--', device, mounted]);
  writeFileSync(join(mounted, 'first'), 'before every snapshot');
  execFileSync('sync', ['-f', mounted]);
  const writer = spawn(process.execPath, ['-e', writing, mounted], { stdio: 'inherit' });
  try {
    const isWriting = () => readdirSync(mounted).includes('5') || undefined;
    assert.ok(await poll(isWriting, { everyMs: 20, timeoutMs: 60_000 }), 'it never wrote');
    await work();
    assert.equal(writer.exitCode, null, 'it wrote all the time');
  } finally {
    const ended = once(writer, 'exit');
    writer.kill('SIGKILL');
    await ended;
    execFileSync('umount', ['--', mounted]);
    disconnectLoop(device);
    execFileSync('rmdir', ['--', mounted]);
  }
}

/** Each file is durable before the next one begins, so that a snapshot with file n has complete files 0 to n - 1. */
const writing = `
const { openSync, writeSync, fsyncSync, closeSync, unlinkSync } = require('node:fs');
const [, directory] = process.argv;
for (let n = 0; ; n++) {
  const fd = openSync(directory + '/' + n, 'w');
  writeSync(fd, Buffer.alloc(64 * 1024, n % 251 + 1));
  fsyncSync(fd);
  closeSync(fd);
  if (n >= 200) unlinkSync(directory + '/' + (n - 200));
}`;

/** Checks the copy like a disk after a power cut: its journal replays, and the durable data is complete. */
function inspect({ directory }: Pool, id: string): void {
  const path = join(directory, `${id}.img`);
  const mounted = join(directory, 'inspected');
  mkdirSync(mounted, { recursive: true });
  execFileSync('mount', ['--options', 'loop', '--', path, mounted]);
  const numbers = readdirSync(mounted)
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .sort((a, b) => a - b);
  const isWhole = (n: number): boolean =>
    readFileSync(join(mounted, String(n))).equals(Buffer.alloc(64 * 1024, (n % 251) + 1));
  const whole = numbers.slice(0, -1).every(isWhole);
  const content = execFileSync('cat', [join(mounted, 'first')], { encoding: 'utf8' });
  execFileSync('umount', ['--', mounted]);
  execFileSync('fsck.ext4', ['-f', '-n', path], { stdio: 'pipe' });
  assert.equal(content, 'before every snapshot');
  assert.ok(numbers.length > 0 && whole, `${id} holds ${numbers.length} files`);
  for (const [index, n] of numbers.entries()) assert.equal(n, (numbers[0] ?? 0) + index);
}

const copying = `
const { backends } = await import('${fileURLToPath(new URL('../../../../gateway/backends/index.ts', import.meta.url))}');
const backend = await backends.image.open({ dir: process.argv[1] }, {});
const volume = { id: 'a.volume', sizeBytes: 400 * 2 ** 20, parameters: {} };
const source = { kind: 'volume', volume, attachedForWriting: false };
await backend.create({ id: 'a.clone', nonce: 'own', requiredBytes: 400 * 2 ** 20, limitBytes: 0, parameters: {}, capabilities: [], source });`;

function draftSizes(drafts: string): readonly number[] {
  try {
    return readdirSync(drafts).map(name => statSync(join(drafts, name)).blocks * 512);
  } catch {
    return [];
  }
}

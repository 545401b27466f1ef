import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pause, poll } from '../../../../src/lib/concurrency.ts';
import type { KnownVolume } from '../../../../gateway/backend.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';
import { makeVolume } from '../../../suites/backend-members.ts';
import {
  connectLoop,
  cutSnapshot,
  disconnectLoop,
  hashOf,
  imagesIn,
  MiB,
  openPool,
  poolFilesystems,
  sharing,
  whyNoPool,
  type Pool,
} from './image-pool.ts';

for (const filesystem of poolFilesystems) {
  const skip = whyNoPool(filesystem);
  const check = (title: string, work: (pool: Pool) => Promise<void>): void => {
    test(`${filesystem}: ${title}`, skip === undefined ? {} : { skip }, async t =>
      work(await openPool(t, filesystem, { sizeBytes: 1024 * MiB })),
    );
  };

  check('a restore holds exactly the bytes at the cut, whatever the source becomes', async pool => {
    const { backend, content, directory } = pool;
    const volume = await makeVolume(backend, { requiredBytes: 8 * MiB });
    await content.write(volume.id, 3 * MiB + 17, randomBytes(2 * MiB));
    const before = hashOf(join(directory, 'a.volume.img'));
    const snapshot = await cutSnapshot(pool, 'a.cut', { volume });
    await content.write(volume.id, 3 * MiB, randomBytes(3 * MiB));
    const restored = await makeVolume(backend, { id: 'a.restored', source: { kind: 'snapshot', snapshot } });
    assert.equal(hashOf(join(directory, 'a.restored.img')), before);
    await content.write(restored.id, 0, randomBytes(MiB));
    assert.equal(hashOf(join(directory, 'snapshots', 'a.cut.snap')), before);
    assert.notEqual(hashOf(join(directory, 'a.volume.img')), before);
  });

  check(
    'a larger clone holds the bytes of its source, then zeros',
    async ({ backend, content, directory }) => {
      const volume = await makeVolume(backend, { requiredBytes: 4 * MiB });
      await content.write(volume.id, 0, randomBytes(4 * MiB));
      const source = { kind: 'volume', volume, attachedForWriting: false } as const;
      await makeVolume(backend, { id: 'a.clone', requiredBytes: 9 * MiB, source });
      assert.equal(statSync(join(directory, 'a.clone.img')).size, 9 * MiB);
      assert.deepEqual(await content.read('a.clone', 0, 4 * MiB), await content.read(volume.id, 0, 4 * MiB));
      assert.deepEqual(await content.read('a.clone', 4 * MiB, 5 * MiB), Buffer.alloc(5 * MiB));
    },
  );

  check(
    'a clone may not be smaller than its source, and leaves nothing then',
    async ({ backend, directory }) => {
      const volume = await makeVolume(backend, { requiredBytes: 4 * MiB });
      const source = { kind: 'volume', volume, attachedForWriting: false } as const;
      const smaller = makeVolume(backend, { id: 'a.clone', requiredBytes: MiB, limitBytes: 2 * MiB, source });
      await assert.rejects(smaller, isProblem('OUT_OF_RANGE'));
      assert.deepEqual(namesIn(directory), ['a.volume.img']);
    },
  );

  check('a snapshot tells what it takes of the pool, also when it is found again', async pool => {
    const { backend, content, snapshots } = pool;
    const volume = await makeVolume(backend, { requiredBytes: 64 * MiB });
    await content.write(volume.id, 0, randomBytes(10 * MiB));
    const cut = { id: 'a.cut', volume, attachedForWriting: false, parameters: {} };
    for (let tries = 0; tries < 2; tries++) {
      const { reservedBytes = 0 } = await snapshots.create(cut);
      assert.ok(Math.abs(reservedBytes - 10 * MiB) < MiB, String(reservedBytes));
    }
  });

  if (sharing.has(filesystem))
    check('what a device has taken is in the cut, durable or not', async pool => {
      const volume = await makeVolume(pool.backend, { requiredBytes: 4 * MiB });
      const path = join(pool.directory, 'a.volume.img');
      const device = connectLoop(path);
      const random = ['if=/dev/urandom', `of=${device}`, 'bs=1M', 'count=3', 'oflag=direct'];
      execFileSync('dd', random, { stdio: 'pipe' });
      await cutSnapshot(pool, 'a.cut', { volume, attachedForWriting: true });
      disconnectLoop(device);
      assert.equal(hashOf(join(pool.directory, 'snapshots', 'a.cut.snap')), hashOf(path));
    });

  if (sharing.has(filesystem))
    check('a volume that is written is cut at one instant, as if its power had failed', async pool => {
      const volume = await makeVolume(pool.backend, { requiredBytes: 64 * MiB });
      await withGuest(pool, volume, async () => {
        for (const round of [0, 1, 2, 3, 4]) {
          await pause(150);
          const snapshot = await cutSnapshot(pool, `a.cut-${round}`, { volume, attachedForWriting: true });
          const source = { kind: 'snapshot', snapshot } as const;
          await makeVolume(pool.backend, { id: `a.copy-${round}`, source });
        }
      });
      for (const round of [0, 1, 2, 3, 4]) inspect(pool, `a.copy-${round}`);
    });
  else
    check('a volume that is written is refused, and copied once it is let go', async pool => {
      const { backend, snapshots, directory } = pool;
      const volume = await makeVolume(backend, { requiredBytes: 64 * MiB });
      await withGuest(pool, volume, async () => {
        const isRefused = isProblemThat('FAILED_PRECONDITION', /"a\.volume" is attached for writing/);
        await assert.rejects(cutSnapshot(pool, 'a.cut', { volume, attachedForWriting: true }), isRefused);
        // What the gateway believes does not count against a loop device that is there.
        await assert.rejects(cutSnapshot(pool, 'a.cut', { volume }), isRefused);
        const source = { kind: 'volume', volume, attachedForWriting: true } as const;
        await assert.rejects(makeVolume(backend, { id: 'a.clone', source }), isRefused);
      });
      assert.deepEqual(namesIn(directory), ['a.volume.img']);
      assert.deepEqual(await Array.fromAsync(snapshots.list()), []);
      await cutSnapshot(pool, 'a.cut', { volume });
    });

  check('a group is cut when at most one member is written, and else refused by name', async pool => {
    const { backend, snapshots, directory } = pool;
    const volumes = [await makeVolume(backend, { id: 'a.one' }), await makeVolume(backend, { id: 'a.two' })];
    const members = (written: readonly string[]) =>
      volumes.map(volume => ({
        id: `${volume.id}-cut`,
        volume,
        attachedForWriting: written.includes(volume.id),
        parameters: {},
      }));
    await assert.rejects(
      snapshots.createGroup(members(['a.one', 'a.two'])),
      isProblemThat('FAILED_PRECONDITION', /"a\.one" and volume "a\.two" are both attached for writing/),
    );
    assert.deepEqual(await Array.fromAsync(snapshots.list()), []);
    const group = snapshots.createGroup(members(['a.two']));
    if (!sharing.has(filesystem))
      return assert.rejects(group, isProblemThat('FAILED_PRECONDITION', /"a\.two"/));
    const cuts = await group;
    assert.equal(new Set(cuts.map(({ createdAtMs }) => createdAtMs)).size, 1);
    assert.equal(readdirSync(join(directory, 'snapshots')).length, 2);
  });

  check('a group that a crash left half cut is cut again as a whole', async pool => {
    const { backend, snapshots, content } = pool;
    const [one, two] = [
      await makeVolume(backend, { id: 'a.one' }),
      await makeVolume(backend, { id: 'a.two' }),
    ];
    await cutSnapshot(pool, 'a.one-cut', { volume: one });
    await content.write(one.id, 0, Buffer.from('later'));
    await pause(5);
    const rest = { attachedForWriting: false, parameters: {} };
    const cuts = await snapshots.createGroup([
      { id: 'a.one-cut', volume: one, ...rest },
      { id: 'a.two-cut', volume: two, ...rest },
    ]);
    assert.equal(cuts[0]?.createdAtMs, cuts[1]?.createdAtMs);
    const snapshot = { id: 'a.one-cut', volumeId: one.id, sizeBytes: one.sizeBytes };
    await makeVolume(backend, { id: 'a.copy', source: { kind: 'snapshot', snapshot } });
    assert.equal(String(await content.read('a.copy', 0, 5)), 'later');
  });
}

/** While a machine has the volume mounted and writes to it without a pause. */
async function withGuest(pool: Pool, { id }: KnownVolume, work: () => Promise<void>): Promise<void> {
  const path = join(pool.directory, `${id}.img`);
  execFileSync('mkfs.ext4', ['-q', path]);
  const mounted = join(pool.directory, 'guest');
  mkdirSync(mounted);
  const device = connectLoop(path);
  execFileSync('mount', ['--', device, mounted]);
  writeFileSync(join(mounted, 'first'), 'before every cut');
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

/** Each file is durable before the next one begins, so that a cut with file n has files 0 to n - 1 whole. */
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

/** The copy is what a power cut would have left: its journal replays, and what was durable is whole. */
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
  assert.equal(content, 'before every cut');
  assert.ok(numbers.length > 0 && whole, `${id} holds ${numbers.length} files`);
  for (const [index, n] of numbers.entries()) assert.equal(n, (numbers[0] ?? 0) + index);
}

/** The images, where no draft is left. */
function namesIn(directory: string): readonly string[] {
  assert.deepEqual(readdirSync(join(directory, 'drafts')), []);
  return imagesIn(directory);
}

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  idsOf,
  makeVolume,
  newSnapshot,
  newVolume,
  takeSnapshot,
  type OfferedBackend,
} from '../backend-fixtures.ts';

type Backend = OfferedBackend['backend'];

/** An open pool of directories, and the means to open it again. */
type OpenedDirectories = {
  readonly backend: Backend;
  readonly root: string;
  readonly reopen: () => Promise<Backend>;
};

/** Tests the copies of a backend whose volumes are directories with filesystems of their own. */
export function testDirectoryCopies(
  open: (t: TestContext) => Promise<OpenedDirectories>,
  options: { readonly skip?: string | false | undefined } = {},
): void {
  test(
    'a snapshot of a volume that is written holds all durable files, and none in part',
    options,
    async t => {
      const { backend, root } = await open(t);
      const volume = await makeVolume(backend);
      const path = join(root, volume.id);
      // Each file is durable before the next one, and a name is replaced at one instant.
      const write = 'i=0; while :; do i=$((i+1)); echo $i > new; sync new; mv new $((i % 10)); echo $i; done';
      const writer = spawn('sh', ['-ec', write], { cwd: path, stdio: ['ignore', 'pipe', 'inherit'] });
      const ended = once(writer, 'close');
      const state = { durable: 0 };
      writer.stdout.on(
        'data',
        (text: Buffer) => (state.durable = Number(text.toString().trim().split('\n').at(-1))),
      );
      try {
        for (let round = 0; round < 5; round++) {
          const from = state.durable;
          while (state.durable < from + 15) await once(writer.stdout, 'data');
          const before = state.durable;
          const snapshot = await takeSnapshot(backend, newSnapshot(`a.snapshot-${round}`, volume, true));
          const home = join(root, '.snapshots', snapshot.id);
          const numbers = readdirSync(home)
            .filter(name => name !== 'new')
            .map(name => Number(readFileSync(join(home, name), 'utf8')));
          const last = Math.max(...numbers);
          assert.ok(last >= before, `${last} is older than ${before}`);
          assert.deepEqual(
            numbers.toSorted((a, b) => a - b),
            Array.from({ length: 10 }, (_, index) => last - 9 + index),
          );
          assert.throws(() => writeFileSync(join(home, 'more'), ''), { code: 'EROFS' });
        }
      } finally {
        // A filesystem in use cannot be removed.
        writer.kill('SIGKILL');
        await ended;
      }
    },
  );

  test(
    'a copy has the files, links, owners and modes of its source, and parameters do not change them',
    options,
    async t => {
      const { backend, root } = await open(t);
      const volume = await makeVolume(backend, { parameters: { mode: '2775', gid: '2000' } });
      const path = join(root, volume.id);
      mkdirSync(join(path, 'inner'));
      execFileSync('chown', ['1000:2000', join(path, 'inner')]);
      symlinkSync('inner', join(path, 'link'));
      const snapshot = await takeSnapshot(backend, newSnapshot('a.snapshot', volume));
      const rows = [
        { id: 'a.restored', source: { kind: 'snapshot', snapshot } },
        { id: 'a.cloned', source: { kind: 'volume', volume, attachedForWriting: true } },
      ] as const;
      for (const { id, source } of rows) {
        await backend.create(newVolume({ id, source, parameters: { mode: '0700' } }));
        const copy = join(root, id);
        for (const at of ['.', 'inner']) {
          const [one, other] = [statSync(join(path, at)), statSync(join(copy, at))];
          assert.deepEqual([one.mode, one.uid, one.gid], [other.mode, other.uid, other.gid]);
        }
        assert.deepEqual(readdirSync(copy).toSorted(), ['inner', 'link']);
        writeFileSync(join(copy, 'own'), '');
        assert.ok(!readdirSync(path).includes('own'));
      }
      await backend.delete(volume);
      await backend.snapshots.delete(snapshot);
      assert.deepEqual(await idsOf(backend), ['a.cloned', 'a.restored']);
    },
  );

  test('a copy that was named but not recorded as made is found by the next call', options, async t => {
    const { backend, reopen } = await open(t);
    const volume = await makeVolume(backend);
    const snapshot = newSnapshot('a.snapshot', volume);
    const first = await takeSnapshot(backend, snapshot);
    const again = await reopen();
    assert.deepEqual(await takeSnapshot(again, snapshot), first);
    await assert.rejects(again.snapshots.create({ ...snapshot, nonce: 'other' }), { code: 'ALREADY_EXISTS' });
    await again.snapshots.delete({ id: snapshot.id, nonce: 'other' });
    assert.deepEqual(await idsOf(again.snapshots), ['a.snapshot']);
    await again.snapshots.delete(snapshot);
    assert.deepEqual(await idsOf(again.snapshots), []);
  });

  test(
    'a directory from before the pool had snapshots is used on, and refused as a source',
    options,
    async t => {
      const { backend, root } = await open(t);
      const path = join(root, 'a.volume');
      mkdirSync(path);
      writeFileSync(join(path, 'data'), 'old');
      symlinkSync(`own ${statSync(path).ino}`, join(root, '.a.volume.made'));
      const volume = await makeVolume(backend);
      assert.equal(readFileSync(join(path, 'data'), 'utf8'), 'old');
      await assert.rejects(backend.snapshots.create(newSnapshot('a.snapshot', volume)), {
        code: 'FAILED_PRECONDITION',
        detail: /it is a plain directory/,
      });
      await backend.delete(volume);
      assert.deepEqual(await idsOf(backend), []);
    },
  );
}

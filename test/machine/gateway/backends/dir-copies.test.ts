import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { backends } from '../../../../gateway/backends/index.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../../../harness/machine.ts';
import { openPlugin } from '../../../harness/gateway/open-plugin.ts';
import {
  contentOf,
  idsOf,
  makeVolume,
  newSnapshot,
  newVolume,
  takeSnapshot,
  type OfferedBackend,
} from '../../../suites/backend-fixtures.ts';
import { testBackend } from '../../../suites/backend.ts';
import { mountPool, MiB, whyNoPool } from './image-pool.ts';

/** Opens a pool on a btrfs of its own; everything is removed when the test ends. */
async function open(t: TestContext) {
  const temporary = realpathSync(makeTemporaryDirectory());
  const opened: { close?(): Promise<void> }[] = [];
  t.after(async () => {
    for (const backend of opened) await backend.close?.();
    removeTemporaryDirectory(temporary);
  });
  const root = mkdtempSync(join(mountPool(temporary, 'btrfs', 320 * MiB), 'shares-'));
  const reopen = async () => {
    await opened.pop()?.close?.();
    // The space of a btrfs that statfs shows changes a little.
    const backend = await openPlugin(backends.dir, { dir: root, capacity: 2 ** 40 });
    opened.push(backend);
    return backend as OfferedBackend['backend'];
  };
  return { backend: await reopen(), root, reopen, content: contentOf(id => join(root, id, 'data')) };
}

/** Lists all subvolumes of the pool's filesystem but that of the root. */
function subvolumesOf(root: string): readonly string[] {
  const listing = execFileSync('btrfs', ['subvolume', 'list', root], { encoding: 'utf8' });
  return listing.split('\n').flatMap(line => / path (.+)$/.exec(line)?.[1] ?? []);
}

describe('the contract of a backend, with copies of directories', { skip: whyNoPool.btrfs }, () => {
  testBackend(open);
});

const options = { skip: whyNoPool.btrfs };

test('a snapshot of a volume that is written holds all durable files, and none in part', options, async t => {
  const { backend, root } = await open(t);
  const volume = await makeVolume(backend);
  const path = join(root, volume.id);
  // Each file is durable before the next one, and a name is replaced at one instant.
  const write = 'i=0; while :; do i=$((i+1)); echo $i > new; sync new; mv new $((i % 10)); echo $i; done';
  const writer = spawn('sh', ['-ec', write], { cwd: path, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => writer.kill('SIGKILL'));
  const state = { durable: 0 };
  writer.stdout.on(
    'data',
    (text: Buffer) => (state.durable = Number(text.toString().trim().split('\n').at(-1))),
  );
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
});

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

test('an interrupted copy leaves nothing after the next start', options, async t => {
  const { backend, root, reopen } = await open(t);
  const volume = await makeVolume(backend);
  mkdirSync(join(root, '.drafts'));
  execFileSync('btrfs', [
    'subvolume',
    'snapshot',
    '-r',
    join(root, volume.id),
    join(root, '.drafts', 'left'),
  ]);
  const again = await reopen();
  assert.deepEqual(readdirSync(join(root, '.drafts')), []);
  await again.delete(volume);
  assert.deepEqual(subvolumesOf(root), []);
});

test('a copy that was named but not recorded as made is found by the next call', options, async t => {
  const { backend, root, reopen } = await open(t);
  const volume = await makeVolume(backend);
  const snapshot = newSnapshot('a.snapshot', volume);
  const first = await takeSnapshot(backend, snapshot);
  const again = await reopen();
  assert.deepEqual(await takeSnapshot(again, snapshot), first);
  await assert.rejects(again.snapshots.create({ ...snapshot, nonce: 'other' }), { code: 'ALREADY_EXISTS' });
  await again.snapshots.delete({ id: snapshot.id, nonce: 'other' });
  assert.deepEqual(await idsOf(again.snapshots), ['a.snapshot']);
  await again.snapshots.delete(snapshot);
  assert.deepEqual(
    subvolumesOf(root).filter(path => path.includes('snapshot')),
    [],
  );
});

test(
  'a directory from before the pool had snapshots is used on, and refused as a source',
  options,
  async t => {
    const { backend, root } = await open(t);
    mkdirSync(join(root, 'a.volume'));
    const volume = await makeVolume(backend);
    await assert.rejects(backend.snapshots.create(newSnapshot('a.snapshot', volume)), {
      code: 'FAILED_PRECONDITION',
      detail: /its directory is no subvolume/,
    });
    await backend.delete(volume);
    assert.deepEqual(await idsOf(backend), []);
  },
);

test('a deleted volume with a subvolume in it is removed', options, async t => {
  const { backend, root } = await open(t);
  const volume = await makeVolume(backend);
  execFileSync('btrfs', ['subvolume', 'create', join(root, volume.id, 'inner')]);
  writeFileSync(join(root, volume.id, 'inner', 'file'), 'data');
  await backend.delete(volume);
  assert.deepEqual(subvolumesOf(root), []);
});

test(
  'on another filesystem volumes have no snapshots, and the check says so',
  { skip: whyNoPool.xfs },
  async t => {
    const temporary = realpathSync(makeTemporaryDirectory());
    t.after(() => removeTemporaryDirectory(temporary));
    const root = mountPool(temporary, 'xfs', 320 * MiB);
    const backend = await openPlugin(backends.dir, { dir: root });
    t.after(() => backend.close?.());
    assert.deepEqual([backend.snapshots, backend.sources], [undefined, undefined]);
    const missing = (await backends.dir.missingFeatures?.({ dir: root })) ?? [];
    assert.match(missing.join(), /no snapshots and no clones/);
  },
);

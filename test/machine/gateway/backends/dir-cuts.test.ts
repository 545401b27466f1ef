import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, statfsSync, writeFileSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Backend, KnownVolume, Snapshots } from '../../../../gateway/backend.ts';
import { newVolume } from '../../../suites/backend.ts';
import { cutKnown, makeVolume, newSnapshot } from '../../../suites/member-fixtures.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';
import { makeRoot, mebibyte, openAt } from './dir-root.ts';
import { fillTree, manifestOf } from './dir-tree.ts';
import { poolFilesystems, whyNoPool } from './image-pool.ts';

type Opened = {
  readonly root: string;
  readonly backend: Backend;
  readonly snapshots: Required<Snapshots>;
  readonly volumes: readonly [KnownVolume, KnownVolume];
};

async function open(t: TestContext, filesystem: string): Promise<Opened> {
  const root = makeRoot(t, filesystem);
  const backend = await openAt(root);
  const volumes = [
    await makeVolume(backend, { id: 'a.one' }),
    await makeVolume(backend, { id: 'a.two' }),
  ] as const;
  return { root, backend, snapshots: backend.snapshots as Required<Snapshots>, volumes };
}

const live = (id: string, volume: KnownVolume) => ({ ...newSnapshot(id, volume), attachedForWriting: true });

/** Writes the same number to one file and then to the other, each durable, until it is told to end. */
async function writeInTurn(directory: string): Promise<{ end(): Promise<void> }> {
  const ended = new AbortController();
  const [first, second] = [
    await openFile(join(directory, 'first'), 'w'),
    await openFile(join(directory, 'second'), 'w'),
  ];
  const writing = (async () => {
    for (let number = 1_000; !ended.signal.aborted; number++)
      for (const file of [first, second]) {
        await file.write(String(number), 0);
        await file.sync();
      }
    await Promise.all([first.close(), second.close()]);
  })();
  return {
    async end() {
      ended.abort();
      await writing;
    },
  };
}

for (const filesystem of poolFilesystems) {
  describe(`cuts of the dir backend on ${filesystem}`, { skip: whyNoPool(filesystem) ?? false }, () => {
    test('a volume that is written while it is copied, though nobody should, gives no torn copy', async t => {
      const { root, backend, snapshots, volumes } = await open(t, filesystem);
      const writer = await writeInTurn(join(root, 'a.one'));
      await sleep(50);
      const cut = snapshots.create(newSnapshot('a.cut', volumes[0]));
      if (filesystem !== 'btrfs') {
        const refused = isProblemThat(
          'FAILED_PRECONDITION',
          /"a\.one" was attached or written while it was copied/,
        );
        await assert.rejects(cut, refused);
        await writer.end();
        assert.deepEqual(await Array.fromAsync(snapshots.list()), []);
        assert.deepEqual(readdirSync(join(root, '.drafts')), []);
        return;
      }
      const { sizeBytes } = await cut;
      await writer.end();
      const snapshot = { id: 'a.cut', volumeId: 'a.one', sizeBytes };
      await makeVolume(backend, { id: 'a.restore', source: { kind: 'snapshot', snapshot } });
      const [first, second] = ['first', 'second'].map(name =>
        Number(readFileSync(join(root, 'a.restore', name), 'utf8')),
      );
      assert.ok(first === second || first === (second ?? 0) + 1, `${first} before ${second}`);
    });

    test('a group is cut when nobody writes', async t => {
      const { root, backend, snapshots, volumes } = await open(t, filesystem);
      for (const { id } of volumes) writeFileSync(join(root, id, 'file'), id);
      const members = volumes.map(volume => newSnapshot(`${volume.id}-cut`, volume));
      const [one, two] = await snapshots.createGroup(members);
      assert.equal(one?.createdAtMs, two?.createdAtMs);
      for (const { id, sizeBytes } of volumes) {
        const snapshot = { id: `${id}-cut`, volumeId: id, sizeBytes };
        await makeVolume(backend, { id: `${id}-copy`, source: { kind: 'snapshot', snapshot } });
        assert.equal(readFileSync(join(root, `${id}-copy`, 'file'), 'utf8'), id);
      }
    });

    test('a group of two that are written is refused, and nothing is left', async t => {
      const { root, snapshots, volumes } = await open(t, filesystem);
      const members = volumes.map(volume => live(`${volume.id}-cut`, volume));
      const refused = isProblemThat(
        'FAILED_PRECONDITION',
        /"a\.one" and volume "a\.two" are both attached for writing/,
      );
      await assert.rejects(snapshots.createGroup(members), refused);
      assert.deepEqual(await Array.fromAsync(snapshots.list()), []);
      assert.deepEqual(readdirSync(join(root, '.sizes')).toSorted(), ['.changes', 'a.one', 'a.two']);
    });

    test('a group of one that is written and one that is not is cut where that is one instant', async t => {
      const { snapshots, volumes } = await open(t, filesystem);
      const cut = snapshots.createGroup([newSnapshot('a.s1', volumes[0]), live('a.s2', volumes[1])]);
      if (filesystem === 'btrfs') assert.equal((await cut).length, 2);
      else await assert.rejects(cut, isProblem('FAILED_PRECONDITION'));
    });

    test('a group whose other member is written though nobody should is refused', async t => {
      const { root, snapshots, volumes } = await open(t, filesystem);
      const writer = await writeInTurn(join(root, 'a.one'));
      await sleep(50);
      const cut = snapshots.createGroup(volumes.map(volume => newSnapshot(`${volume.id}-cut`, volume)));
      await assert.rejects(cut, isProblem('FAILED_PRECONDITION')).finally(writer.end);
      assert.deepEqual(await Array.fromAsync(snapshots.list()), []);
    });

    // The others share blocks and take none.
    if (filesystem === 'ext4')
      test('a copy for which the filesystem has no room is RESOURCE_EXHAUSTED, and leaves nothing', async t => {
        const { root, snapshots, volumes } = await open(t, filesystem);
        writeFileSync(join(root, 'a.one', 'file'), Buffer.alloc(60 * mebibyte, 'x'));
        execFileSync('sync', ['--file-system', '--', root]);
        const { bavail, bsize } = statfsSync(root);
        const fillBytes = bavail * bsize - 30 * mebibyte;
        execFileSync('fallocate', ['--length', String(fillBytes), '--', join(root, 'other')]);
        const full = isProblemThat('RESOURCE_EXHAUSTED', /the copy takes \d+ more/);
        await assert.rejects(snapshots.create(newSnapshot('a.cut', volumes[0])), full);
        assert.deepEqual(await Array.fromAsync(snapshots.list()), []);
        assert.deepEqual(readdirSync(join(root, '.drafts')), []);
      });
  });
}

describe('subvolumes of the dir backend', { skip: whyNoPool('btrfs') ?? false }, () => {
  test('a volume in which a subvolume lies is copied when nobody writes, and never with a hole in its place', async t => {
    const { root, backend, snapshots, volumes } = await open(t, 'btrfs');
    const inner = join(root, 'a.one', 'inner');
    execFileSync('btrfs', ['subvolume', 'create', '--', inner], { stdio: 'pipe' });
    writeFileSync(join(inner, 'file'), 'data');
    await assert.rejects(snapshots.create(live('a.live', volumes[0])), isProblem('FAILED_PRECONDITION'));
    const snapshot = await cutKnown(backend, 'a.idle', volumes[0]);
    await makeVolume(backend, { id: 'a.copy', source: { kind: 'snapshot', snapshot } });
    assert.equal(readFileSync(join(root, 'a.copy', 'inner', 'file'), 'utf8'), 'data');
  });

  test('a volume goes with all subvolumes in it, those that cannot be written among them', async t => {
    const { root, backend } = await open(t, 'btrfs');
    const inner = join(root, 'a.one', 'in ner');
    execFileSync('btrfs', ['subvolume', 'create', '--', inner], { stdio: 'pipe' });
    writeFileSync(join(inner, 'file'), 'data');
    execFileSync('btrfs', ['subvolume', 'snapshot', '-r', '--', inner, join(inner, 'deeper')], {
      stdio: 'pipe',
    });
    await backend.delete({ id: 'a.one' });
    assert.deepEqual(readdirSync(join(root, '.trash')), []);
    assert.doesNotMatch(
      execFileSync('btrfs', ['subvolume', 'list', root], { encoding: 'utf8' }),
      /ner|deeper/,
    );
  });

  test('a volume that is a plain directory is copied with all that belongs to it, when nobody writes', async t => {
    const { root, backend, snapshots, volumes } = await open(t, 'btrfs');
    const path = join(root, 'a.one');
    rmdirSync(path);
    mkdirSync(path);
    fillTree(path, '/');
    await assert.rejects(snapshots.create(live('a.live', volumes[0])), isProblem('FAILED_PRECONDITION'));
    const before = manifestOf(path);
    const snapshot = await cutKnown(backend, 'a.idle', volumes[0]);
    await makeVolume(backend, { id: 'a.copy', source: { kind: 'snapshot', snapshot } });
    assert.deepEqual(manifestOf(join(root, 'a.copy')), before);
  });
});

test('two gateways at one root promise no more than there is, and see what the other freed', async t => {
  const root = makeRoot(t);
  const capacity = { capacity: 20 * mebibyte };
  const backends = [await openAt(root, capacity), await openAt(root, capacity)] as const;
  const ids = Array.from({ length: 40 }, (_, index) => `a.v${index}`);
  const made = await Promise.allSettled(
    ids.map((id, index) => backends[index % 2 === 0 ? 0 : 1].create(newVolume({ id }))),
  );
  const failed = made.filter(result => result.status === 'rejected');
  for (const { reason } of failed) assert.ok(isProblem('RESOURCE_EXHAUSTED')(reason));
  assert.equal(failed.length, 20);
  for (const backend of backends) assert.equal((await backend.capacity?.())?.availableBytes, 0);
  const there = await Array.fromAsync(backends[0].list?.() ?? []);
  assert.equal(there.length, 20);
  await backends[0].delete({ id: there[0] ?? '' });
  assert.equal((await backends[1].capacity?.())?.availableBytes, mebibyte);
  await backends[1].create(newVolume({ id: 'a.last' }));
  await assert.rejects(backends[0].create(newVolume({ id: 'a.more' })), isProblem('RESOURCE_EXHAUSTED'));
});

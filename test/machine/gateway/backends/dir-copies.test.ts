import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import type { Backend, KnownVolume, Snapshots } from '../../../../gateway/backend.ts';
import { noRoot } from '../../../harness/machine.ts';
import { newVolume } from '../../../suites/backend.ts';
import { cutKnown, makeVolume, newSnapshot } from '../../../suites/member-fixtures.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';
import { makeRoot, mebibyte, openAt, type Settings } from './dir-root.ts';
import { fillTree, heldBy, manifestOf } from './dir-tree.ts';
import { poolFilesystems, whyNoPool } from './image-pool.ts';

type Opened = {
  readonly root: string;
  readonly backend: Backend;
  readonly snapshots: Required<Snapshots>;
  readonly volume: KnownVolume;
  /** The volume's directory. */
  readonly path: string;
};

async function open(t: TestContext, filesystem: string, settings: Settings = {}): Promise<Opened> {
  const root = makeRoot(t, filesystem);
  const backend = await openAt(root, settings);
  const volume = await makeVolume(backend, { id: 'a.source' });
  const snapshots = backend.snapshots as Required<Snapshots>;
  return { root, backend, snapshots, volume, path: join(root, volume.id) };
}

/** What lies in the root beside volumes, once nothing is done; sizes are told by their names. */
function leftIn(root: string): readonly string[] {
  const folders = ['.snapshots', '.drafts', '.trash', '.sizes'].filter(name => existsSync(join(root, name)));
  return folders
    .flatMap(folder => readdirSync(join(root, folder)).map(name => `${folder}/${name}`))
    .filter(name => name !== '.sizes/.changes')
    .toSorted();
}

for (const filesystem of poolFilesystems) {
  const skip = whyNoPool(filesystem) ?? false;
  const isSubvolume = filesystem === 'btrfs';
  describe(`copies of the dir backend on ${filesystem}`, { skip }, () => {
    test('a clone, and a restore of a snapshot, have all that belongs to a tree', async t => {
      const { root, backend, volume, path } = await open(t, filesystem);
      const outside = makeRoot(t);
      writeFileSync(join(outside, 'secret'), 'not to be copied');
      fillTree(path, outside);
      const before = manifestOf(path);
      const snapshot = await cutKnown(backend, 'a.cut', volume);
      await makeVolume(backend, { id: 'a.restore', source: { kind: 'snapshot', snapshot } });
      const source = { kind: 'volume', volume, attachedForWriting: false } as const;
      await makeVolume(backend, { id: 'a.clone', source });
      writeFileSync(join(path, 'later'), 'later');
      for (const id of ['a.restore', 'a.clone']) {
        assert.deepEqual(manifestOf(join(root, id)), before, id);
        assert.ok(lstatSync(join(root, id, 'link out')).isSymbolicLink());
        assert.ok(heldBy(join(root, id, 'sparse')) < mebibyte, 'holes stay holes');
      }
      assert.deepEqual(readdirSync(outside), ['secret']);
    });

    test('what is made of it goes with a delete, and nothing is left', async t => {
      const { root, backend, snapshots, volume, path } = await open(t, filesystem);
      fillTree(path, '/');
      const snapshot = await cutKnown(backend, 'a.cut', volume);
      await makeVolume(backend, { id: 'a.restore', source: { kind: 'snapshot', snapshot } });
      for (const id of ['a.source', 'a.restore']) await backend.delete({ id });
      assert.deepEqual(leftIn(root), ['.sizes/@a.cut', '.snapshots/a.cut']);
      await snapshots.delete({ id: 'a.cut' });
      assert.deepEqual(leftIn(root), []);
      if (isSubvolume)
        assert.equal(execFileSync('btrfs', ['subvolume', 'list', root], { encoding: 'utf8' }), '');
    });

    test('a volume that is attached for writing is cut only where that is one instant', async t => {
      const { root, backend, snapshots, volume, path } = await open(t, filesystem);
      writeFileSync(join(path, 'file'), 'at the cut');
      const live = { ...newSnapshot('a.cut', volume), attachedForWriting: true };
      const source = { kind: 'volume', volume, attachedForWriting: true } as const;
      const clone = (): Promise<KnownVolume> => makeVolume(backend, { id: 'a.clone', source });
      if (isSubvolume) {
        await snapshots.create(live);
        await clone();
        assert.equal(readFileSync(join(root, 'a.clone', 'file'), 'utf8'), 'at the cut');
        return;
      }
      const refused = isProblemThat(
        'FAILED_PRECONDITION',
        /"a\.source" is attached for writing.* detach it first/,
      );
      await assert.rejects(snapshots.create(live), refused);
      await assert.rejects(clone(), refused);
      assert.deepEqual(leftIn(root), ['.sizes/a.source']);
    });

    test('what this machine has mounted writable counts as attached for writing', async t => {
      const { backend, snapshots, volume, path } = await open(t, filesystem);
      const place = makeRoot(t);
      execFileSync('mount', ['--bind', '--', path, place]);
      const cut = (id: string): Promise<unknown> => snapshots.create(newSnapshot(id, volume));
      try {
        if (isSubvolume) await cut('a.live');
        else
          await assert.rejects(cut('a.live'), isProblemThat('FAILED_PRECONDITION', /attached for writing/));
        execFileSync('mount', ['-o', 'remount,bind,ro', '--', place]);
        await cut('a.read');
        await assert.rejects(backend.delete(volume), isProblemThat('FAILED_PRECONDITION', /still mounted/));
      } finally {
        execFileSync('umount', ['--', place]);
      }
    });

    test('a volume in which something is mounted is not copied', async t => {
      const { root, snapshots, volume, path } = await open(t, filesystem);
      mkdirSync(join(path, 'inner'));
      execFileSync('mount', ['--bind', '--', makeRoot(t), join(path, 'inner')]);
      try {
        const refused = isProblemThat('FAILED_PRECONDITION', /something is mounted in volume "a\.source"/);
        await assert.rejects(snapshots.create(newSnapshot('a.cut', volume)), refused);
      } finally {
        execFileSync('umount', ['--', join(path, 'inner')]);
      }
      assert.deepEqual(leftIn(root), ['.sizes/a.source']);
    });

    test('a snapshot counts with what it holds, and one that does not fit leaves nothing', async t => {
      const { root, backend, snapshots, volume, path } = await open(t, filesystem, {
        capacity: 20 * mebibyte,
      });
      writeFileSync(join(path, 'file'), Buffer.alloc(8 * mebibyte, 'x'));
      execFileSync('sync', ['--file-system', '--', path]);
      await snapshots.create(newSnapshot('a.one', volume));
      const { availableBytes = 0 } = (await backend.capacity?.()) ?? {};
      assert.ok(availableBytes <= 11 * mebibyte && availableBytes > 10 * mebibyte, `${availableBytes}`);
      await snapshots.create(newSnapshot('a.two', volume));
      const full = isProblem('RESOURCE_EXHAUSTED');
      await assert.rejects(snapshots.create(newSnapshot('a.three', volume)), full);
      assert.deepEqual(await Array.fromAsync(snapshots.list()), ['a.one', 'a.two']);
      await snapshots.delete({ id: 'a.one' });
      await snapshots.create(newSnapshot('a.three', volume));
      assert.deepEqual(leftIn(root), [
        '.sizes/@a.three',
        '.sizes/@a.two',
        '.sizes/a.source',
        '.snapshots/a.three',
        '.snapshots/a.two',
      ]);
    });

    test('what a crash left is told by the list, made again, and removed', async t => {
      const { root, backend, snapshots, volume, path } = await open(t, filesystem);
      writeFileSync(join(path, 'file'), 'data');
      symlinkSync(String(mebibyte), join(root, '.sizes', '@a.cut'));
      for (const name of ['@a.cut.1-1', 'a.clone.1-1']) {
        mkdirSync(join(root, '.drafts', name, 'tree'), { recursive: true });
        writeFileSync(join(root, '.drafts', name, 'tree', 'half'), '');
      }
      assert.deepEqual(await Array.fromAsync(snapshots.list()), ['a.cut']);
      const snapshot = await cutKnown(backend, 'a.cut', volume);
      symlinkSync(String(mebibyte), join(root, '.sizes', 'a.clone'));
      await makeVolume(backend, { id: 'a.clone', source: { kind: 'snapshot', snapshot } });
      assert.deepEqual(readdirSync(join(root, 'a.clone')), ['file']);
      assert.deepEqual(readdirSync(join(root, '.drafts')), []);
      symlinkSync(String(mebibyte), join(root, '.sizes', '@a.other'));
      mkdirSync(join(root, '.drafts', '@a.other.1-1'));
      for (const id of ['a.cut', 'a.other']) await snapshots.delete({ id });
      assert.deepEqual(leftIn(root), ['.sizes/a.clone', '.sizes/a.source']);
    });

    test('drafts of a gateway that is gone go at the next start', async t => {
      const { root } = await open(t, filesystem);
      mkdirSync(join(root, '.drafts', `@a.cut.${2 ** 22}-1`, 'tree'), { recursive: true });
      await openAt(root);
      for (let tries = 0; tries < 100 && leftIn(root).length > 1; tries++)
        await new Promise(resolve => setTimeout(resolve, 20));
      assert.deepEqual(leftIn(root), ['.sizes/a.source']);
    });

    test('what is there already is never replaced by a copy', async t => {
      const { root, backend, volume } = await open(t, filesystem);
      const source = { kind: 'volume', volume, attachedForWriting: false } as const;
      mkdirSync(join(root, 'a.clone'));
      writeFileSync(join(root, 'a.clone', 'file'), 'data');
      await assert.rejects(makeVolume(backend, { id: 'a.clone', source }), isProblem('ALREADY_EXISTS'));
      assert.equal(readFileSync(join(root, 'a.clone', 'file'), 'utf8'), 'data');
    });

    test('links in the places of snapshots and drafts are not followed', async t => {
      const { root, snapshots, volume } = await open(t, filesystem);
      const target = makeRoot(t);
      const cut = (id: string): Promise<unknown> => snapshots.create(newSnapshot(id, volume));
      const refused = isProblem('FAILED_PRECONDITION');
      symlinkSync(target, join(root, '.drafts'));
      await assert.rejects(cut('a.cut'), refused);
      mkdirSync(join(root, '.snapshots'), { recursive: true });
      symlinkSync(target, join(root, '.snapshots', 'a.link'));
      await assert.rejects(cut('a.link'), refused);
      await assert.rejects(snapshots.delete({ id: 'a.link' }), refused);
      assert.deepEqual(readdirSync(target), []);
    });

    for (const id of ['../escape', '.trash', '@a.x', 'a.x/..', 'a.x/y', '/etc', 'a.\0', ''])
      test(`the snapshot id ${JSON.stringify(id)} leads nowhere`, async t => {
        const { root, snapshots, volume } = await open(t, filesystem);
        const before = readdirSync(root, { recursive: true });
        const refused = isProblem('INVALID_ARGUMENT');
        await assert.rejects(snapshots.delete({ id }), refused);
        await assert.rejects(snapshots.create(newSnapshot(id, volume)), refused);
        assert.deepEqual(readdirSync(root, { recursive: true }).toSorted(), before.toSorted());
      });
  });
}

test('where copies cannot be true, none are offered', { skip: noRoot }, async t => {
  const root = makeRoot(t);
  execFileSync('mount', ['-t', 'tmpfs', '--', 'none', root]);
  const backend = await openAt(root);
  assert.deepEqual([backend.snapshots, backend.sources], [undefined, undefined]);
  assert.equal((await backend.create(newVolume())).sizeBytes, mebibyte);
});

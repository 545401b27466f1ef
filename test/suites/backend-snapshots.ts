import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memberOf } from './backend.ts';
import type { Extent } from '../../gateway/backend.ts';
import {
  assertHolds,
  assertOrdered,
  covers,
  cut,
  cutKnown,
  makeVolume,
  newSnapshot,
  offersSource,
  pattern,
  snapshotsOf,
  type OpenMembers,
} from './member-fixtures.ts';

const mebibyte = 2 ** 20;

/** Everything that a backend with snapshots must do. */
export function testSnapshots(open: OpenMembers): void {
  test('a snapshot has the size at the cut, and cutting again gives the same', async t => {
    const { backend } = await open(t);
    const snapshots = memberOf(t, backend, 'snapshots');
    if (!snapshots) return;
    const volume = await makeVolume(backend, { id: 'a.source' });
    const beforeMs = Date.now();
    const first = await cut(snapshots, newSnapshot('a.snapshot', volume));
    assert.equal(first.sizeBytes, volume.sizeBytes);
    assert.ok(first.createdAtMs >= beforeMs - 2_000 && first.createdAtMs <= Date.now() + 2_000);
    await backend.expand?.(volume, { requiredBytes: 2 * volume.sizeBytes, limitBytes: 0 });
    assert.deepEqual(await cut(snapshots, newSnapshot('a.snapshot', volume)), first);
    assert.deepEqual(await snapshotsOf(snapshots), snapshots.list ? ['a.snapshot'] : []);
  });

  test('deleting removes the snapshot; deleting again or one that never was is fine', async t => {
    const { backend } = await open(t);
    const snapshots = memberOf(t, backend, 'snapshots');
    if (!snapshots) return;
    const volume = await makeVolume(backend, { id: 'a.source' });
    await cut(snapshots, newSnapshot('a.snapshot', volume));
    await snapshots.delete({ id: 'a.snapshot' });
    await snapshots.delete({ id: 'a.snapshot' });
    await snapshots.delete({ id: 'a.never' });
    assert.deepEqual(await snapshotsOf(snapshots), []);
  });

  test('a snapshot holds the bytes at the cut, also after its volume is gone', async t => {
    const { backend, content } = await open(t);
    if (!offersSource(t, backend, 'snapshot')) return;
    const volume = await makeVolume(backend, { id: 'a.source' });
    await content?.write(volume.id, 1_000, pattern('old'));
    const snapshot = await cutKnown(backend, 'a.snapshot', volume);
    await content?.write(volume.id, 1_000, pattern('new'));
    await backend.delete(volume);
    const restored = await makeVolume(backend, { id: 'a.restored', source: { kind: 'snapshot', snapshot } });
    await assertHolds(content, restored.id, 1_000, 'old');
  });

  test('a snapshot of a volume that is not there leaves nothing', async t => {
    const { backend } = await open(t);
    const snapshots = memberOf(t, backend, 'snapshots');
    if (!snapshots) return;
    const missing = newSnapshot('a.snapshot', { id: 'a.never', sizeBytes: mebibyte, parameters: {} });
    await assert.rejects(snapshots.create(missing));
    await snapshots.delete({ id: 'a.snapshot' });
    assert.deepEqual(await snapshotsOf(snapshots), []);
  });
}

/** Everything that a backend with groups of snapshots must do. */
export function testGroups(open: OpenMembers): void {
  test('all members of a group are cut, and cutting again gives the same', async t => {
    const { backend } = await open(t);
    const snapshots = memberOf(t, backend, 'snapshots');
    const createGroup = snapshots?.createGroup;
    if (!snapshots) return;
    if (!createGroup) return t.skip(`backend "${backend.name}" has no groups of snapshots`);
    const volumes = [await makeVolume(backend, { id: 'a.one' }), await makeVolume(backend, { id: 'a.two' })];
    const members = volumes.map(volume => newSnapshot(`${volume.id}-cut`, volume));
    const first = await createGroup(members);
    assert.deepEqual(
      first.map(({ sizeBytes }) => sizeBytes),
      volumes.map(({ sizeBytes }) => sizeBytes),
    );
    const again = await createGroup(members);
    assert.deepEqual(
      again.map(({ createdAtMs }) => createdAtMs),
      first.map(({ createdAtMs }) => createdAtMs),
    );
    for (const { id } of members) await snapshots.delete({ id });
    assert.deepEqual(await snapshotsOf(snapshots), []);
  });

  test('a group of which one member cannot be cut leaves none', async t => {
    const { backend } = await open(t);
    const snapshots = memberOf(t, backend, 'snapshots');
    const createGroup = snapshots?.createGroup;
    if (!snapshots) return;
    if (!createGroup) return t.skip(`backend "${backend.name}" has no groups of snapshots`);
    const volume = await makeVolume(backend, { id: 'a.one' });
    const missing = { id: 'a.never', sizeBytes: mebibyte, parameters: {} };
    await assert.rejects(createGroup([newSnapshot('a.s1', volume), newSnapshot('a.s2', missing)]));
    assert.deepEqual(await snapshotsOf(snapshots), []);
  });
}

/** Everything that a backend that tells changed blocks must do. */
export function testChanges(open: OpenMembers): void {
  test('allocated blocks cover all that was written, in order, from any offset', async t => {
    const { backend, content } = await open(t);
    const changes = memberOf(t, backend, 'changes');
    if (!changes) return;
    if (!content) return t.skip(`nothing can be written to volumes of backend "${backend.name}"`);
    const volume = await makeVolume(backend, { id: 'a.source', requiredBytes: 4 * mebibyte });
    for (const offset of [0, mebibyte, 3 * mebibyte]) await content.write(volume.id, offset, pattern('data'));
    const snapshot = await cutKnown(backend, 'a.snapshot', volume);
    const extents = await Array.fromAsync(changes.allocated(snapshot, 0));
    assertOrdered(extents, snapshot.sizeBytes);
    for (const offset of [0, mebibyte, 3 * mebibyte]) assert.ok(extents.some(covers(offset)), `${offset}`);
    for (const fromOffset of [1, mebibyte, 2 * mebibyte + 1, 4 * mebibyte]) {
      const rest: readonly Extent[] = await Array.fromAsync(changes.allocated(snapshot, fromOffset));
      assertOrdered(rest, snapshot.sizeBytes);
      assert.ok(rest.every(({ offset, length }) => offset + length > fromOffset));
      assert.equal(rest.some(covers(3 * mebibyte)), fromOffset < 4 * mebibyte);
    }
  });

  test('the base with the changed blocks of the target is the target', async t => {
    const { backend, content } = await open(t);
    const changes = memberOf(t, backend, 'changes');
    if (!changes || !offersSource(t, backend, 'snapshot')) return;
    if (!content) return t.skip(`nothing can be written to volumes of backend "${backend.name}"`);
    const volume = await makeVolume(backend, { id: 'a.source', requiredBytes: 2 * mebibyte });
    await content.write(volume.id, 0, pattern('first'));
    await content.write(volume.id, mebibyte, pattern('stays'));
    const base = await cutKnown(backend, 'a.base', volume);
    await content.write(volume.id, 2, pattern('second'));
    await content.write(volume.id, 2 * mebibyte - 10, pattern('end'));
    const target = await cutKnown(backend, 'a.target', volume);
    const extents = await Array.fromAsync(changes.changed({ base, target }, 0));
    assertOrdered(extents, target.sizeBytes);
    for (const snapshot of [base, target])
      await makeVolume(backend, { id: `${snapshot.id}-copy`, source: { kind: 'snapshot', snapshot } });
    const patched = Buffer.from(await content.read('a.base-copy', 0, base.sizeBytes));
    const wanted = Buffer.from(await content.read('a.target-copy', 0, target.sizeBytes));
    for (const { offset, length } of extents) wanted.copy(patched, offset, offset, offset + length);
    assert.ok(patched.equals(wanted));
  });
}

import assert from 'node:assert/strict';
import type { Extent } from '../../gateway/backend.ts';
import {
  assertHolds,
  idsOf,
  makeVolume,
  newGroup,
  newSnapshot,
  takeSnapshot,
  type Check,
} from './backend-fixtures.ts';

const never = { id: 'a.never', sizeBytes: 2 ** 20, parameters: {} };

/** Tests the contract of snapshots and of groups of them. */
export function testSnapshots(check: Check): void {
  check(
    'a snapshot is taken once, and stays as it is when its volume changes',
    ['snapshots', 'expand'],
    async opened => {
      const { backend } = opened;
      const volume = await makeVolume(backend);
      const beforeMs = Date.now();
      const first = await takeSnapshot(backend, newSnapshot('a.snapshot', volume));
      assert.equal(first.sizeBytes, volume.sizeBytes);
      assert.ok(first.createdAtMs >= beforeMs - 2_000 && first.createdAtMs <= Date.now() + 2_000);
      await backend.expand(volume, { requiredBytes: 2 * volume.sizeBytes, limitBytes: 0 });
      assert.deepEqual(await takeSnapshot(backend, newSnapshot('a.snapshot', volume)), first);
      assert.deepEqual(await idsOf(backend.snapshots), ['a.snapshot']);
      for (const id of ['a.snapshot', 'a.snapshot', 'a.never']) await backend.snapshots.delete({ id });
      assert.deepEqual(await idsOf(backend.snapshots), []);
    },
  );

  check('a snapshot holds its bytes, also after its volume is deleted', ['snapshot'], async opened => {
    const { backend, content } = opened;
    const volume = await makeVolume(backend);
    content.write(volume.id, 1_000, Buffer.from('old'));
    const snapshot = await takeSnapshot(backend, newSnapshot('a.snapshot', volume));
    content.write(volume.id, 1_000, Buffer.from('new'));
    await backend.delete(volume);
    const restored = await makeVolume(backend, { id: 'a.restored', source: { kind: 'snapshot', snapshot } });
    assertHolds(content, restored.id, 1_000, 'old');
  });

  check('a snapshot of a missing volume leaves nothing', ['snapshots'], async ({ backend }) => {
    const { snapshots } = backend;
    await assert.rejects(snapshots.create(newSnapshot('a.snapshot', never)));
    await snapshots.delete({ id: 'a.snapshot' });
    assert.deepEqual(await idsOf(snapshots), []);
  });

  check('all members of a group are taken, and again the same; or none', ['groups'], async ({ backend }) => {
    const { snapshots } = backend;
    const volumes = [await makeVolume(backend, { id: 'a.one' }), await makeVolume(backend, { id: 'a.two' })];
    await assert.rejects(snapshots.createGroup(newGroup([...volumes, never])));
    assert.deepEqual(await idsOf(snapshots), []);
    const members = newGroup(volumes);
    const first = await snapshots.createGroup(members);
    assert.deepEqual(
      first.map(({ sizeBytes }) => sizeBytes),
      volumes.map(({ sizeBytes }) => sizeBytes),
    );
    assert.deepEqual(await snapshots.createGroup(members), first);
    for (const { id } of members) await snapshots.delete({ id });
    assert.deepEqual(await idsOf(snapshots), []);
  });
}

/** Tests the contract of changed blocks. */
export function testChanges(check: Check): void {
  check('allocated blocks cover all that was written, from any offset', ['changes'], async opened => {
    const { backend, content, unitBytes } = opened;
    const volume = await makeVolume(backend, { requiredBytes: 4 * unitBytes });
    const written = [0, unitBytes, 3 * unitBytes];
    for (const offset of written) content.write(volume.id, offset, Buffer.from('data'));
    const snapshot = await takeSnapshot(backend, newSnapshot('a.snapshot', volume));
    for (const fromOffset of [0, 1, unitBytes, 2 * unitBytes + 1, 4 * unitBytes]) {
      const extents = await Array.fromAsync(backend.changes.allocated(snapshot, fromOffset));
      assertOrdered(extents, snapshot.sizeBytes);
      assert.ok(extents.every(({ offset, length }) => offset + length > fromOffset));
      for (const at of written.filter(offset => offset >= fromOffset))
        assert.ok(extents.some(({ offset, length }) => offset <= at && at < offset + length));
    }
  });

  check('the base with the changed blocks of the target is the target', ['changes'], async opened => {
    const { backend, content, unitBytes } = opened;
    const volume = await makeVolume(backend, { requiredBytes: 2 * unitBytes });
    content.write(volume.id, 0, Buffer.from('first'));
    content.write(volume.id, unitBytes, Buffer.from('stays'));
    const base = await takeSnapshot(backend, newSnapshot('a.base', volume));
    const patched = Buffer.from(content.read(volume.id, 0, base.sizeBytes));
    content.write(volume.id, 2, Buffer.from('second'));
    content.write(volume.id, 2 * unitBytes - 10, Buffer.from('end'));
    const target = await takeSnapshot(backend, newSnapshot('a.target', volume));
    const wanted = Buffer.from(content.read(volume.id, 0, target.sizeBytes));
    const extents = await Array.fromAsync(backend.changes.changed({ base, target }, 0));
    assertOrdered(extents, target.sizeBytes);
    for (const { offset, length } of extents) wanted.copy(patched, offset, offset, offset + length);
    assert.ok(patched.equals(wanted));
  });
}

/** Fails unless the extents ascend, do not overlap, and lie within the size. */
function assertOrdered(extents: readonly Extent[], sizeBytes: number): void {
  let end = 0;
  for (const { offset, length } of extents) {
    assert.ok(offset >= end && length > 0, JSON.stringify(extents));
    end = offset + length;
  }
  assert.ok(end <= sizeBytes, `${end} is beyond ${sizeBytes}`);
}

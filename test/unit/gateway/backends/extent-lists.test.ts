import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Extent, KnownSnapshot } from '../../../../gateway/backend.ts';
import { createListedChanges } from '../../../../gateway/local/extent-lists.ts';

const chunkBytes = 64 * 1024;

/** A snapshot with data in every second chunk. */
const count = 300_000;
const snapshot: KnownSnapshot = { id: 'a.s', nonce: 'n', volumeId: 'a.v', sizeBytes: 2 * count * chunkBytes };

function addSecondChunks(add: (extent: Extent) => void): void {
  for (let index = 0; index < count; index++) add({ offset: 2 * index * chunkBytes, length: chunkBytes });
}

test('the list of a fragmented snapshot has at most 250,000 extents, and every block is in one of them', async () => {
  const { allocated } = createListedChanges(async (_, add) => addSecondChunks(add));
  const extents = await Array.fromAsync(allocated(snapshot, 0));
  assert.ok(extents.length <= 250_000, `${extents.length} extents`);
  let [index, endBytes] = [0, 0];
  for (const { offset, length } of extents) {
    assert.ok(offset >= endBytes, 'extents overlap');
    endBytes = offset + length;
    while (index < count && 2 * index * chunkBytes >= offset && (2 * index + 1) * chunkBytes <= endBytes)
      index++;
  }
  assert.equal(index, count);
});

test('small gaps are joined first, and only in a list that is too long', async () => {
  const written = [0, 8, 9, 20, 100].map(block => ({ offset: block * chunkBytes, length: chunkBytes }));
  const listOf = async (maxExtents?: number) => {
    const changes = createListedChanges(async (_, add) => written.forEach(one => add(one)), maxExtents);
    const found = await Array.fromAsync(changes.changed({ base: snapshot, target: snapshot }, 0));
    return found.map(({ offset, length }) => [offset / chunkBytes, length / chunkBytes]);
  };
  const [first, last] = [
    [0, 1],
    [100, 1],
  ];
  assert.deepEqual(await listOf(), [first, [8, 2], [20, 1], last]);
  assert.deepEqual(await listOf(3), [[0, 10], [20, 1], last]);
  assert.deepEqual(await listOf(2), [[0, 21], last]);
});

test('a list is read once, and a page begins with the extent that ends after its offset', async () => {
  let reads = 0;
  const written = [10, 30, 50].map(offset => ({ offset, length: 10 }));
  const { allocated } = createListedChanges(async (_, add) => {
    reads++;
    written.forEach(one => add(one));
  });
  const small = { ...snapshot, sizeBytes: 55 };
  const from = async (offset: number) =>
    (await Array.fromAsync(allocated(small, offset))).map(one => [one.offset, one.length]);
  const all = [
    [10, 10],
    [30, 10],
    [50, 5],
  ];
  for (const [offset, omitted] of [
    [0, 0],
    [19, 0],
    [20, 1],
    [35, 1],
    [40, 2],
    [60, 3],
  ] as const)
    assert.deepEqual(await from(offset), all.slice(omitted), String(offset));
  assert.equal(reads, 1);
});

test('a list that could not be read is read again', async () => {
  let reads = 0;
  const { allocated } = createListedChanges(async (_, add) => {
    if (reads++ === 0) throw new Error('no');
    add({ offset: 0, length: 10 });
  });
  await assert.rejects(Array.fromAsync(allocated(snapshot, 0)), { message: 'no' });
  assert.deepEqual(await Array.fromAsync(allocated(snapshot, 0)), [{ offset: 0, length: 10 }]);
});

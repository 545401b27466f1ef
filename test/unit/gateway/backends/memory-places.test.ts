import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openMemory } from '../../../../gateway/backends/memory.ts';
import { testBackendPlaces } from '../../../suites/backend-places.ts';

const mebibyte = 2 ** 20;
const place = (zone: string, rack?: string) => ({
  totalBytes: 16 * mebibyte,
  place: { zone, ...(rack && { rack }) },
});

testBackendPlaces(async () => openMemory({ capacity: [place('a'), place('b', 'r1')] }), 16 * mebibyte);

test('a place that is not there has no room', async () => {
  const backend = openMemory({ capacity: [place('a')] });
  assert.equal((await backend.capacity?.({ zone: 'b' }))?.availableBytes, 0);
});

test('what is left in a place is what its volumes leave, however often each was made, grown and removed', async () => {
  const backend = openMemory({ capacity: [place('a'), place('b')] });
  const left = async (): Promise<readonly (number | undefined)[]> =>
    Promise.all(
      [{ zone: 'a' }, { zone: 'b' }].map(async one => (await backend.capacity?.(one))?.availableBytes),
    );
  const asked = { requiredBytes: 4 * mebibyte, limitBytes: 0, parameters: {}, capabilities: [] };
  for (const id of ['a.one', 'a.two', 'a.one'])
    await backend.create({ id, ...asked, places: [{ zone: 'b' }] });
  const grown = { requiredBytes: 6 * mebibyte, limitBytes: 0 };
  for (const id of ['a.one', 'a.one'])
    await backend.expand?.({ id, sizeBytes: 4 * mebibyte, parameters: {} }, grown);
  assert.deepEqual(await left(), [16 * mebibyte, 6 * mebibyte]);
  for (const id of ['a.one', 'a.one', 'a.never']) await backend.delete({ id });
  assert.deepEqual(await left(), [16 * mebibyte, 12 * mebibyte]);
});

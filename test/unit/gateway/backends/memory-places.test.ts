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
  assert.equal((await backend.capacity?.({ zone: 'b' }))?.totalBytes, 0);
});

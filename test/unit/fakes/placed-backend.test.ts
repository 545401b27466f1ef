import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPlaced } from '../../fakes/placed-backend.ts';
import { testBackend } from '../../suites/backend.ts';
import { testBackendPlaces } from '../../suites/backend-places.ts';

const roomBytes = 16 * 2 ** 20;
const rooms = [
  { totalBytes: roomBytes, place: { zone: 'a' } },
  { totalBytes: roomBytes, place: { zone: 'b', rack: 'r1' } },
];

testBackendPlaces(async () => openPlaced(rooms), roomBytes);
testBackend(async () => ({ ...openPlaced(rooms), capacity: async () => ({ totalBytes: roomBytes }) }));

test('a place that is unknown has no capacity', async () => {
  assert.deepEqual(await openPlaced(rooms).capacity?.({ zone: 'c' }), { totalBytes: 0 });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPlaced } from '../../fakes/placed-backend.ts';
import { testBackend } from '../../suites/backend.ts';
import { testBackendTopologies } from '../../suites/backend-topologies.ts';

const spaceBytes = 16 * 2 ** 20;
const spaces = [
  { totalBytes: spaceBytes, segments: { zone: 'a' } },
  { totalBytes: spaceBytes, segments: { zone: 'b', rack: 'r1' } },
];

testBackendTopologies(async () => openPlaced(spaces), spaceBytes);
testBackend(async () => ({ ...openPlaced(spaces), capacity: async () => ({ totalBytes: spaceBytes }) }));

test('a topology that is unknown has no capacity', async () => {
  assert.deepEqual(await openPlaced(spaces).capacity?.({ zone: 'c' }), { totalBytes: 0 });
});

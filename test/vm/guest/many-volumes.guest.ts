import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertHolds,
  contentOf,
  idsOf,
  makeVolume,
  newSnapshot,
  takeSnapshot,
} from '../../suites/backend-fixtures.ts';
import { makeDevices, openExportedPool } from '../targets/exported.ts';

const [volumes, snapshots] = [200, 50];

test('200 volumes, and 50 snapshots of one of them, are all listed and have their own data', async t => {
  const { backend, pathOf } = await openExportedPool(t, 'nvme-tcp', makeDevices(t));
  const content = contentOf(pathOf);
  const createMs: number[] = [];
  for (let index = 0; index < volumes; index++) {
    const startMs = performance.now();
    await makeVolume(backend, { id: `a.volume-${index}` });
    createMs.push(Math.round(performance.now() - startMs));
  }
  t.diagnostic(`the first volume: ${createMs[0]} ms, the last: ${createMs.at(-1)} ms`);
  const volume = { id: 'a.volume-0', nonce: 'own', sizeBytes: 2 ** 20, parameters: {} };
  const taken = [];
  for (let index = 0; index < snapshots; index++) {
    content.write(volume.id, 0, Buffer.from(`data-${index}.`));
    taken.push(await takeSnapshot(backend, newSnapshot(`a.snapshot-${index}`, volume)));
  }
  assert.equal((await idsOf(backend)).length, volumes);
  assert.equal((await idsOf(backend.snapshots)).length, snapshots);
  for (const index of [0, 24, 49]) {
    const snapshot = taken[index] ?? assert.fail();
    const id = `a.restored-${index}`;
    await makeVolume(backend, { id, source: { kind: 'snapshot', snapshot } });
    assertHolds(content, id, 0, `data-${index}.`);
  }
  for (const index of [0, 25]) await backend.snapshots.delete({ id: `a.snapshot-${index}`, nonce: 'own' });
  await backend.delete(volume);
  assert.equal((await idsOf(backend.snapshots)).length, snapshots - 2);
  for (const index of [0, 24, 49]) assertHolds(content, `a.restored-${index}`, 0, `data-${index}.`);
  assert.deepEqual(await backend.volumeHealth({ ...volume, id: 'a.volume-1' }), []);
});

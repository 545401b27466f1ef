import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertHolds,
  contentOf,
  idsOf,
  makeVolume,
  newSnapshot,
  takeSnapshot,
} from '../../../suites/backend-fixtures.ts';
import { openExportedPool } from '../../targets/exported.ts';
import { makeThinPool, removeVolumes } from '../../targets/thin-pool.ts';
import { undoLast } from '../../targets/undo.ts';

const [volumes, snapshots] = [200, 50];

test('200 volumes, and 50 snapshots of one of them, are all listed and have their own data', async t => {
  const place = makeThinPool(t, { sizeMiB: 256 });
  const { backend, pathOf } = await openExportedPool(t, 'nvme-tcp', place);
  undoLast(t, () => removeVolumes(place));
  const content = contentOf(pathOf);
  const firstMs = performance.now();
  for (let index = 1; index < volumes; index++) await makeVolume(backend, { id: `a.volume-${index}` });
  const lastMs = performance.now();
  const volume = await makeVolume(backend, { id: 'a.volume-0' });
  t.diagnostic(
    `a volume: ${Math.round((lastMs - firstMs) / volumes)} ms, the last: ${Math.round(performance.now() - lastMs)} ms`,
  );
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
  await backend.delete({ id: volume.id, nonce: 'own' });
  assert.equal((await idsOf(backend.snapshots)).length, snapshots - 2);
  assert.deepEqual(await backend.volumeHealth({ ...volume, id: 'a.volume-1' }), []);
});

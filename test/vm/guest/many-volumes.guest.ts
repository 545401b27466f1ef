import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { KnownSnapshot, KnownVolume } from '../../../gateway/backend.ts';
import { forEachAtMost } from '../../../src/lib/concurrency.ts';
import { untilAvailable } from '../../harness/csi-serving.ts';
import {
  assertHolds,
  contentOf,
  idsOf,
  makeVolume,
  newSnapshot,
  takeSnapshot,
} from '../../suites/backend-fixtures.ts';
import { accessOf, makeDevices, openExportedPool, targetsLeft } from '../targets/exported.ts';

const [volumes, snapshots] = [200, 50];

test('a pool has 200 volumes, and a volume 50 snapshots', async t => {
  const { backend, pathOf } = await openExportedPool(t, 'nvme-tcp', makeDevices(t));
  const content = contentOf(pathOf);
  const made: KnownVolume[] = [];
  const taken: KnownSnapshot[] = [];
  const volumeAt = (index: number): KnownVolume => made[index] ?? assert.fail(`there is no volume ${index}`);
  await t.test('200 volumes are created', inner =>
    workOff(inner, { count: volumes }, async index => {
      // As a cluster does, the test asks again if udev is late with a device.
      made[index] = await untilAvailable(() => makeVolume(backend, { id: `a.v${index}` }));
    }),
  );
  assert.equal((await idsOf(backend)).length, volumes);
  await t.test('all are attached at once', inner =>
    workOff(inner, { count: volumes }, index => backend.attach(volumeAt(index), accessOf(`n${index}`))),
  );
  await t.test('one gets 50 snapshots while it is attached', inner =>
    workOff(inner, { count: snapshots, maxConcurrent: 1 }, async index => {
      content.write(volumeAt(0).id, 0, Buffer.from(`data-${index}.`));
      taken[index] = await takeSnapshot(backend, newSnapshot(`a.s${index}`, volumeAt(0)));
    }),
  );
  assert.equal((await idsOf(backend.snapshots)).length, snapshots);
  await t.test('all are detached', inner =>
    workOff(inner, { count: volumes }, index => backend.detach(volumeAt(index), `n${index}`, 'c')),
  );
  assert.deepEqual(targetsLeft(), []);
  await t.test('copies of the snapshots have their data, and keep it without their source', async () => {
    const chosen = [0, 24, 49];
    for (const index of chosen) {
      const source = { kind: 'snapshot', snapshot: taken[index] ?? assert.fail() } as const;
      await makeVolume(backend, { id: `a.restored${index}`, source });
    }
    for (const index of [0, 25]) await backend.snapshots.delete({ id: `a.s${index}`, nonce: 'own' });
    await backend.delete(volumeAt(0));
    assert.equal((await idsOf(backend)).length, volumes - 1 + chosen.length);
    assert.equal((await idsOf(backend.snapshots)).length, snapshots - 2);
    for (const index of chosen) assertHolds(content, `a.restored${index}`, 0, `data-${index}.`);
  });
});

type Amount = { readonly count: number; readonly maxConcurrent?: number };

/**
 * Does work for each number. The first and the last call run alone, and their times are reported; those between run
 * concurrently.
 */
async function workOff(
  t: TestContext,
  { count, maxConcurrent = 8 }: Amount,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  const measure = async (index: number): Promise<string> => {
    const startMs = performance.now();
    await work(index);
    return `${Math.round(performance.now() - startMs)} ms for number ${index + 1}`;
  };
  const startMs = performance.now();
  const first = await measure(0);
  const between = Array.from({ length: count - 2 }, (_, index) => index + 1);
  await forEachAtMost(maxConcurrent, between, work);
  const last = await measure(count - 1);
  t.diagnostic(`${t.name}: ${first}, ${last}, ${Math.round((performance.now() - startMs) / 1_000)} s in all`);
}

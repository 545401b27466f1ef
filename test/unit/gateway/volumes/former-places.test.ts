import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  findFormerPlaces,
  showFormerPlaces,
  warnOfFormerPlaces,
} from '../../../../gateway/volumes/former-places.ts';
import type { Segments } from '../../../../src/api/topology.ts';
import {
  createMemoryLog,
  makeGateway,
  openMemory,
  temporaryDirectory,
  volumeSpec,
} from '../../../harness/gateway-harness.ts';

const [a, b] = [{ zone: 'a' }, { zone: 'b', rack: 'r1' }];
const other = { zone: 'c' };

/** The lines that a gateway in these places logs, on a store with one volume in zone a, two in b, and one in none. */
async function startIn(t: TestContext, places?: readonly Segments[]): Promise<readonly string[]> {
  const store = join(temporaryDirectory(t), 'store.sqlite');
  const backend = await openMemory();
  const there = [[a], [b], [b], undefined];
  for (const [index, made] of there.entries()) {
    const { volumes } = await makeGateway(t, {
      store,
      backend: { ...backend, ...(made && { places: made }) },
    });
    await volumes.create('a', `a.pvc-${index}`, volumeSpec(`pvc-${index}`));
  }
  const { engine } = await makeGateway(t, { store, backend });
  const { log, lines } = createMemoryLog();
  await warnOfFormerPlaces(engine.reader, { backend: { ...(places && { places }) }, log });
  return lines;
}

const says = 'warn volumes are in places that no setting names any more: only the nodes there reach them';
const started: readonly (readonly [string, readonly Segments[] | undefined, object | undefined])[] = [
  ['in all places of its volumes', [a, b], undefined],
  ['in the same places, told in another order', [{ rack: 'r1', zone: 'b' }, a], undefined],
  ['in one of the places', [a], { count: 2, detail: '"zone=b,rack=r1" (2)' }],
  ['in another place', [other], { count: 3, detail: '"zone=b,rack=r1" (2), "zone=a" (1)' }],
  ['in no place any more', undefined, { count: 3, detail: '"zone=b,rack=r1" (2), "zone=a" (1)' }],
];
for (const [name, places, fields] of started) {
  test(`a gateway that starts ${name} ${fields ? 'warns in one line' : 'has nothing to tell'}`, async t => {
    assert.deepEqual(await startIn(t, places), fields ? [`${says} ${JSON.stringify(fields)}`] : []);
  });
}

test('a deleted volume that is kept is where it was, and one that is gone is nowhere', async t => {
  const backend = { ...(await openMemory()), places: [a] };
  const { volumes, engine } = await makeGateway(t, { backend, keepDeletedMs: 3_600_000 });
  await volumes.create('a', 'a.one', volumeSpec('one'));
  await volumes.delete('a', 'a.one');
  assert.deepEqual(await findFormerPlaces(engine.reader, { places: [b] }), [{ place: a, count: 1 }]);
  await engine.transaction(sql => sql.run('delete from volumes'));
  assert.deepEqual(await findFormerPlaces(engine.reader, { places: [b] }), []);
});

test('however many places there are, a few are told', () => {
  const former = Array.from({ length: 12 }, (_, at) => ({ place: { zone: `z${at}` }, count: 20 - at }));
  assert.match(
    showFormerPlaces(former),
    /^"zone=z0" \(20\), "zone=z1" \(19\), .*"zone=z9" \(11\) and 2 more$/,
  );
});

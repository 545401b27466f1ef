import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memory, openMemory } from '../../../../gateway/backends/memory.ts';
import { testBackendPlaces } from '../../../suites/backend-places.ts';

const mebibyte = 2 ** 20;
const { parse } = memory.settings['memory-capacity'];

testBackendPlaces(
  async () => openMemory({ 'memory-capacity': parse('16Mi in zone=a; 16Mi in zone=b,rack=r1') }),
  16 * mebibyte,
);

test('the capacity is a number, or one for each place', () => {
  assert.equal(parse('1Ti'), 2 ** 40);
  assert.deepEqual(parse('10Mi in zone=a;20Mi  in  zone=b,rack=r1'), [
    { totalBytes: 10 * mebibyte, place: { zone: 'a' } },
    { totalBytes: 20 * mebibyte, place: { zone: 'b', rack: 'r1' } },
  ]);
  for (const [text, says] of [
    ['much in zone=a', /"much" is not a number of bytes/],
    ['1Mi in zone', /"zone" is not key=value/],
    ['1Mi in zone=a in zone=b', /is not like 10Gi in zone=a/],
    ['1Mi in zone=a;', /is not a number of bytes/],
    ['1Mi in zone=a; 2Mi in zone=a', /has a place twice/],
  ] as const)
    assert.throws(() => parse(text), says);
});

test('a place that is not there has no room', async () => {
  const backend = openMemory({ 'memory-capacity': parse('16Mi in zone=a') });
  assert.equal((await backend.capacity?.({}, { zone: 'b' }))?.availableBytes, 0);
});

test('what is left in a place is what its volumes leave, however often each was made, grown and removed', async () => {
  const backend = openMemory({ 'memory-capacity': parse('16Mi in zone=a; 16Mi in zone=b') });
  const left = async (): Promise<readonly (number | undefined)[]> =>
    Promise.all(
      [{ zone: 'a' }, { zone: 'b' }].map(
        async place => (await backend.capacity?.({}, place))?.availableBytes,
      ),
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memory, openMemory } from '../../../gateway/backends/memory.ts';
import { newVolume } from '../../suites/backend.ts';
import { isProblem } from '../problems.ts';

const mebibyte = 2 ** 20;
const [a, b] = [{ zone: 'a' }, { zone: 'b', rack: 'r1' }];
const parse = memory.settings['memory-capacity'].parse;
const open = () => openMemory({ 'memory-capacity': parse('10Mi in zone=a; 20Mi in zone=b,rack=r1') });

test('the capacity is a number, or one for each place', () => {
  assert.equal(parse('1Ti'), 2 ** 40);
  assert.deepEqual(parse('10Mi in zone=a;20Mi  in  zone=b,rack=r1'), [
    { totalBytes: 10 * mebibyte, place: a },
    { totalBytes: 20 * mebibyte, place: b },
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

test('a volume is in the first of the places asked for into which it fits', async () => {
  const backend = open();
  assert.deepEqual(backend.places, [a, b]);
  const create = (id: string, places: readonly (typeof a)[], requiredBytes: number) =>
    backend.create({ ...newVolume({ id, requiredBytes }), places });
  assert.deepEqual((await create('a.1', [b, a], mebibyte)).place, b);
  assert.deepEqual((await create('a.2', [a, b], 8 * mebibyte)).place, a);
  assert.deepEqual((await create('a.3', [a, b], 8 * mebibyte)).place, b);
  await assert.rejects(create('a.4', [a], 8 * mebibyte), isProblem('RESOURCE_EXHAUSTED'));
  await assert.rejects(create('a.4', [a, b], 12 * mebibyte), isProblem('RESOURCE_EXHAUSTED'));
  await assert.rejects(create('a.4', [a, b], 21 * mebibyte), isProblem('OUT_OF_RANGE'));
  // What is there stays where it is, whatever is asked.
  assert.deepEqual((await create('a.1', [a], mebibyte)).place, b);
  const free = async (place: typeof a) => (await backend.capacity?.({}, place))?.availableBytes;
  assert.deepEqual([await free(a), await free(b)], [2 * mebibyte, 11 * mebibyte]);
});

test('a volume grows where it is', async () => {
  const backend = open();
  const volume = { ...newVolume({ requiredBytes: 8 * mebibyte }), places: [a] };
  const { sizeBytes } = await backend.create(volume);
  const known = { id: volume.id, sizeBytes, parameters: {}, place: a };
  const grow = async (requiredBytes: number) => backend.expand?.(known, { requiredBytes, limitBytes: 0 });
  await assert.rejects(grow(11 * mebibyte), isProblem('OUT_OF_RANGE', 'RESOURCE_EXHAUSTED'));
  assert.equal((await grow(10 * mebibyte))?.sizeBytes, 10 * mebibyte);
});

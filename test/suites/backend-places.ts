import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Backend } from '../../gateway/backend.ts';
import type { Segments } from '../../src/api/topology.ts';
import { isProblem } from '../harness/gateway-problems.ts';
import { newVolume, type OpenBackend } from './backend.ts';

const mebibyte = 2 ** 20;

/**
 * What a backend must do that knows its places by itself: it is opened with at least two, of which each has `roomBytes`,
 * a multiple of 8 MiB.
 */
export function testBackendPlaces(open: OpenBackend, roomBytes: number): void {
  test('a volume is in the first of the places asked for, and says so', async t => {
    const { backend, first, second } = await openTwo(t);
    assert.deepEqual(await make(backend, { id: 'a.1', in: [first, second] }), first);
    assert.deepEqual(await make(backend, { id: 'a.2', in: [second, first] }), second);
    assert.deepEqual(await make(backend, { id: 'a.3', in: [second] }), second);
  });

  test('making a volume again leaves it where it is, whatever is asked the second time', async t => {
    const { backend, first, second } = await openTwo(t);
    assert.deepEqual(await make(backend, { id: 'a.1', in: [second] }), second);
    assert.deepEqual(await make(backend, { id: 'a.1', in: [first] }), second);
    assert.deepEqual(await Array.fromAsync(backend.list?.() ?? ['a.1']), ['a.1']);
  });

  test('a place that is full is passed over; when all are, nothing is made', async t => {
    const { backend, first, second } = await openTwo(t);
    const half = roomBytes / 2 + mebibyte;
    assert.deepEqual(await make(backend, { id: 'a.1', in: [first, second], requiredBytes: half }), first);
    assert.deepEqual(await make(backend, { id: 'a.2', in: [first, second], requiredBytes: half }), second);
    await assert.rejects(
      make(backend, { id: 'a.3', in: [first], requiredBytes: half }),
      isProblem('RESOURCE_EXHAUSTED'),
    );
    await assert.rejects(
      make(backend, { id: 'a.3', in: [first, second], requiredBytes: half }),
      isProblem('RESOURCE_EXHAUSTED'),
    );
    await backend.delete({ id: 'a.1' });
    assert.deepEqual(await make(backend, { id: 'a.3', in: [second, first], requiredBytes: half }), first);
  });

  test('a volume that fits into no place, whatever is freed, is OUT_OF_RANGE', async t => {
    const { backend, places } = await openTwo(t);
    const work = make(backend, { id: 'a.1', in: places, requiredBytes: roomBytes + mebibyte });
    await assert.rejects(work, isProblem('OUT_OF_RANGE'));
    assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), []);
  });

  test('each place has a capacity of its own', async t => {
    const { backend, first, second } = await openTwo(t);
    const free = async (place: Segments) => (await backend.capacity?.(place))?.availableBytes;
    const [inFirst, inSecond] = [await free(first), await free(second)];
    if (inFirst === undefined) return;
    const { sizeBytes } = await backend.create({
      ...newVolume({ requiredBytes: 8 * mebibyte }),
      places: [first],
    });
    assert.deepEqual([await free(first), await free(second)], [inFirst - sizeBytes, inSecond]);
  });

  test('a volume grows where it is', async t => {
    const { backend, first } = await openTwo(t);
    if (!backend.expand) return;
    const { sizeBytes } = await backend.create({
      ...newVolume({ requiredBytes: 8 * mebibyte }),
      places: [first],
    });
    const known = { id: 'a.volume', sizeBytes, parameters: {}, place: first };
    const tooMuch = backend.expand(known, { requiredBytes: roomBytes + mebibyte, limitBytes: 0 });
    await assert.rejects(tooMuch, isProblem('OUT_OF_RANGE', 'RESOURCE_EXHAUSTED'));
    const grown = await backend.expand(known, { requiredBytes: roomBytes, limitBytes: 0 });
    assert.equal(grown.sizeBytes, roomBytes);
  });

  async function openTwo(t: Parameters<OpenBackend>[0]) {
    const backend = await open(t);
    const { places = [] } = backend;
    const [first, second] = places;
    assert.ok(first && second, 'it has fewer than two places');
    return { backend, places, first, second };
  }
}

type Asked = { readonly id: string; readonly in: readonly Segments[]; readonly requiredBytes?: number };

async function make(
  backend: Backend,
  { id, in: places, requiredBytes = mebibyte }: Asked,
): Promise<Segments | undefined> {
  return (await backend.create({ ...newVolume({ id, requiredBytes }), places })).place;
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Backend } from '../../gateway/backend.ts';
import type { Segments } from '../../src/api/topology.ts';
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

  test('each place has a capacity of its own', async t => {
    const { backend, first, second } = await openTwo(t);
    if (!backend.capacity) return t.skip('it does not tell what it has');
    for (const place of [first, second]) assert.ok((await backend.capacity(place)).totalBytes >= roomBytes);
  });

  test('a volume grows where it is', async t => {
    const { backend, first } = await openTwo(t);
    if (!backend.expand) return t.skip('its volumes do not grow');
    const { sizeBytes } = await backend.create({
      ...newVolume({ requiredBytes: 8 * mebibyte }),
      places: [first],
    });
    const known = { id: 'a.volume', sizeBytes, parameters: {}, place: first };
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

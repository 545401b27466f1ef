import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Backend } from '../../gateway/backend.ts';
import type { Segments } from '../../src/api/topology.ts';
import { newVolume, type OpenBackend } from './backend.ts';

const mebibyte = 2 ** 20;

/**
 * What a backend must do that knows its topologies by itself: it is opened with at least two, of which each has `spaceBytes`,
 * a multiple of 8 MiB.
 */
export function testBackendTopologies(open: OpenBackend, spaceBytes: number): void {
  test('a volume is in the first of the topologies asked for, and says so', async t => {
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

  test('each topology has a capacity of its own', async t => {
    const { backend, first, second } = await openTwo(t);
    if (!backend.capacity) return t.skip('it does not tell what it has');
    for (const segments of [first, second])
      assert.ok((await backend.capacity(segments)).totalBytes >= spaceBytes);
  });

  test('a volume grows where it is', async t => {
    const { backend, first } = await openTwo(t);
    if (!backend.expand) return t.skip('its volumes do not grow');
    const { sizeBytes } = await backend.create({
      ...newVolume({ requiredBytes: 8 * mebibyte }),
      topologies: [first],
    });
    const known = { id: 'a.volume', sizeBytes, parameters: {}, segments: first };
    const grown = await backend.expand(known, { requiredBytes: spaceBytes, limitBytes: 0 });
    assert.equal(grown.sizeBytes, spaceBytes);
  });

  async function openTwo(t: Parameters<OpenBackend>[0]) {
    const backend = await open(t);
    const { topologies = [] } = backend;
    const [first, second] = topologies;
    assert.ok(first && second, 'it has fewer than two topologies');
    return { backend, topologies, first, second };
  }
}

type Asked = { readonly id: string; readonly in: readonly Segments[]; readonly requiredBytes?: number };

async function make(
  backend: Backend,
  { id, in: topologies, requiredBytes = mebibyte }: Asked,
): Promise<Segments | undefined> {
  return (await backend.create({ ...newVolume({ id, requiredBytes }), topologies })).segments;
}

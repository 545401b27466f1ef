import assert from 'node:assert/strict';
import type { Segments } from '../../src/api/topology.ts';
import { createCheck, idsOf, newVolume, type OpenBackend } from './backend-fixtures.ts';

/**
 * Tests a backend that knows its topologies. It is opened with at least two, each with `spaceBytes`: a multiple of 8
 * MiB, and enough for eight of its smallest volumes.
 */
export function testBackendTopologies(open: OpenBackend, spaceBytes: number): void {
  const check = createCheck(open);

  check('a volume is in the first of the topologies asked for, and stays', ['topologies'], async opened => {
    const { backend } = opened;
    const [first, second] = backend.topologies;
    assert.ok(first && second, 'it has fewer than two topologies');
    const create = async (id: string, topologies: readonly Segments[]) =>
      (await backend.create({ ...newVolume({ id }), topologies })).segments;
    assert.deepEqual(await create('a.1', [first, second]), first);
    assert.deepEqual(await create('a.2', [second, first]), second);
    assert.deepEqual(await create('a.3', [second]), second);
    assert.deepEqual(await create('a.3', [first]), second);
    assert.deepEqual(await idsOf(backend), ['a.1', 'a.2', 'a.3']);
  });

  check('volumes grow in the capacity of their own topology', ['expand', 'capacity'], async opened => {
    const { backend, unitBytes } = opened;
    for (const [index, segments] of backend.topologies.entries()) {
      assert.ok((await backend.capacity(segments)).totalBytes >= spaceBytes);
      const id = `a.${index}`;
      const wanted = { ...newVolume({ id, requiredBytes: 8 * unitBytes }), topologies: [segments] };
      const known = { id, ...(await backend.create(wanted)), parameters: {} };
      const grown = await backend.expand(known, { requiredBytes: spaceBytes, limitBytes: 0 });
      assert.equal(grown.sizeBytes, spaceBytes);
    }
  });
}

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Extent } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import type { MappedExtent } from '../../../../gateway/backends/image/extents.ts';
import { unsharedRanges } from '../../../../gateway/backends/image/ranges.ts';
import { temporaryDirectory } from '../../../harness/gateway-harness.ts';
import { isProblem } from '../../../harness/gateway-problems.ts';
import { openPlugin } from '../../../harness/open-plugin.ts';
import { contentOf, makeVolume } from '../../../suites/backend-members.ts';

const MiB = 2 ** 20;

test('without maps of a filesystem every byte is looked at', async t => {
  const place = mkdtempSync('/dev/shm/fairlead-test-');
  t.after(() => rmSync(place, { recursive: true }));
  const backend = await openPlugin(backends.image, { dir: place, capacity: 2 ** 30 });
  t.after(() => backend.close?.());
  const volume = await makeVolume(backend, { requiredBytes: 4 * MiB });
  await contentOf(id => join(place, `${id}.img`)).write(volume.id, 2 * MiB, Buffer.from('data'));
  const cut = { volume, attachedForWriting: false, parameters: {} };
  await backend.snapshots?.create({ id: 'a.cut', ...cut });
  const snapshot = { id: 'a.cut', volumeId: volume.id, sizeBytes: volume.sizeBytes };
  assert.deepEqual(await Array.fromAsync(backend.changes?.allocated(snapshot, 0) ?? []), [
    { offset: 2 * MiB, length: 4_096 },
  ]);
});

test('the blocks of a snapshot that is not there are NOT_FOUND', async t => {
  const backend = await openPlugin(backends.image, {
    dir: temporaryDirectory(t),
    capacity: 2 ** 30,
  });
  t.after(() => backend.close?.());
  const missing = { id: 'a.never', volumeId: 'a.volume', sizeBytes: MiB };
  await assert.rejects(Array.fromAsync(backend.changes?.allocated(missing, 0) ?? []), isProblem('NOT_FOUND'));
});

const rows: readonly {
  readonly name: string;
  readonly base: readonly MappedExtent[];
  readonly target: readonly MappedExtent[];
  readonly differ: readonly Extent[];
}[] = [
  { name: 'nothing in both', base: [], target: [], differ: [] },
  { name: 'one place', base: [at(0, 8, 100)], target: [at(0, 8, 100)], differ: [] },
  {
    name: 'other places',
    base: [at(0, 8, 100)],
    target: [at(0, 8, 200)],
    differ: [{ offset: 0, length: 8 }],
  },
  { name: 'an unknown place', base: [at(0, 8)], target: [at(0, 8)], differ: [{ offset: 0, length: 8 }] },
  { name: 'a hole in the target', base: [at(2, 4, 100)], target: [], differ: [{ offset: 2, length: 4 }] },
  {
    name: 'one place in two pieces',
    base: [at(0, 8, 100)],
    target: [at(0, 3, 100), at(3, 5, 103)],
    differ: [],
  },
  {
    name: 'a part that moved',
    base: [at(0, 8, 100)],
    target: [at(0, 2, 100), at(2, 2, 50), at(4, 4, 104)],
    differ: [{ offset: 2, length: 2 }],
  },
  {
    name: 'one place, but shifted',
    base: [at(0, 4, 100)],
    target: [at(2, 4, 100)],
    differ: [
      { offset: 0, length: 2 },
      { offset: 2, length: 2 },
      { offset: 4, length: 2 },
    ],
  },
  {
    name: 'what lies beyond the end',
    base: [at(0, 90, 100)],
    target: [],
    differ: [{ offset: 0, length: 16 }],
  },
];
for (const { name, base, target, differ } of rows)
  test(`two maps with ${name} may differ where expected`, () => {
    assert.deepEqual([...unsharedRanges(base, target, 16)], differ);
  });

function at(offset: number, length: number, physical?: number): MappedExtent {
  return { offset, length, physical };
}

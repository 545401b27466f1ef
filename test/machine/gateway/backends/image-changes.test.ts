import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  array,
  assert as assertProperty,
  asyncProperty,
  constantFrom,
  integer,
  nat,
  oneof,
  record,
} from 'fast-check';
import type { Extent } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import type { MappedExtent } from '../../../../gateway/backends/image/extents.ts';
import { unsharedRanges } from '../../../../gateway/backends/image/ranges.ts';
import { isProblem } from '../../../harness/gateway-problems.ts';
import { contentOf, makeVolume } from '../../../suites/backend-members.ts';
import { cutSnapshot, MiB, openPool, poolFilesystems, sharing, whyNoPool } from './image-pool.ts';
import { temporaryDirectory } from '../../../harness/gateway-harness.ts';
import { openPlugin } from '../../../harness/open-plugin.ts';

/** Somewhat more than one window. */
const sizeBytes = 66 * MiB;
const write = record({
  offset: oneof(
    nat(sizeBytes - 1),
    nat(16_800).map(block => block * 4_096),
  ),
  length: oneof(integer({ min: 1, max: 20_000 }), constantFrom(4_096, 65_536, MiB)),
  kind: constantFrom('random', 'zeros', 'same'),
});
const history = record({
  before: array(write, { maxLength: 12 }),
  after: array(write, { maxLength: 12 }),
  fromOffset: nat(sizeBytes),
});
const seed = Math.floor(Math.random() * 2 ** 31);

for (const filesystem of poolFilesystems) {
  const skip = whyNoPool(filesystem);
  const options = skip === undefined ? {} : { skip };

  test(
    `${filesystem}: the base with the changed blocks is the target, whatever was written`,
    options,
    async t => {
      t.diagnostic(`seed ${seed}`);
      const pool = await openPool(t, filesystem, { sizeBytes: 1024 * MiB, capacityBytes: 2 ** 40 });
      const { changes } = pool.backend;
      assert.ok(changes);
      let round = 0;
      const property = asyncProperty(history, async ({ before, after, fromOffset }) => {
        round++;
        const volume = await makeVolume(pool.backend, { id: `a.v${round}`, requiredBytes: sizeBytes });
        const path = join(pool.directory, `a.v${round}.img`);
        applyWrites(path, before);
        const base = await cutSnapshot(pool, `a.base${round}`, { volume });
        applyWrites(path, after);
        const target = await cutSnapshot(pool, `a.target${round}`, { volume });
        const [old, now] = [base, target].map(({ id }) =>
          readFileSync(join(pool.directory, 'snapshots', `${id}.snap`)),
        );
        assert.ok(old && now);
        const changed = await Array.fromAsync(changes.changed({ base, target }, 0));
        assertApplies({ from: old, to: now, extents: changed });
        for (const { offset, length } of changed) assertTight(old, now, { offset, length });
        const allocated = await Array.fromAsync(changes.allocated(target, 0));
        assertApplies({ from: Buffer.alloc(now.length), to: now, extents: allocated });
        const rest = (extents: readonly Extent[]) =>
          extents.filter(({ offset, length }) => offset + length > fromOffset);
        assert.deepEqual(await Array.fromAsync(changes.changed({ base, target }, fromOffset)), rest(changed));
        assert.deepEqual(await Array.fromAsync(changes.allocated(target, fromOffset)), rest(allocated));
        for (const { id } of [base, target]) await pool.snapshots.delete({ id });
        await pool.backend.delete(volume);
      });
      await assertProperty(property, { numRuns: 8, seed });
    },
  );

  test(
    `${filesystem}: a target that is larger than its base has all of its new blocks changed`,
    options,
    async t => {
      const pool = await openPool(t, filesystem);
      const volume = await makeVolume(pool.backend, { requiredBytes: 2 * MiB });
      const base = await cutSnapshot(pool, 'a.base', { volume });
      await pool.backend.expand?.(volume, { requiredBytes: 4 * MiB, limitBytes: 0 });
      await pool.content.write(volume.id, 3 * MiB, randomBytes(8_192));
      const target = await cutSnapshot(pool, 'a.target', { volume });
      const changed = await Array.fromAsync(pool.backend.changes?.changed({ base, target }, 0) ?? []);
      assert.deepEqual(changed, [{ offset: 3 * MiB, length: 8_192 }]);
      const back = await Array.fromAsync(
        pool.backend.changes?.changed({ base: target, target: base }, 0) ?? [],
      );
      assert.deepEqual(back, []);
    },
  );
}

test('where blocks are shared, those that were not written are not read', async t => {
  const filesystem = poolFilesystems.find(name => sharing.has(name) && whyNoPool(name) === undefined);
  if (!filesystem) return t.skip('needs xfs or btrfs');
  const pool = await openPool(t, filesystem, { sizeBytes: 1024 * MiB, capacityBytes: 2 ** 40 });
  const volume = await makeVolume(pool.backend, { requiredBytes: 512 * MiB });
  await pool.content.write(volume.id, 0, randomBytes(256 * MiB));
  const base = await cutSnapshot(pool, 'a.base', { volume });
  await pool.content.write(volume.id, 100 * MiB, randomBytes(4_096));
  const target = await cutSnapshot(pool, 'a.target', { volume });
  const before = readCharacters();
  const changed = await Array.fromAsync(pool.backend.changes?.changed({ base, target }, 0) ?? []);
  assert.deepEqual(changed, [{ offset: 100 * MiB, length: 4_096 }]);
  assert.ok(readCharacters() - before < 16 * MiB);
});

/** What this process has read from files so far, in bytes. */
function readCharacters(): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}

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

function applyWrites(
  path: string,
  writes: readonly { offset: number; length: number; kind: string }[],
): void {
  const content = readFileSync(path);
  const fd = openSync(path, 'r+');
  for (const { offset, length, kind } of writes) {
    const end = Math.min(offset + length, sizeBytes);
    const bytes = { random: randomBytes(end - offset), zeros: Buffer.alloc(end - offset) }[kind];
    writeSync(fd, bytes ?? content.subarray(offset, end), 0, end - offset, offset);
  }
  closeSync(fd);
}

type Patch = { readonly from: Buffer; readonly to: Buffer; readonly extents: readonly Extent[] };

function assertApplies({ from, to, extents }: Patch): void {
  const patched = Buffer.from(from);
  let end = 0;
  for (const { offset, length } of extents) {
    assert.ok(offset >= end && length > 0 && offset + length <= to.length);
    end = offset + length;
    to.copy(patched, offset, offset, end);
  }
  assert.ok(patched.equals(to));
}

/** Each block that is told holds a byte that differs. */
function assertTight(from: Buffer, to: Buffer, { offset, length }: Extent): void {
  for (let start = offset; start < offset + length; start += 4_096) {
    const end = Math.min(start + 4_096, offset + length);
    assert.notEqual(from.compare(to, start, end, start, end), 0, `block at ${start}`);
  }
}

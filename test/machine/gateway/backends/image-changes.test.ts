import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
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
import { isFull, seed } from '../../../harness/sample.ts';
import { makeVolume, newSnapshot, takeSnapshot } from '../../../suites/backend-fixtures.ts';
import { MiB, sharing, testPool } from './image-pool.ts';

/** Slightly more than the gap across which extents are joined. */
const sizeBytes = 66 * MiB;
const write = record({
  offset: oneof(
    nat(sizeBytes + MiB),
    nat(17_200).map(block => block * 4_096),
  ),
  length: oneof(integer({ min: 1, max: 20_000 }), constantFrom(4_096, 65_536, MiB)),
  kind: constantFrom('random', 'zeros', 'same'),
});
const history = record({
  before: array(write, { maxLength: 12 }),
  growBytes: constantFrom(0, 2 * MiB),
  after: array(write, { maxLength: 12 }),
  fromOffset: nat(sizeBytes),
});
const runs = isFull ? 8 : 3;

testPool('base and changes make the target', { sizeBytes: 1024 * MiB }, async ({ backend, directory }) => {
  const { changes, snapshots } = backend;
  let round = 0;
  const property = asyncProperty(history, async ({ before, growBytes, after, fromOffset }) => {
    round++;
    const volume = await makeVolume(backend, { id: `a.v${round}`, requiredBytes: sizeBytes });
    const path = join(directory, `a.v${round}.img`);
    applyWrites(path, before);
    const base = await takeSnapshot(backend, newSnapshot(`a.base${round}`, volume));
    await backend.expand(volume, { requiredBytes: sizeBytes + growBytes, limitBytes: 0 });
    applyWrites(path, after);
    const target = await takeSnapshot(backend, newSnapshot(`a.target${round}`, volume));
    const read = ({ id }: typeof base) => readFileSync(join(directory, 'snapshots', `${id}.snap`));
    const now = read(target);
    const old = Buffer.concat([read(base), Buffer.alloc(growBytes)]);
    const changed = await Array.fromAsync(changes.changed({ base, target }, 0));
    assertApplies({ from: old, to: now, extents: changed });
    for (const extent of changed) assertTight(old, now, extent);
    const allocated = await Array.fromAsync(changes.allocated(target, 0));
    assertApplies({ from: Buffer.alloc(now.length), to: now, extents: allocated });
    const rest = await Array.fromAsync(changes.changed({ base, target }, fromOffset));
    for (const { offset, length } of rest) assert.ok(offset + length > fromOffset);
    const from = Buffer.concat([now.subarray(0, fromOffset), old.subarray(fromOffset)]);
    assertApplies({ from, to: now, extents: rest });
    for (const { id } of [base, target]) await snapshots.delete({ id });
    await backend.delete(volume);
  });
  await assertProperty(property, { numRuns: runs, seed });
});

testPool('shared blocks are not read for changes', { on: sharing, sizeBytes: 1024 * MiB }, async pool => {
  const { backend, content } = pool;
  const volume = await makeVolume(backend, { requiredBytes: 512 * MiB });
  content.write(volume.id, 0, randomBytes(256 * MiB));
  const base = await takeSnapshot(backend, newSnapshot('a.base', volume));
  content.write(volume.id, 100 * MiB, randomBytes(4_096));
  const target = await takeSnapshot(backend, newSnapshot('a.target', volume));
  const before = readCharacters();
  const changed = await Array.fromAsync(backend.changes.changed({ base, target }, 0));
  assert.deepEqual(changed, [{ offset: 100 * MiB, length: 4_096 }]);
  assert.ok(readCharacters() - before < 16 * MiB);
});

/** Returns the bytes that this process has read from files so far. */
function readCharacters(): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}

function applyWrites(
  path: string,
  writes: readonly { offset: number; length: number; kind: string }[],
): void {
  const content = readFileSync(path);
  const fd = openSync(path, 'r+');
  for (const { offset, length, kind } of writes) {
    const same = content.subarray(offset, offset + length);
    const bytes = { random: randomBytes(same.length), zeros: Buffer.alloc(same.length) }[kind];
    writeSync(fd, bytes ?? same, 0, same.length, offset);
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

/** Fails unless each listed block has a byte that differs. */
function assertTight(from: Buffer, to: Buffer, { offset, length }: Extent): void {
  for (let start = offset; start < offset + length; start += 4_096) {
    const end = Math.min(start + 4_096, offset + length);
    assert.notEqual(from.compare(to, start, end, start, end), 0, `block at ${start}`);
  }
}

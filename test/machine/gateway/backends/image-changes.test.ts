import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
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
import { makeVolume } from '../../../suites/backend-members.ts';
import { cutSnapshot, MiB, openPool, poolFilesystems, sharing, whyNoPool } from './image-pool.ts';

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
        const rest = await Array.fromAsync(changes.changed({ base, target }, fromOffset));
        for (const { offset, length } of rest) assert.ok(offset + length > fromOffset);
        const from = Buffer.concat([now.subarray(0, fromOffset), old.subarray(fromOffset)]);
        assertApplies({ from, to: now, extents: rest });
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

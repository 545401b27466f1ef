import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backends } from '../../../../gateway/backends/index.ts';
import { createDeletion } from '../../../../gateway/backends/zfs/deletion.ts';
import { nameOf, readRecord } from '../../../../gateway/backends/zfs/names.ts';
import { openPool } from '../../../../gateway/backends/zfs/pool.ts';
import { createVolumes } from '../../../../gateway/backends/zfs/volumes.ts';
import { openLoop } from '../../../../gateway/exports/loop.ts';
import type { ExecResult } from '../../../../src/lib/exec.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { newVolume } from '../../../suites/backend-fixtures.ts';

const MiB = 2 ** 20;
const dataset = 'tank/fairlead';
const exported = { protocol: 'nvme-tcp', addresses: ['192.0.2.1:4420'] };
const succeeded: ExecResult = { status: 0, stdout: '', stderr: '', timedOut: false };
const failed: ExecResult = { ...succeeded, status: 1, stderr: 'cannot\n' };

type Pool = { readonly available?: number; readonly health?: string; readonly usedPercent?: number };

/** A report's row of the dataset, and of a volume. */
function reportOf({ available = 64 * MiB }: Pool): string {
  const own = [dataset, 'filesystem', 36 * MiB, available, ...Array<string>(12).fill('-')];
  const path = `${dataset}/fairlead.volume.a.volume`;
  const sizes = [MiB, available, MiB, MiB, 8192, 1, 1, 7, '-', '-', 'standard', '-'];
  const volume = [path, 'volume', ...sizes, 'own a.volume', '-', '-'];
  return [own, volume].map(cells => `${cells.join('\t')}\n`).join('');
}

/** Opens a pool in this state, whose changes fail. */
function open(state: Pool) {
  const { health = 'ONLINE', usedPercent = 10 } = state;
  const pool = openPool(dataset, {
    report: async () => ({ ...succeeded, stdout: reportOf(state) }),
    status: async () => ({ health, usedPercent }),
    change: async () => failed,
    settle: async () => undefined,
    volumeAt: async () => undefined,
  });
  return createVolumes(pool, openLoop(), createDeletion(pool, silentLog));
}

test('a name of ZFS is the id, or a hash of a long id, and a record belongs to its name', () => {
  assert.equal(nameOf('volume', 'a.pvc-1'), 'fairlead.volume.a.pvc-1');
  assert.match(nameOf('snapshot', `a.${'x'.repeat(126)}`), /^fairlead\.snapshot\.[0-9a-f]{32}$/);
  for (const id of ['..', 'a', 'a.x/y', 'a.x@y', '-rf']) assert.throws(() => nameOf('volume', id));
  const record = { id: 'a.two', nonce: 'n' };
  assert.deepEqual(readRecord('snapshot', 'fairlead.snapshot.a.two', 'n a.one a.two'), record);
  assert.deepEqual(readRecord('volume', 'fairlead.volume.a.two', ' a.two'), { id: 'a.two', nonce: '' });
  assert.equal(readRecord('snapshot', 'fairlead.snapshot.a.three', 'n a.one a.two'), undefined);
  assert.equal(readRecord('volume', 'fairlead.volume.a.two', '-'), undefined);
});

test('settings need an export, and a dataset below a pool', () => {
  const { settings } = backends.zfs;
  assert.ok(settings.safeParse({ dataset, export: exported }).success);
  for (const faulty of [
    { dataset },
    { dataset: 'tank', export: exported },
    { dataset: '-tank/a', export: exported },
    { dataset: 'tank/a@b', export: exported },
    { dataset: `tank/${'a'.repeat(100)}`, export: exported },
    { dataset, export: exported, other: true },
  ])
    assert.ok(!settings.safeParse(faulty).success, JSON.stringify(faulty));
});

test('faults begin before the dataset or its pool is full', async () => {
  const rows = [
    [{}, []],
    [{ usedPercent: 80 }, ['PoolDataNearlyFull']],
    [{ available: 9 * MiB }, ['PoolDataNearlyFull']],
    [{ available: 0 }, ['PoolDataFull']],
    [{ health: 'DEGRADED' }, ['PoolDegraded']],
  ] as const;
  const volume = { id: 'a.volume', nonce: 'own', sizeBytes: MiB, parameters: {} };
  for (const [state, reasons] of rows) {
    const found = await open(state).volumeHealth(volume);
    assert.deepEqual(
      found.map(({ reason }) => reason),
      reasons,
    );
  }
});

test('a change that fails is RESOURCE_EXHAUSTED in a full dataset, and UNAVAILABLE in any other', async () => {
  for (const [available, code] of [
    [64 * MiB, 'UNAVAILABLE'],
    [0, 'RESOURCE_EXHAUSTED'],
  ] as const)
    await assert.rejects(open({ available }).create(newVolume({ id: 'a.new' })), { code });
});

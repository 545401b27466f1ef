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

/** The state of a pool; `change` answers every change, and `report` the reports of single volumes. */
type Pool = {
  readonly report?: ExecResult;
  readonly available?: number;
  readonly health?: string;
  readonly usedPercent?: number;
  readonly change?: ExecResult;
};

const path = `${dataset}/fairlead.volume.a.volume`;
const otherPath = `${dataset}/fairlead.volume.a.other`;
const snapshotPath = `${otherPath}@fairlead.snapshot.a.snapshot`;

/** A report's rows of the dataset, of a volume, and of a snapshot of another volume. */
function reportOf({ available = 64 * MiB }: Pool): string {
  const own = [dataset, 'filesystem', 36 * MiB, available, ...Array<string>(13).fill('-')];
  const sizes = [MiB, available, MiB, MiB, 8192, 1, 1, 7, '-', '-', 'standard', 'off', '-'];
  const volume = [path, 'volume', ...sizes, 'own a.volume', '-', '-'];
  const snapshot = [
    snapshotPath,
    'snapshot',
    MiB,
    '-',
    MiB,
    MiB,
    '-',
    1,
    2,
    8,
    '',
    'off',
    '-',
    '-',
    '-',
    '-',
  ];
  return [own, volume, [...snapshot, 'own a.snapshot', '-']].map(cells => `${cells.join('\t')}\n`).join('');
}

/** Opens a pool in this state. */
function openAt(state: Pool) {
  const { health = 'ONLINE', usedPercent = 10, change = failed } = state;
  const lines: string[] = [];
  const pool = openPool(dataset, {
    report: async paths => (paths && state.report) ?? { ...succeeded, stdout: reportOf(state) },
    status: async () => ({ health, usedPercent }),
    async change(args) {
      lines.push(args.join(' '));
      return change;
    },
    settle: async () => undefined,
    relink: async () => {},
    volumeAt: async () => undefined,
  });
  const deletion = createDeletion(pool, silentLog, { everyMs: 1, timeoutMs: 5 });
  return {
    lines,
    deletion,
    volumes: createVolumes(pool, deletion, { exported: openLoop(), log: silentLog }),
  };
}

function open(state: Pool) {
  return openAt(state).volumes;
}

test('a name of ZFS is the id, or a hash of a long id, and a record belongs to its name', () => {
  assert.equal(nameOf('volume', 'a.pvc-1'), 'fairlead.volume.a.pvc-1');
  assert.match(nameOf('snapshot', `a.${'x'.repeat(126)}`), /^fairlead\.snapshot\.[0-9a-f]{32}$/);
  for (const id of ['..', 'a', 'a.x/y', 'a.x@y', '-rf']) assert.throws(() => nameOf('volume', id));
  const record = { noun: 'snapshot', id: 'a.two', nonce: 'n' };
  assert.deepEqual(readRecord('snapshot', 'fairlead.snapshot.a.two', 'n a.one a.two'), record);
  assert.deepEqual(readRecord('volume', 'fairlead.volume.a.two', ' a.two'), {
    noun: 'volume',
    id: 'a.two',
    nonce: '',
  });
  assert.equal(readRecord('snapshot', 'fairlead.snapshot.a.three', 'n a.one a.two'), undefined);
  assert.equal(readRecord('volume', 'fairlead.volume.a.two', 'n no/id ..'), undefined);
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

test('a volume is created when ZFS says that it is missing, and not when the report fails', async () => {
  const stdout = reportOf({});
  const stderr = `cannot open '${dataset}/fairlead.volume.a.new': dataset does not exist\n`;
  for (const [report, created] of [
    [{ ...failed, stdout, stderr }, 1],
    [{ ...failed, stdout }, 0],
    [{ ...failed, stderr }, 0],
    [{ ...failed, status: undefined, timedOut: true, stdout, stderr }, 0],
  ] as const) {
    const { volumes, lines } = openAt({ report });
    await assert.rejects(volumes.create(newVolume({ id: 'a.new' })), { code: 'UNAVAILABLE' });
    assert.equal(lines.filter(line => line.startsWith('create')).length, created);
  }
});

test('a deletion is refused for good only if ZFS itself has refused it, in a pool that works', async () => {
  const timedOut = { ...failed, status: undefined, timedOut: true };
  for (const [state, code] of [
    [{}, 'FAILED_PRECONDITION'],
    [{ health: 'DEGRADED' }, 'FAILED_PRECONDITION'],
    [{ health: 'SUSPENDED' }, 'UNAVAILABLE'],
    [{ change: timedOut }, 'UNAVAILABLE'],
    [{ change: timedOut, available: 0 }, 'UNAVAILABLE'],
  ] as const) {
    const { volumes, lines } = openAt(state);
    await assert.rejects(volumes.delete({ id: 'a.volume', nonce: 'own' }), { code });
    assert.equal(lines[0], `destroy ${path}`);
    if ('change' in state) assert.equal(lines.length, 1, 'a command that may still run is not repeated');
  }
});

test('a deleted snapshot loses its name first, so that a hold keeps only its blocks', async () => {
  const { deletion, lines } = openAt({ change: succeeded });
  await deletion.snapshot({ id: 'a.snapshot', nonce: 'own' });
  const hidden = `${otherPath}@fairlead.deleted.8`;
  assert.deepEqual(lines, [`rename ${snapshotPath} ${hidden}`, `destroy -d ${hidden}`]);
});

test('the snapshot of a copy has a hidden name, and is destroyed also if the clone fails', async () => {
  const { deletion, lines } = openAt({ change: succeeded });
  const copied = deletion.whileCopied(path, async copy => {
    lines.push(`clone ${copy}`);
    throw new Error('no');
  });
  await assert.rejects(copied, { message: 'no' });
  const [copy = ''] = lines[0]?.split(' ').slice(1) ?? [];
  assert.match(copy, /^tank\/fairlead\/fairlead\.volume\.a\.volume@fairlead\.deleted\.[0-9a-f]{16}$/);
  assert.deepEqual(lines, [`snapshot ${copy}`, `clone ${copy}`, `destroy -d ${copy}`]);
});

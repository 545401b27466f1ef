import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backends } from '../../../../gateway/backends/index.ts';
import { nameOf, tagOptions } from '../../../../gateway/backends/lvm/names.ts';
import { openPool, spaceOf } from '../../../../gateway/backends/lvm/pool.ts';
import { createSnapshots } from '../../../../gateway/backends/lvm/snapshots.ts';
import { createVolumes } from '../../../../gateway/backends/lvm/volumes.ts';
import { openLoop } from '../../../../gateway/exports/loop.ts';
import type { ExecResult } from '../../../../src/lib/exec.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { newSnapshot, newVolume } from '../../../suites/backend-fixtures.ts';

const MiB = 2 ** 20;
const name = { group: 'vg0', thinPool: 'pool0' };
const exported = { protocol: 'nvme-tcp', addresses: ['192.0.2.1:4420'] };

const succeeded: ExecResult = { status: 0, stdout: '', stderr: '', timedOut: false };

/** A report's row of the thin pool, and of volumes with these tags. */
function rowsOf(pool: object, tags: Readonly<Record<string, string>> = {}): readonly object[] {
  const thin = {
    lv_name: 'pool0',
    segtype: 'thin-pool',
    lv_size: String(64 * MiB),
    lv_metadata_size: String(16 * MiB),
    data_percent: '10.00',
    metadata_percent: '10.00',
    lv_health_status: '',
    vg_extent_size: String(4 * MiB),
    vg_mda_free: '500000',
    vg_mda_size: '1000000',
    pool_lv: '',
    ...pool,
  };
  const volumes = Object.entries(tags).map(([lv_name, lv_tags]) => ({
    lv_name,
    lv_tags,
    thin_id: '1',
    pool_lv: 'pool0',
    lv_size: String(4 * MiB),
    vg_extent_size: String(4 * MiB),
    data_percent: '50.00',
    lv_active: 'active',
    lv_device_open: '',
    lv_suspended: '',
  }));
  return [thin, ...volumes];
}

/** Opens a pool whose commands answer this report, and `later` after a change; `change` answers every change. */
function open(rows: readonly object[], change: ExecResult = succeeded, later = rows) {
  const lines: string[] = [];
  const pool = openPool(name, {
    report: async () => ({
      ...succeeded,
      stdout: JSON.stringify({ report: [{ lv: lines.length === 0 ? rows : later }] }),
    }),
    async change(args) {
      lines.push(args.join(' '));
      return change;
    },
    usedBytes: async () => undefined,
    lockPath: '/nowhere',
  });
  return { pool, volumes: createVolumes(pool, { exported: openLoop(), log: silentLog }), lines };
}

const failed: ExecResult = { ...succeeded, status: 5, stderr: '  cannot\n' };
const own = 'fairlead.volume=a.volume,fairlead.nonce=own';

test('a name of LVM is the id, or a hash of an id that LVM does not accept', () => {
  assert.equal(nameOf('vg0', 'volume', 'a.pvc-1'), 'fairlead.volume.a.pvc-1');
  for (const id of ['a.x_tdata', `a.${'x'.repeat(126)}`, `a.${'x-'.repeat(62)}x`])
    assert.match(nameOf('vg0', 'snapshot', id), /^fairlead\.snapshot\.[0-9a-f]{32}$/, id);
  for (const id of ['..', 'a', 'a.x/y', '-rf']) assert.throws(() => nameOf('vg0', 'volume', id));
  assert.deepEqual(tagOptions('volume', { id: 'a.x', nonce: 'n' }), [
    '--addtag',
    'fairlead.volume=a.x',
    '--addtag',
    'fairlead.nonce=n',
  ]);
});

test('settings need an export, and names that LVM accepts', () => {
  const { settings } = backends.lvm;
  assert.ok(settings.safeParse({ ...name, export: exported }).success);
  for (const faulty of [
    name,
    { ...name, export: exported, group: '-x' },
    { ...name, export: exported, group: 'g'.repeat(100) },
    { ...name, export: exported, thinPool: 'a" || "b' },
    { ...name, export: exported, other: true },
  ])
    assert.ok(!settings.safeParse(faulty).success, JSON.stringify(faulty));
});

test('faults begin before data, metadata or the records of the group are full', async () => {
  const rows = [
    [{}, []],
    [{ data_percent: '80.00' }, ['PoolDataNearlyFull']],
    [{ data_percent: '100.00', lv_health_status: 'out_of_data' }, ['PoolFailed', 'PoolDataFull']],
    [{ metadata_percent: '62.00' }, ['PoolMetadataNearlyFull']],
    [{ metadata_percent: '75.00' }, ['PoolMetadataFull']],
    [{ vg_mda_free: '100000' }, ['PoolRecordsNearlyFull']],
  ] as const;
  const volume = { id: 'a.volume', nonce: 'own', sizeBytes: 4 * MiB, parameters: {} };
  for (const [pool, reasons] of rows) {
    const { volumes } = open(rowsOf(pool, { 'fairlead.volume.a.volume': own }));
    const found = await volumes.volumeHealth(volume);
    assert.deepEqual(
      found.map(({ reason }) => reason),
      reasons,
    );
  }
});

test('a change that fails is RESOURCE_EXHAUSTED in a full pool, and UNAVAILABLE in any other', async () => {
  for (const [data_percent, code] of [
    ['99.00', 'UNAVAILABLE'],
    ['100.00', 'RESOURCE_EXHAUSTED'],
  ] as const) {
    const { volumes, lines } = open(rowsOf({ data_percent }), failed);
    await assert.rejects(volumes.create(newVolume()), { code });
    assert.match(String(lines), /^lvcreate .*--virtualsize 1048576b -- vg0$/);
  }
});

test('a change that was killed is UNAVAILABLE in a full pool, too, because it may still have its effect', async () => {
  const killed = { ...failed, status: undefined, timedOut: true };
  const { volumes } = open(rowsOf({ data_percent: '100.00' }), killed);
  await assert.rejects(volumes.create(newVolume()), { code: 'UNAVAILABLE' });
});

test('the default capacity leaves out the sizes of volumes of other people', async () => {
  const tags = { 'fairlead.volume.a.volume': own, 'fairlead.key.pool0': 'fairlead.key', theirs: 'backup' };
  const { pool } = open(rowsOf({}, tags));
  assert.equal(spaceOf(await pool.report()), 60 * MiB);
  const { pool: crowded } = open(rowsOf({ lv_size: String(2 * MiB) }, tags));
  assert.equal(spaceOf(await crowded.report()), 0);
});

test('a pool that is missing in a report leaves its volumes unknown', async () => {
  const { volumes } = open([]);
  const unknown = { code: 'UNAVAILABLE' };
  await assert.rejects(Array.fromAsync(volumes.list()), unknown);
  await assert.rejects(volumes.delete({ id: 'a.volume' }), unknown);
});

/** A report's rows with a suspended volume, beside a suspended one of somebody else. */
const ownRows = rowsOf({}, { 'fairlead.volume.a.volume': own, theirs: '' });
const suspendedRows = ownRows.map(row => Object.assign({}, row, { lv_suspended: 'suspended' }));
const refresh = 'lvchange --refresh -- vg0/fairlead.volume.a.volume';

test('a change that fails resumes the volumes that it left suspended', async () => {
  const { volumes, lines } = open(ownRows, failed, suspendedRows);
  const volume = { id: 'a.volume', nonce: 'own', sizeBytes: 4 * MiB, parameters: {} };
  await assert.rejects(volumes.expand(volume, { requiredBytes: 8 * MiB, limitBytes: 0 }), {
    code: 'UNAVAILABLE',
  });
  assert.deepEqual(lines, [`lvextend --size ${8 * MiB}b -- vg0/fairlead.volume.a.volume`, refresh]);
});

test('a suspended origin is resumed before a snapshot or a clone of it is taken', async () => {
  const volume = { id: 'a.volume', nonce: 'own', sizeBytes: 4 * MiB, parameters: {} };
  const source = { kind: 'volume', volume, attachedForWriting: true } as const;
  const { pool, volumes, lines } = open(suspendedRows, failed);
  const ended = { code: 'UNAVAILABLE' };
  await assert.rejects(createSnapshots(pool).create(newSnapshot('a.s', volume, true)), ended);
  await assert.rejects(volumes.create(newVolume({ id: 'a.clone', source })), ended);
  assert.deepEqual(lines, [refresh, refresh]);
});

test('a volume that is inactive counts as closed', async () => {
  const unknown = { lv_active: '', lv_device_open: 'unknown', lv_suspended: 'unknown', data_percent: '' };
  const rows = rowsOf({}, { 'fairlead.volume.a.volume': own }).map(row =>
    'lv_tags' in row ? Object.assign({}, row, unknown) : row,
  );
  const { volumes, lines } = open(rows);
  await volumes.delete({ id: 'a.volume', nonce: 'own' });
  assert.deepEqual(lines, ['lvremove --yes -- vg0/fairlead.volume.a.volume']);
});

test('a volume without tags is not removed, nor one with another nonce', async () => {
  for (const [tags, nonce, removed] of [
    ['', 'own', 0],
    [own, 'other', 0],
    ['fairlead.snapshot=a.volume', 'own', 0],
    ['fairlead.volume=no/id', 'own', 0],
    [own, 'own', 1],
  ] as const) {
    const { volumes, lines } = open(rowsOf({}, { 'fairlead.volume.a.volume': tags }));
    await volumes.delete({ id: 'a.volume', nonce });
    assert.equal(lines.length, removed, tags);
  }
});

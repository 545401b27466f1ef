import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { after, before, describe, test, type TestContext } from 'node:test';
import { backends } from '../../../../gateway/backends/index.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import {
  assertHolds,
  contentOf,
  idsOf,
  makeVolume,
  newGroup,
  newSnapshot,
  newVolume,
  takeSnapshot,
  type OfferedBackend,
} from '../../../suites/backend-fixtures.ts';
import { testBackend } from '../../../suites/backend.ts';
import { loadTarget } from '../../targets/configfs.ts';
import {
  loadZfs,
  makeDataset,
  makeZvol,
  namesIn,
  removeVolumes,
  zfs,
  type DatasetName,
} from '../../targets/dataset.ts';
import {
  accessOf,
  kernelExports,
  openExportedPool,
  targetsLeft,
  withoutCommands,
} from '../../targets/exported.ts';
import { undoLast, type CleanupScope } from '../../targets/undo.ts';
import { startGuestNode } from '../agent.ts';

const MiB = 2 ** 20;
const plugin = backends.zfs;
const exported = kernelExports['nvme-tcp'];

/** Ends the pool of all tests. */
const works: (() => unknown)[] = [];
const file: CleanupScope = { after: work => void works.push(work as () => unknown) };
let shared: DatasetName | undefined;
before(() => {
  loadTarget();
  loadZfs();
  shared = makeDataset(file);
});
after(async () => {
  for (const work of works) await work();
});

function poolOf(): DatasetName {
  return shared ?? assert.fail('there is no pool');
}

/** Opens the backend on the pool of all tests, without volumes of an earlier test. */
async function open(t: TestContext, pool: DatasetName = poolOf()) {
  const settings = plugin.settings.parse({ ...pool, export: exported });
  const start = async () =>
    (await plugin.open(settings, { name: 'pool', log: silentLog })) as OfferedBackend['backend'];
  const backend = await start();
  undoLast(t, async () => {
    await backend.close();
    removeVolumes(pool);
  });
  return {
    backend,
    settings,
    start,
    pathOf: (id: string) => `/dev/zvol/${pool.dataset}/fairlead.volume.${id}`,
  };
}

describe('the contract of a backend', () => {
  testBackend(async t => {
    const { backend, pathOf } = await open(t);
    return { backend, content: contentOf(pathOf) };
  });
});

test('volumes and snapshots of other people are neither listed nor touched', async t => {
  const { backend } = await open(t);
  const pool = poolOf();
  const names = ['theirs', 'fairlead.volume.a.volume', 'fairlead.volume.a.own@fairlead.snapshot.a.snapshot'];
  makeZvol(pool, 'theirs');
  makeZvol(pool, 'fairlead.volume.a.volume');
  assert.deepEqual(await idsOf(backend), []);
  await assert.rejects(backend.create(newVolume()), { code: 'ALREADY_EXISTS' });
  const volume = await makeVolume(backend, { id: 'a.own' });
  zfs('snapshot', `${pool.dataset}/fairlead.volume.a.own@fairlead.snapshot.a.snapshot`);
  assert.deepEqual(await idsOf(backend.snapshots), []);
  const taken = backend.snapshots.create(newSnapshot('a.snapshot', volume));
  await assert.rejects(taken, { code: 'ALREADY_EXISTS' });
  await backend.delete({ id: 'a.volume' });
  await backend.snapshots.delete({ id: 'a.snapshot' });
  for (const name of names) assert.ok(namesIn(pool).includes(name), name);
  await backend.delete(volume);
  assert.deepEqual(await idsOf(backend), []);
  assert.ok(
    namesIn(pool).some(name => /^fairlead\.deleted\.\d+@fairlead\.snapshot\.a\.snapshot$/.test(name)),
  );
});

test('a source is deleted before its clones, and the last clone takes the rest with it', async t => {
  const { backend, pathOf } = await open(t);
  const content = contentOf(pathOf);
  const pool = poolOf();
  const origin = await makeVolume(backend);
  content.write(origin.id, 0, Buffer.from('first'));
  const snapshot = await takeSnapshot(backend, newSnapshot('a.one', origin));
  const ofSnapshot = await makeVolume(backend, { id: 'a.s', source: { kind: 'snapshot', snapshot } });
  content.write(origin.id, 0, Buffer.from('later'));
  const source = { kind: 'volume', volume: origin, attachedForWriting: true } as const;
  const copies = [];
  for (const id of ['a.c1', 'a.c2']) copies.push(await makeVolume(backend, { id, source }));
  const last = await takeSnapshot(backend, newSnapshot('a.two', origin));
  await backend.delete(origin);
  await backend.snapshots.delete(snapshot);
  assert.deepEqual(await idsOf(backend), ['a.c1', 'a.c2', 'a.s']);
  assert.deepEqual(await idsOf(backend.snapshots), ['a.two']);
  assertHolds(content, 'a.s', 0, 'first');
  for (const { id } of copies) assertHolds(content, id, 0, 'later');
  const again = await makeVolume(backend, { id: origin.id, nonce: 'again' });
  await takeSnapshot(backend, newSnapshot('a.one', again));
  for (const one of [...copies, ofSnapshot, again]) await backend.delete(one);
  for (const id of [last.id, 'a.one']) await backend.snapshots.delete({ id });
  assert.deepEqual(
    namesIn(pool).filter(name => name !== 'fairlead.key'),
    [],
  );
});

test('a deleted snapshot that another tool holds is gone from its name, and from the disk with the hold', async t => {
  const { backend } = await open(t);
  const volume = await makeVolume(backend);
  const path = `${poolOf().dataset}/fairlead.volume.${volume.id}`;
  await takeSnapshot(backend, newSnapshot('a.held', volume));
  zfs('hold', 'keep', `${path}@fairlead.snapshot.a.held`);
  await backend.snapshots.delete({ id: 'a.held' });
  assert.deepEqual(await idsOf(backend.snapshots), []);
  await takeSnapshot(backend, newSnapshot('a.held', volume));
  await backend.snapshots.delete({ id: 'a.held' });
  const [held = '', ...others] = namesIn(poolOf()).filter(name => name.includes('@'));
  assert.match(held, /@fairlead\.deleted\.\d+$/);
  assert.deepEqual(others, []);
  zfs('release', 'keep', `${poolOf().dataset}/${held}`);
  assert.deepEqual(
    namesIn(poolOf()).filter(name => name.includes('@')),
    [],
  );
});

test('volumes have the properties of their class, and a copy keeps the block size of its source', async t => {
  const { backend } = await open(t);
  const parameters = { compression: 'zstd', volblocksize: '32K' };
  const volume = await makeVolume(backend, { parameters });
  const path = `${poolOf().dataset}/fairlead.volume.${volume.id}`;
  const properties = ['compression', 'volblocksize', 'refreservation', 'volmode'];
  const values = zfs('get', '-Hp', '-o', 'value', properties.join(), path).trim().split('\n');
  assert.deepEqual(values, ['zstd', '32768', '0', 'dev']);
  const source = { kind: 'volume', volume, attachedForWriting: false } as const;
  const other = newVolume({ id: 'a.copy', source, parameters: { volblocksize: '8K' } });
  await assert.rejects(backend.create(other), { code: 'INVALID_ARGUMENT', message: /32K, and not 8K/ });
  await makeVolume(backend, { id: 'a.copy', source, parameters: { compression: 'off' } });
  for (const bad of [{ compression: 'best' }, { volblocksize: '3K' }])
    assert.ok(!backend.parameters.safeParse(bad).success);
});

test('long ids get another name, and are listed as they are', async t => {
  const { backend } = await open(t);
  const ids = ['a.plain', `a.${'x'.repeat(126)}`, `a.${'pvc-'.repeat(31)}x`];
  for (const id of ids) {
    const volume = await makeVolume(backend, { id });
    await takeSnapshot(backend, newSnapshot(id, volume));
  }
  assert.deepEqual(await idsOf(backend), ids.toSorted());
  assert.deepEqual(await idsOf(backend.snapshots), ids.toSorted());
  for (const id of ids) await backend.delete({ id });
  for (const id of ids) await backend.snapshots.delete({ id });
  assert.deepEqual(await idsOf(backend), []);
});

test('a volume that is open or attached is not deleted', async t => {
  const { backend, pathOf } = await open(t);
  const volume = await makeVolume(backend);
  await backend.attach(volume, accessOf('n1'));
  await assert.rejects(backend.delete(volume), { code: 'FAILED_PRECONDITION', message: /nvme subsystem/ });
  await backend.detach(volume, 'n1', 'c');
  assert.deepEqual(targetsLeft(), []);
  const loop = execFileSync('losetup', ['--find', '--show', '--', pathOf(volume.id)], { encoding: 'utf8' });
  await assert.rejects(backend.delete(volume), { code: 'FAILED_PRECONDITION', message: /is open/ });
  const snapshot = await takeSnapshot(backend, newSnapshot('a.snapshot', volume));
  await assert.rejects(backend.delete(volume), { code: 'FAILED_PRECONDITION', message: /is open/ });
  assert.deepEqual(await idsOf(backend.snapshots), [snapshot.id]);
  execFileSync('losetup', ['--detach', loop.trim()]);
  await backend.delete(volume);
});

test('a pool has one gateway, and keeps its key and its owner', async t => {
  const { backend, settings, start } = await open(t);
  await assert.rejects(start(), { message: /is in use by a live process/ });
  const volume = await makeVolume(backend);
  const reach = await backend.attach(volume, { ...accessOf('n1'), attachmentId: 'x1' });
  assert.equal(await backend.owner.read(), undefined);
  await backend.owner.write('store one\n');
  await backend.owner.write('store two\n');
  await backend.close();
  assert.equal(await plugin.readOwner?.(settings), 'store two\n');
  const next = await start();
  t.after(() => next.close());
  assert.equal(await next.owner.read(), 'store two\n');
  assert.deepEqual(await next.attach(volume, { ...accessOf('n1'), attachmentId: 'x1' }), reach);
  await next.detach(volume, 'n1', 'c');
});

test('restore exports volumes again after the pool was imported', async t => {
  const pool = makeDataset(t, { sizeMiB: 256 });
  const { backend, pathOf } = await open(t, pool);
  const volume = await makeVolume(backend);
  const access = accessOf('n1');
  const attached = async function* (reach?: Awaited<ReturnType<typeof backend.attach>>) {
    if (reach) yield { volume, access, reach };
  };
  const reach = await backend.attach(volume, access);
  await backend.restore(attached());
  assert.deepEqual(targetsLeft(), []);
  const [name = ''] = pool.dataset.split('/');
  execFileSync('udevadm', ['settle']);
  execFileSync('zpool', ['export', name]);
  execFileSync('udevadm', ['settle']);
  assert.ok(!existsSync(pathOf(volume.id)));
  execFileSync('zpool', ['import', '-d', `/scratch/${name}`, name]);
  await backend.restore(attached(reach));
  assert.equal(targetsLeft().length, 2);
  await backend.detach(volume, 'n1', 'c');
});

test('a volume is attached without any command while its device is the same, and another one with its name only with its record', async t => {
  const { backend } = await open(t);
  const volume = await makeVolume(backend);
  await withoutCommands(() => backend.attach(volume, accessOf('n1')));
  await backend.detach(volume, 'n1', 'c');
  const path = `${poolOf().dataset}/fairlead.volume.a.volume`;
  zfs('rename', path, `${poolOf().dataset}/kept`);
  makeZvol(poolOf(), 'fairlead.volume.a.volume');
  await assert.rejects(backend.attach(volume, accessOf('n1')), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(targetsLeft(), []);
});

function check(more: object) {
  const settings = plugin.settings.parse({ ...poolOf(), export: exported, ...more });
  return plugin.check?.(settings, { name: 'pool', log: silentLog });
}

test('a check names each fault of a pool', async t => {
  const { dataset } = poolOf();
  assert.deepEqual(await check({}), []);
  assert.match(String(await check({ dataset: `${dataset}/none` })), /cannot be read: .*create it with/);
  makeZvol(poolOf(), 'device');
  t.after(() => removeVolumes(poolOf()));
  assert.match(String(await check({ dataset: `${dataset}/device` })), /is no dataset that can have volumes/);
  zfs('set', 'sync=disabled', dataset);
  assert.match(String(await check({})), /loses written data in a crash/);
  zfs('inherit', 'sync', dataset);
  zfs('set', 'readonly=on', dataset);
  assert.match(String(await check({})), /is read-only; run: zfs set readonly=off/);
  zfs('inherit', 'readonly', dataset);
});

function missingFeatures(more: object) {
  const settings = plugin.settings.parse({ ...poolOf(), export: exported, ...more });
  return plugin.missingFeatures?.(settings);
}

test('a pool with raidz has no default capacity to rely on', async t => {
  assert.doesNotMatch(String(await missingFeatures({})), /raidz/);
  const raidz = makeDataset(t, { sizeMiB: 128, raidzDisks: 3 });
  assert.match(String(await missingFeatures(raidz)), /has raidz, .*use mirrors, or set "capacity"/);
  assert.doesNotMatch(String(await missingFeatures({ ...raidz, capacity: '100Mi' })), /raidz/);
});

/** Writes random data past the cache. */
function writeMebibytes(path: string, count: number): void {
  const range = ['bs=1M', `count=${count}`, 'oflag=direct', 'conv=notrunc,fsync'];
  execFileSync('dd', ['if=/dev/urandom', `of=${path}`, ...range], { stdio: 'pipe' });
}

test('a pool that is nearly full is a fault of its volumes, and a full one takes nothing new', async t => {
  const pool = makeDataset(t, { sizeMiB: 256 });
  const { backend, pathOf } = await open(t, pool);
  const { totalBytes } = await backend.capacity();
  const total = Math.floor(totalBytes / MiB);
  const volume = await makeVolume(backend, { requiredBytes: 512 * MiB });
  const reasons = async () => {
    execFileSync('sync');
    execFileSync('zpool', ['sync']);
    return (await backend.volumeHealth(volume)).map(({ reason }) => reason);
  };
  const write = (count: number) => writeMebibytes(pathOf(volume.id), count);
  write(Math.floor(total * 0.5));
  assert.deepEqual(await reasons(), []);
  write(Math.floor(total * 0.9));
  assert.deepEqual(await reasons(), ['PoolDataNearlyFull']);
  assert.throws(() => write(512), /No space left on device/);
  assert.deepEqual(await reasons(), ['PoolDataFull']);
  await assert.rejects(backend.create(newVolume({ id: 'a.more' })), { code: 'RESOURCE_EXHAUSTED' });
  await assert.rejects(backend.snapshots.create(newSnapshot('a.snapshot', volume)), {
    code: 'RESOURCE_EXHAUSTED',
  });
  execFileSync('blkdiscard', [pathOf(volume.id)]);
  assert.deepEqual(await reasons(), []);
  await backend.create(newVolume({ id: 'a.more' }));
});

/** Opens a pool with a node that uses its volumes. */
async function openWithNode(t: TestContext, sizeMiB: number) {
  const place = makeDataset(t, { sizeMiB });
  const pool = await openExportedPool(t, 'nvme-tcp', place);
  const node = await startGuestNode(t);
  const bringUp = async (name: string, requiredMiB: number, accessType: 'block' | 'mount') => {
    const volume = await pool.makeVolume(`c.${name}`, requiredMiB);
    const { attachment, secrets } = await pool.attach(volume, accessOf('n1', accessType));
    const raw = { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;
    const used = accessType === 'block' ? { capability: raw } : {};
    const fields = { ...node.volumeAt({ name, attachment, ...used }), secrets };
    await node.bringUp(fields);
    undoLast(t, async () => {
      await node.takeDown(fields);
      await pool.backend.detach(volume, 'n1', 'c');
    });
    return fields;
  };
  return { ...place, bringUp };
}

test('in a full pool writes of nodes fail with ENOSPC, until there is room again', async t => {
  const { dataset, bringUp } = await openWithNode(t, 256);
  const growing = await bringUp('growing', 512, 'block');
  const old = await bringUp('old', 8, 'block');
  writeMebibytes(old.target_path, 8);
  assert.throws(() => writeMebibytes(growing.target_path, 512), /No space left on device/);
  const growingPath = `/dev/zvol/${dataset}/fairlead.volume.c.growing`;
  execFileSync('blkdiscard', ['--offset', String(32 * MiB), growingPath]);
  execFileSync('zpool', ['sync']);
  for (const { target_path: path } of [old, growing]) writeMebibytes(path, 8);
});

test('trimming a mounted volume gives its blocks back to the pool', async t => {
  const { dataset, bringUp } = await openWithNode(t, 512);
  const fields = await bringUp('trimmed', 256, 'mount');
  const usedMiB = () => {
    execFileSync('sync');
    execFileSync('zpool', ['sync']);
    const path = `${dataset}/fairlead.volume.c.trimmed`;
    return Number(zfs('get', '-Hp', '-o', 'value', 'referenced', path)) / MiB;
  };
  const emptyMiB = usedMiB();
  const data = `${fields.target_path}/data`;
  execFileSync('dd', ['if=/dev/urandom', `of=${data}`, 'bs=1M', 'count=100', 'conv=fsync'], {
    stdio: 'pipe',
  });
  const writtenMiB = usedMiB();
  assert.ok(writtenMiB > emptyMiB + 90, `${emptyMiB}, ${writtenMiB}`);
  execFileSync('rm', [data]);
  // The blocks are free once the journal has the removal.
  execFileSync('sync');
  execFileSync('fstrim', [fields.target_path]);
  const trimmedMiB = usedMiB();
  t.diagnostic([emptyMiB, writtenMiB, trimmedMiB].map(used => `${used.toFixed(0)} MiB`).join(', '));
  assert.ok(trimmedMiB < writtenMiB - 90, `${emptyMiB}, ${writtenMiB}, ${trimmedMiB}`);
});

test('all members of a group have one instant', async t => {
  const { backend } = await open(t);
  const ids = ['a.one', 'a.two', 'a.three'];
  const volumes = await Promise.all(ids.map(id => makeVolume(backend, { id })));
  await backend.snapshots.createGroup(newGroup(volumes));
  const paths = ids.map(id => `${poolOf().dataset}/fairlead.volume.${id}`);
  const times = zfs('list', '-Hp', '-t', 'snapshot', '-o', 'createtxg', ...paths)
    .trim()
    .split('\n');
  assert.equal(times.length, ids.length);
  assert.equal(new Set(times).size, 1);
});

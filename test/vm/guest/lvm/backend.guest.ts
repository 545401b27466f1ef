import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { after, before, describe, test, type TestContext } from 'node:test';
import { backends } from '../../../../gateway/backends/index.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import {
  contentOf,
  idsOf,
  makeVolume,
  newSnapshot,
  newVolume,
  takeSnapshot,
  type OfferedBackend,
} from '../../../suites/backend-fixtures.ts';
import { testBackend } from '../../../suites/backend.ts';
import { loadTarget } from '../../targets/configfs.ts';
import { accessOf, kernelExports, openExportedPool, targetsLeft } from '../../targets/exported.ts';
import {
  addThinPool,
  closeGates,
  gateOf,
  lvm,
  makeThinPool,
  makeThinVolume,
  namesIn,
  removeVolumes,
  type ThinPoolName,
} from '../../targets/thin-pool.ts';
import { startGuestNode } from '../agent.ts';
import { undoLast, type CleanupScope } from '../../targets/undo.ts';

const MiB = 2 ** 20;
const plugin = backends.lvm;
const exported = kernelExports['nvme-tcp'];

/** Ends the pool of all tests. */
const works: (() => unknown)[] = [];
const file: CleanupScope = { after: work => void works.push(work as () => unknown) };
let shared: ThinPoolName | undefined;
before(() => {
  loadTarget();
  shared = makeThinPool(file);
});
after(async () => {
  for (const work of works) await work();
});

function poolOf(): ThinPoolName {
  return shared ?? assert.fail('there is no pool');
}

/** Opens the backend on the pool of all tests, without volumes of an earlier test. */
async function open(t: TestContext, pool: ThinPoolName = poolOf()) {
  const settings = plugin.settings.parse({ ...pool, export: exported });
  const start = async () =>
    (await plugin.open(settings, { name: 'pool', log: silentLog })) as OfferedBackend['backend'];
  const backend = await start();
  undoLast(t, async () => {
    await backend.close();
    removeVolumes(pool);
  });
  return { backend, settings, start, pathOf: (id: string) => `/dev/${pool.group}/fairlead.volume.${id}` };
}

describe('the contract of a backend', () => {
  testBackend(async t => {
    const { backend, pathOf } = await open(t);
    return { backend, content: contentOf(pathOf) };
  });
});

test('volumes of other people in the group and in the thin pool are neither listed nor touched', async t => {
  const { backend, pathOf } = await open(t);
  const pool = poolOf();
  makeThinVolume(pool, 'theirs');
  makeThinVolume(pool, 'fairlead.volume.a.volume');
  makeThinVolume(pool, 'fairlead.snapshot.a.snapshot');
  assert.deepEqual(await idsOf(backend), []);
  assert.deepEqual(await idsOf(backend.snapshots), []);
  await assert.rejects(backend.create(newVolume()), { code: 'ALREADY_EXISTS' });
  const volume = await makeVolume(backend, { id: 'a.own' });
  const taken = backend.snapshots.create(newSnapshot('a.snapshot', volume));
  await assert.rejects(taken, { code: 'ALREADY_EXISTS' });
  await backend.delete({ id: 'a.volume' });
  await backend.snapshots.delete({ id: 'a.snapshot' });
  const names = ['theirs', 'fairlead.volume.a.volume', 'fairlead.snapshot.a.snapshot'];
  for (const name of names) assert.ok(namesIn(pool).includes(name), name);
  assert.ok(existsSync(pathOf('a.own')));
});

test('ids that are no names of LVM get another name, and are listed as they are', async t => {
  const { backend } = await open(t);
  const ids = ['a.x_tdata', 'a.plain', `a.${'x'.repeat(126)}`, `a.${'pvc-'.repeat(31)}x`];
  for (const id of ids) {
    const volume = await makeVolume(backend, { id });
    await takeSnapshot(backend, newSnapshot(id, volume));
  }
  assert.deepEqual(await idsOf(backend), ids.toSorted());
  assert.deepEqual(await idsOf(backend.snapshots), ids.toSorted());
  for (const id of ids) await backend.delete({ id });
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

test('two pools of one group have keys and volumes of their own', async t => {
  const first = makeThinPool(t, { sizeMiB: 64 });
  const second = addThinPool({ ...first, thinPool: 'pool1' }, { sizeMiB: 4, metadataMiB: 4 });
  const { backend: one } = await open(t, first);
  const { backend: two } = await open(t, second);
  await makeVolume(one, { id: 'a.one' });
  await makeVolume(two, { id: 'a.two' });
  await two.delete({ id: 'a.one' });
  assert.deepEqual([await idsOf(one), await idsOf(two)], [['a.one'], ['a.two']]);
});

test('restore activates volumes that a reboot left inactive', async t => {
  const { backend, pathOf } = await open(t);
  const volume = await makeVolume(backend);
  const access = accessOf('n1');
  const attached = async function* (reach?: Awaited<ReturnType<typeof backend.attach>>) {
    if (reach) yield { volume, access, reach };
  };
  const reach = await backend.attach(volume, access);
  await backend.restore(attached());
  assert.deepEqual(targetsLeft(), []);
  closeGates(poolOf().group);
  lvm('lvchange', '--activate', 'n', `${poolOf().group}/fairlead.volume.a.volume`);
  assert.ok(!existsSync(pathOf(volume.id)));
  await backend.restore(attached(reach));
  assert.equal(targetsLeft().length, 2);
  await backend.detach(volume, 'n1', 'c');
});

function check(more: object) {
  const settings = plugin.settings.parse({ ...poolOf(), export: exported, ...more });
  return plugin.check?.(settings, { name: 'pool', log: silentLog });
}

test('a check names what a pool lacks', async t => {
  assert.deepEqual(await check({}), []);
  assert.match(String(await check({ group: 'none' })), /^volume group "none" cannot be read: .*not found/);
  assert.match(String(await check({ thinPool: 'none' })), /has no thin pool "none"; create it with/);
  const { group, thinPool } = makeThinPool(t, { sizeMiB: 64 });
  lvm('lvchange', '--errorwhenfull', 'n', '--zero', 'n', `${group}/${thinPool}`);
  const faults = await check({ group, thinPool });
  assert.match(String(faults), /does not zero new blocks; .*,.*holds up I\/O when it is full/);
  lvm('lvchange', '--activate', 'n', `${group}/${thinPool}`);
  lvm('lvchange', '--discards', 'ignore', `${group}/${thinPool}`);
  assert.match(String(await check({ group, thinPool })), /keeps the blocks that nodes discard/);
  lvm('lvchange', '--discards', 'passdown', `${group}/${thinPool}`);
  assert.doesNotMatch(String(await check({ group, thinPool })), /discard/);
});

test('a start releases the copy of the metadata that a killed gateway left', async t => {
  const { backend, start } = await open(t);
  const { group, thinPool } = poolOf();
  const device = `${group.replaceAll('-', '--')}-${thinPool}-tpool`;
  const heldRoot = () => execFileSync('dmsetup', ['status', device], { encoding: 'utf8' }).split(' ')[6];
  execFileSync('dmsetup', ['message', device, '0', 'reserve_metadata_snap']);
  assert.match(heldRoot() ?? '', /^\d+$/);
  await backend.close();
  const next = await start();
  t.after(() => next.close());
  assert.equal(heldRoot(), '-');
});

/** Writes random data past the cache. */
function writeMebibytes(
  path: string,
  { count, seek = 0 }: { readonly count: number; readonly seek?: number },
): void {
  const range = ['bs=1M', `count=${count}`, `seek=${seek}`, 'oflag=direct', 'conv=notrunc'];
  execFileSync('dd', ['if=/dev/urandom', `of=${path}`, ...range], { stdio: 'pipe' });
}

test('a pool that is nearly full is a fault of its volumes, and a full one takes nothing new', async t => {
  const pool = makeThinPool(t, { sizeMiB: 64 });
  const { backend, pathOf } = await open(t, pool);
  const volume = await makeVolume(backend, { requiredBytes: 128 * MiB });
  const reasons = async () => (await backend.volumeHealth(volume)).map(({ reason }) => reason);
  const write = (count: number) => writeMebibytes(pathOf(volume.id), { count });
  write(40);
  assert.deepEqual(await reasons(), []);
  write(56);
  assert.deepEqual(await reasons(), ['PoolDataNearlyFull']);
  assert.throws(() => write(80), /No space left on device/);
  assert.ok((await reasons()).includes('PoolDataFull'));
  await assert.rejects(backend.create(newVolume({ id: 'a.more' })), { code: 'RESOURCE_EXHAUSTED' });
  await assert.rejects(backend.snapshots.create(newSnapshot('a.snapshot', volume)), {
    code: 'RESOURCE_EXHAUSTED',
  });
  execFileSync('blkdiscard', [gateOf(pathOf(volume.id))]);
  await backend.create(newVolume({ id: 'a.more' }));
  assert.deepEqual(await reasons(), []);
});

test('in a full pool only writes of nodes to new blocks fail, with ENOSPC, until the pool is extended', async t => {
  const place = makeThinPool(t, { sizeMiB: 64 });
  const pool = await openExportedPool(t, 'nvme-tcp', place);
  const node = await startGuestNode(t);
  const capability = { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;
  const bringUp = async (name: string, sizeMiB: number) => {
    const volume = await pool.makeVolume(`c.${name}`, sizeMiB);
    const { attachment, secrets } = await pool.attach(volume, accessOf('n1', 'block'));
    const fields = { ...node.volumeAt({ name, attachment, capability }), secrets };
    await node.bringUp(fields);
    undoLast(t, async () => {
      await node.takeDown(fields);
      await pool.backend.detach(volume, 'n1', 'c');
    });
    return fields.target_path;
  };
  const [growing, old] = [await bringUp('growing', 128), await bringUp('old', 8)];
  writeMebibytes(old, { count: 8 });
  assert.throws(() => writeMebibytes(growing, { count: 100 }), /No space left on device/);
  writeMebibytes(old, { count: 8 });
  writeMebibytes(growing, { count: 40 });
  lvm('lvextend', '--size', '+8m', `${place.group}/${place.thinPool}`);
  writeMebibytes(growing, { count: 4, seek: 100 });
});

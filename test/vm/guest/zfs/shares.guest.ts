import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, statfsSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { before, describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
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
import { testDirectoryCopies } from '../../../suites/directories/copies.ts';
import { startServer } from '../../fleet/shares/box.ts';
import { loadZfs, makeDataset, makeZvol, namesIn, zfs, type DatasetName } from '../../targets/dataset.ts';
import { accessOf } from '../../targets/exported.ts';
import { undoLast, type CleanupScope } from '../../targets/undo.ts';

const MiB = 2 ** 20;
const address = '10.77.0.1';
const exported = { protocol: 'nfs', addresses: [address], noRootSquash: true };
const access = { ...accessOf('n1', 'mount'), cluster: 'a', addresses: [address] };
const capability = { accessType: 'mount', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
const shareMaker = fileURLToPath(new URL('share-maker.ts', import.meta.url));
const unit = new URL('../../../../deploy/systemd/fairlead-gateway.service', import.meta.url);

const run = (...[command = '', ...args]: readonly string[]): string =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

/** The NFS server keeps the pool of all tests in use, so both end with the machine. */
const machine: CleanupScope = { after: () => {} };
let shared: DatasetName | undefined;
before(() => {
  run('modprobe', 'nfs');
  run('ip', 'address', 'add', `${address}/32`, 'dev', 'lo');
  loadZfs();
  shared = makeDataset(machine);
  zfs('set', 'mountpoint=/box', shared.dataset);
  startServer();
});
let count = 0;

/** Opens a pool on a filesystem of its own, which is removed when the test ends. */
async function open(t: TestContext, more: object = {}, box: string = shared?.dataset ?? assert.fail()) {
  const name = `shares${++count}`;
  const dataset = `${box}/${name}`;
  zfs('create', dataset);
  const root = zfs('get', '-H', '-o', 'value', 'mountpoint', dataset).trim();
  const opened: { close?(): Promise<void> }[] = [];
  const close = async (): Promise<void> => {
    for (const backend of opened.splice(0)) await backend.close?.();
  };
  undoLast(t, async () => {
    await close();
    // The server may keep the files that a client had open, and so the filesystem, for as long as it runs.
    if (!('export' in more)) run('zfs', 'destroy', '-R', '-f', dataset);
  });
  const settings = backends.dir.settings.parse({ dir: root, ...more });
  const reopen = async () => {
    await close();
    const backend = await backends.dir.open(settings, { name: 'pool', log: silentLog });
    opened.push(backend);
    return backend as OfferedBackend['backend'];
  };
  const backend = await reopen();
  const inside = (what: string): readonly string[] =>
    zfs('list', '-H', '-r', '-t', what, '-o', 'name', dataset)
      .split('\n')
      .filter(one => one !== '' && one !== dataset)
      .map(one => one.slice(dataset.length + 1));
  return {
    backend,
    settings,
    dataset,
    root,
    close,
    reopen,
    content: contentOf(id => join(root, id, 'data')),
    /** Lists the filesystems and their snapshots, without the containers. */
    filesystems: () => inside('filesystem,snapshot').filter(one => !['.snapshots', '.trash'].includes(one)),
  };
}

describe('the contract of a backend, with filesystems of ZFS as volumes', () => {
  testBackend(open);
});

describe('copies of filesystems of ZFS', () => {
  testDirectoryCopies(open);
});

const fill = (path: string, mebibytes: number): void =>
  void run('dd', 'if=/dev/urandom', `of=${path}`, 'bs=1M', `count=${mebibytes}`, 'conv=fsync', 'status=none');

const sizeOf = (path: string): number => {
  const { blocks, bsize } = statfsSync(path);
  return (blocks * bsize) / MiB;
};

test('a volume takes no more than its size, grows while it is full, and others go on', async t => {
  const { backend, root, settings } = await open(t);
  assert.deepEqual(await backends.dir.missingFeatures?.(settings), []);
  const volume = await makeVolume(backend, { requiredBytes: 16 * MiB });
  const other = await makeVolume(backend, { id: 'a.other', requiredBytes: 16 * MiB });
  const [path, more] = [join(root, volume.id, 'data'), join(root, volume.id, 'more')];
  assert.ok(Math.abs(sizeOf(join(root, volume.id)) - 16) < 1);
  assert.throws(() => fill(path, 24), /Command failed/);
  assert.throws(() => writeFileSync(more, Buffer.alloc(4 * MiB, 1), { flush: true }), {
    errno: -constants.errno.EDQUOT,
  });
  fill(join(root, other.id, 'data'), 8);
  await backend.expand(volume, { requiredBytes: 32 * MiB, limitBytes: 0 });
  assert.ok(Math.abs(sizeOf(join(root, volume.id)) - 32) < 1);
  fill(more, 8);
  const source = {
    kind: 'volume',
    volume: { ...volume, sizeBytes: 32 * MiB },
    attachedForWriting: true,
  } as const;
  const copy = await makeVolume(backend, { id: 'a.copy', source });
  assert.ok(Math.abs(sizeOf(join(root, copy.id)) - 32) < 1);
  assert.throws(() => fill(join(root, copy.id, 'more'), 32), /Command failed/);
});

test('sources are deleted before their copies, which hide the past, and the last copy takes the rest with it', async t => {
  const { backend, root, dataset, filesystems, content } = await open(t);
  const origin = await makeVolume(backend, { requiredBytes: 32 * MiB });
  content.write(origin.id, 0, Buffer.from('first'));
  const first = await takeSnapshot(backend, newSnapshot('a.first', origin));
  content.write(origin.id, 0, Buffer.from('later'));
  const second = await takeSnapshot(backend, newSnapshot('a.second', origin));
  const restored = await makeVolume(backend, {
    id: 'a.restored',
    source: { kind: 'snapshot', snapshot: second },
  });
  fill(join(root, origin.id, 'big'), 16);
  run('zpool', 'sync');
  const usedMiB = (): number => {
    run('zpool', 'sync');
    return Number(zfs('get', '-Hp', '-o', 'value', 'used', dataset)) / MiB;
  };
  assert.ok(usedMiB() > 16);
  await backend.delete(origin);
  assert.ok(usedMiB() < 4, 'the data after the last snapshot is freed');
  await backend.snapshots.delete(second);
  assert.deepEqual(readdirSync(join(root, restored.id, '.zfs/snapshot')), []);
  assert.equal(content.read(restored.id, 0, 5).toString(), Buffer.from('later').toString());
  const again = await makeVolume(backend, { id: 'a.again', source: { kind: 'snapshot', snapshot: first } });
  await backend.snapshots.delete(first);
  assert.equal(Buffer.from(content.read(again.id, 0, 5)).toString(), 'first');
  assert.deepEqual(await idsOf(backend.snapshots), []);
  for (const one of [again, restored]) await backend.delete(one);
  assert.deepEqual(filesystems(), []);
});

test('interrupted calls are completed or undone by the next one', async t => {
  const { backend, root, dataset, filesystems, reopen } = await open(t);
  const volume = await makeVolume(backend);
  // A filesystem was made but not mounted, and a source was not copied.
  zfs('create', '-o', 'canmount=noauto', `${dataset}/a.made`);
  zfs('set', 'canmount=on', `${dataset}/a.made`);
  zfs('snapshot', `${dataset}/a.volume@fairlead.0123456789abcdef`);
  assert.ok(!readdirSync(root).includes('a.made'));
  const next = await reopen();
  assert.deepEqual(filesystems(), ['a.made', 'a.volume']);
  await next.delete({ id: 'a.made' });
  assert.deepEqual(filesystems(), ['a.volume']);
  zfs('create', `${dataset}/a.made`);
  zfs('umount', `${dataset}/a.made`);
  const made = await makeVolume(next, { id: 'a.made' });
  assert.ok(sizeOf(join(root, made.id)) < 2);
  // The directory of a volume that was destroyed, with its mark.
  await next.delete(volume);
  mkdirSync(join(root, volume.id));
  const anew = await makeVolume(next, { nonce: 'anew' });
  assert.ok(sizeOf(join(root, anew.id)) < 2);
  assert.deepEqual(filesystems(), ['a.made', 'a.volume']);
});

test('datasets and snapshots of other people are not touched', async t => {
  const { backend, dataset, filesystems } = await open(t);
  zfs('create', `${dataset}/theirs`);
  zfs('create', `${dataset}/.trash/theirs`);
  makeZvol({ dataset }, 'device');
  const volume = await makeVolume(backend);
  zfs('snapshot', '-r', `${dataset}@daily`);
  assert.deepEqual(await idsOf(backend), ['a.volume']);
  await backend.delete(volume);
  await backend.delete(volume);
  assert.deepEqual(await idsOf(backend), []);
  assert.ok(filesystems().some(name => /^\.trash\/[0-9a-f]{16}@daily$/.test(name)));
  const next = await makeVolume(backend);
  zfs('destroy', '-r', `${dataset}@daily`);
  await backend.delete(next);
  assert.deepEqual(filesystems(), ['.trash/theirs', 'theirs']);
  assert.ok(namesIn({ dataset }).includes('device'));
});

test('a volume that is not mounted is a fault, and no directory for data', async t => {
  const { backend, root, dataset, filesystems, reopen } = await open(t);
  const volume = await makeVolume(backend);
  writeFileSync(join(root, volume.id, 'data'), 'old');
  const snapshot = await takeSnapshot(backend, newSnapshot('a.snapshot', volume));
  zfs('umount', `${dataset}/${volume.id}`);
  for (const prepare of [
    () => mkdirSync(join(root, volume.id), { recursive: true }),
    () => rmdirSync(join(root, volume.id)),
  ]) {
    prepare();
    const attached = (await reopen()).attach(volume, access);
    await assert.rejects(attached, { code: 'UNAVAILABLE', message: /is not mounted; run: zfs mount / });
  }
  const next = await reopen();
  const [entry] = await next.volumeHealth(volume);
  assert.deepEqual([entry?.status, entry?.reason], ['INACCESSIBLE', 'DirectoryUnreadable']);
  await assert.rejects(next.snapshots.create(newSnapshot('a.more', volume)), { code: 'UNAVAILABLE' });
  zfs('mount', `${dataset}/${volume.id}`);
  assert.deepEqual(await next.attach(volume, access), { protocol: 'bind', path: join(root, volume.id) });
  assert.equal(readFileSync(join(root, volume.id, 'data'), 'utf8'), 'old');
  zfs('umount', `${dataset}/${volume.id}`);
  await next.delete(volume);
  await next.snapshots.delete(snapshot);
  assert.deepEqual(filesystems(), []);
});

test('a volume that this machine has mounted, or that a program uses, is not deleted', async t => {
  const { backend, root } = await open(t);
  const volume = await makeVolume(backend);
  const path = join(root, volume.id);
  writeFileSync(join(path, 'data'), 'old');
  mkdirSync('/scratch/bound', { recursive: true });
  run('mount', '--bind', path, '/scratch/bound');
  await assert.rejects(backend.delete(volume), {
    code: 'FAILED_PRECONDITION',
    message: /still mounted at "\/scratch\/bound"/,
  });
  run('umount', '/scratch/bound');
  assert.equal(readFileSync(join(path, 'data'), 'utf8'), 'old');
  await backend.delete(volume);
});

test('a pool that is full takes nothing new, and goes on once there is space', async t => {
  const { dataset: box } = makeDataset(t, { sizeMiB: 80 });
  zfs('set', 'mountpoint=/scratch/small', box);
  const { backend, root } = await open(t, {}, box);
  const volume = await makeVolume(backend, { requiredBytes: 512 * MiB });
  const path = join(root, volume.id, 'data');
  assert.throws(() => fill(path, 512), /Command failed/);
  run('zpool', 'sync');
  assert.deepEqual(
    (await backend.volumeHealth(volume)).map(({ reason }) => reason),
    ['PoolFull'],
  );
  await assert.rejects(backend.create(newVolume({ id: 'a.more' })), { code: 'RESOURCE_EXHAUSTED' });
  run('rm', path);
  run('zpool', 'sync');
  await makeVolume(backend, { id: 'a.more' });
});

test('a gateway with the rights of its service mounts volumes for the whole machine', async t => {
  const { dataset, root, close, filesystems } = await open(t);
  await close();
  const [, names = ''] = /^CapabilityBoundingSet=(.+)$/m.exec(readFileSync(unit, 'utf8')) ?? [];
  const rights = names.split(' ').map(name => `+${name.replace('CAP_', '').toLowerCase()}`);
  const sandbox = [
    'unshare',
    '--mount',
    '--propagation',
    'slave',
    'setpriv',
    '--bounding-set',
    `-all,${rights.join()}`,
  ];
  run(...sandbox, '--no-new-privs', '--', process.execPath, shareMaker, root, 'a.volume');
  assert.deepEqual(filesystems(), ['a.volume']);
  assert.match(
    readFileSync('/proc/self/mountinfo', 'utf8'),
    new RegExp(` ${root}/a\\.volume .* - zfs ${dataset}/a\\.volume `),
  );
});

/** Mounts an attached volume as a node does. */
function mountAt(t: TestContext, path: string): string {
  const at = `/scratch/${crypto.randomUUID()}`;
  mkdirSync(at);
  run('mount', '-t', 'nfs', '-o', 'vers=4.2,retry=0', `${address}:${path}`, at);
  undoLast(t, () => run('umount', '--force', '--lazy', at));
  return at;
}

test('each attachment is an export with the size of its volume, which outlives the memory of the server', async t => {
  const { backend, root } = await open(t, { export: exported });
  const volumes = [];
  for (const id of ['a.one', 'a.two'])
    volumes.push(await makeVolume(backend, { id, requiredBytes: 16 * MiB }));
  const [one = assert.fail(), two = assert.fail()] = volumes;
  const attach = (volume: typeof one, attachmentId: string) =>
    backend.attach(volume, { ...access, attachmentId, capability });
  for (const [volume, id] of [
    [one, 'x1'],
    [two, 'x2'],
  ] as const)
    assert.deepEqual(await attach(volume, id), {
      protocol: 'nfs',
      server: address,
      path: join(root, volume.id),
    });
  const [at, other] = [mountAt(t, join(root, one.id)), mountAt(t, join(root, two.id))];
  mkdirSync(join(at, 'inner'));
  writeFileSync(join(at, 'inner/data'), 'from the node', { flush: true });
  assert.equal(readFileSync(join(root, one.id, 'inner/data'), 'utf8'), 'from the node');
  assert.deepEqual(readdirSync(other), []);
  assert.ok(Math.abs(sizeOf(at) - 16) < 1);
  assert.throws(() => fill(join(at, 'big'), 32), /Command failed/);
  fill(join(other, 'big'), 8);
  await backend.expand(one, { requiredBytes: 32 * MiB, limitBytes: 0 });
  fill(join(at, 'more'), 8);
  // The server forgets the directories of all files.
  const reader = `exec 9<"$0/inner/data"; echo 2 > /proc/sys/vm/drop_caches; cat <&9`;
  assert.equal(run('sh', '-ec', reader, at), 'from the node');
  await assert.rejects(backend.delete(one), { code: 'FAILED_PRECONDITION', message: /nfs export/ });
  await backend.detach(one, 'n1', 'a');
  assert.throws(() => writeFileSync(join(at, 'inner/data'), 'late', { flush: true }), {
    errno: -constants.errno.ESTALE,
  });
  await backend.delete(one);
  assert.deepEqual(await idsOf(backend), ['a.two']);
  fill(join(other, 'more'), 1);
  await backend.detach(two, 'n1', 'a');
  await backend.delete(two);
});

test('the server exports nothing in place of a volume that is not mounted', async t => {
  const { backend, root, dataset } = await open(t, { export: exported });
  const volume = await makeVolume(backend);
  await backend.attach(volume, { ...access, capability });
  const path = join(root, volume.id);
  run('exportfs', '-f');
  zfs('umount', `${dataset}/${volume.id}`);
  mkdirSync(path, { recursive: true });
  const mounting = [
    'mount',
    '-t',
    'nfs',
    '-o',
    'vers=4.2,retry=0,soft,timeo=20,retrans=1',
    `${address}:${path}`,
    '/scratch/bound',
  ];
  mkdirSync('/scratch/bound', { recursive: true });
  assert.throws(() => run('timeout', '30', ...mounting), /Command failed/);
  zfs('mount', `${dataset}/${volume.id}`);
  run('exportfs', '-f');
  writeFileSync(join(mountAt(t, path), 'data'), 'mounted', { flush: true });
  assert.equal(readFileSync(join(path, 'data'), 'utf8'), 'mounted');
  await backend.detach(volume, 'n1', 'a');
});

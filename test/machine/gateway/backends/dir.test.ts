import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import type { Backend } from '../../../../gateway/backend.ts';
import { noRoot } from '../../../harness/machine.ts';
import { newVolume, testBackend } from '../../../suites/backend.ts';
import { testBackendMembers } from '../../../suites/backend-members.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';
import { contentOf, makeRoot, mebibyte, openAt, roomBytes, type Settings } from './dir-root.ts';
import { poolFilesystems, whyNoPool } from './image-pool.ts';

const capability = { accessType: 'mount', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
const access = { nodeId: 'n1', attachmentId: 'x', capability, readonly: false };

async function open(t: TestContext, settings: Settings = {}): Promise<{ backend: Backend; root: string }> {
  const root = makeRoot(t);
  return { root, backend: await openAt(root, settings) };
}

for (const filesystem of poolFilesystems) {
  const skip = whyNoPool(filesystem) ?? false;
  describe(`the dir backend on ${filesystem}`, { skip }, () => {
    testBackend(t => openAt(makeRoot(t, filesystem)), roomBytes);
    testBackendMembers(async t => {
      const root = makeRoot(t, filesystem);
      return { backend: await openAt(root), content: contentOf(root) };
    });
  });
}

test('a volume is a directory that only its owner and group come into, whatever is masked', async t => {
  const { backend, root } = await open(t);
  const mask = process.umask(0o077);
  t.after(() => process.umask(mask));
  await backend.create(newVolume());
  const { mode } = statSync(join(root, 'a.volume'));
  assert.equal(mode & 0o7777, 0o770);
  assert.deepEqual(readdirSync(join(root, 'a.volume')), []);
});

test('sizes are kept over a restart, and count', async t => {
  const { backend, root } = await open(t);
  await backend.create(newVolume({ requiredBytes: 64 * mebibyte }));
  const again = await openAt(root);
  assert.equal((await again.capacity?.())?.availableBytes, roomBytes - 64 * mebibyte);
  assert.deepEqual(await again.create(newVolume()), { sizeBytes: 64 * mebibyte });
});

test('without a capacity the room is what the filesystem has', async t => {
  const { backend } = await open(t, { capacity: undefined });
  assert.ok(((await backend.capacity?.())?.availableBytes ?? 0) > 0);
  const tooLarge = newVolume({ requiredBytes: 2 ** 52 });
  await assert.rejects(backend.create(tooLarge), isProblem('OUT_OF_RANGE'));
});

test('what an unfinished create left is completed, and what holds something is left alone', async t => {
  const { backend, root } = await open(t);
  mkdirSync(join(root, 'a.volume'), { mode: 0o700 });
  await backend.create(newVolume());
  assert.equal(statSync(join(root, 'a.volume')).mode & 0o777, 0o770);
  mkdirSync(join(root, 'a.other'));
  writeFileSync(join(root, 'a.other', 'file'), 'data');
  await assert.rejects(backend.create(newVolume({ id: 'a.other' })), isProblem('ALREADY_EXISTS'));
  assert.equal(readFileSync(join(root, 'a.other', 'file'), 'utf8'), 'data');
});

test('what an unfinished create left is removed when the volume does not fit', async t => {
  const { backend, root } = await open(t);
  mkdirSync(join(root, 'a.volume'));
  await assert.rejects(
    backend.create(newVolume({ requiredBytes: 2 * roomBytes })),
    isProblem('OUT_OF_RANGE'),
  );
  assert.equal(existsSync(join(root, 'a.volume')), false);
});

const hostileIds = [
  '..',
  '.',
  '',
  '/',
  '../escape',
  'a/../../escape',
  'a.x/../../escape',
  'a.x/..',
  'a.x/y',
  '/etc/passwd',
  '.trash',
  '.sizes',
  '.sizes/a.x',
  'a.x\0',
  'a.x\n',
  'a.',
  '-rf',
  'a.-x',
  'a.../x',
  `a.${'x'.repeat(200)}`,
];
for (const id of hostileIds) {
  test(`the id ${JSON.stringify(id.slice(0, 24))} leads nowhere`, async t => {
    const { backend, root } = await open(t);
    const known = { id, sizeBytes: mebibyte, parameters: {} };
    const refused = isProblem('INVALID_ARGUMENT');
    const before = readdirSync(root, { recursive: true });
    await assert.rejects(backend.create(newVolume({ id })), refused);
    await assert.rejects(backend.delete({ id }), refused);
    await assert.rejects(backend.attach(known, access), refused);
    await assert.rejects(async () => backend.volumeHealth?.(known), refused);
    assert.deepEqual(readdirSync(root, { recursive: true }), before);
    assert.deepEqual(readdirSync(join(root, '..')), ['root']);
  });
}

test('a link in the place of a volume is neither used nor followed nor removed', async t => {
  const { backend, root } = await open(t);
  const target = makeRoot(t);
  writeFileSync(join(target, 'file'), 'data');
  const known = { id: 'a.volume', ...(await backend.create(newVolume())), parameters: {} };
  rmSync(join(root, 'a.volume'), { recursive: true });
  symlinkSync(target, join(root, 'a.volume'));
  const refused = isProblemThat('FAILED_PRECONDITION', /is a symbolic link/);
  await assert.rejects(backend.create(newVolume()), refused);
  await assert.rejects(backend.attach(known, access), refused);
  await assert.rejects(backend.delete(known), refused);
  await assert.rejects(async () => backend.expand?.(known, { requiredBytes: 1, limitBytes: 0 }), refused);
  const entries = await backend.volumeHealth?.(known);
  assert.deepEqual(
    entries?.map(({ reason }) => reason),
    ['DirectoryReplaced'],
  );
  assert.equal(readFileSync(join(target, 'file'), 'utf8'), 'data');
});

test('links in a volume are removed with it, and what they point at stays', async t => {
  const { backend, root } = await open(t);
  const target = makeRoot(t);
  writeFileSync(join(target, 'file'), 'data');
  await backend.create(newVolume());
  symlinkSync(target, join(root, 'a.volume', 'link'));
  symlinkSync(join(target, 'file'), join(root, 'a.volume', '-rf'));
  await backend.delete({ id: 'a.volume' });
  assert.equal(readFileSync(join(target, 'file'), 'utf8'), 'data');
  assert.deepEqual(readdirSync(join(root, '.trash')), []);
});

test('a link in the place of the trash, or of the sizes, is not followed', async t => {
  const { backend, root } = await open(t);
  const target = makeRoot(t);
  await backend.create(newVolume());
  symlinkSync(target, join(root, '.trash'));
  await assert.rejects(backend.delete({ id: 'a.volume' }), isProblem('FAILED_PRECONDITION'));
  assert.ok(existsSync(join(root, 'a.volume')));
  rmSync(join(root, '.sizes'), { recursive: true });
  symlinkSync(target, join(root, '.sizes'));
  await assert.rejects(openAt(root), isProblem('FAILED_PRECONDITION'));
  assert.deepEqual(readdirSync(target), []);
});

test('a delete that was cut short is finished by the next call, or by the next start', async t => {
  const { backend, root } = await open(t);
  for (const id of ['a.one', 'a.two', 'a.two.more']) {
    await backend.create(newVolume({ id }));
    writeFileSync(join(root, id, 'file'), 'data');
  }
  mkdirSync(join(root, '.trash'));
  for (const id of ['a.one', 'a.two'])
    renameSync(join(root, id), join(root, '.trash', `${id}.${'0'.repeat(16)}`));
  await backend.delete({ id: 'a.one' });
  assert.deepEqual(readdirSync(join(root, '.trash')), [`a.two.${'0'.repeat(16)}`]);
  const again = await openAt(root);
  for (let tries = 0; tries < 100 && readdirSync(join(root, '.trash')).length > 0; tries++)
    await new Promise(resolve => setTimeout(resolve, 20));
  assert.deepEqual(readdirSync(join(root, '.trash')), []);
  assert.deepEqual((await Array.fromAsync(again.list?.() ?? [])).toSorted(), ['a.two', 'a.two.more']);
  await again.delete({ id: 'a.two' });
  assert.deepEqual(await Array.fromAsync(again.list?.() ?? []), ['a.two.more']);
  assert.equal(readFileSync(join(root, 'a.two.more', 'file'), 'utf8'), 'data');
});

test('a volume that is mounted, in whole or in part, is not deleted; nor what is mounted in it', async t => {
  if (noRoot !== false) return t.skip(noRoot);
  const { backend, root } = await open(t);
  const place = makeRoot(t);
  await backend.create(newVolume());
  await backend.create(newVolume({ id: 'a.volume2' }));
  const volume = join(root, 'a.volume');
  mkdirSync(join(volume, 'inner'));
  const rows = [
    { source: volume, target: place },
    { source: join(volume, 'inner'), target: place },
    { source: place, target: join(volume, 'inner') },
  ];
  for (const { source, target } of rows) {
    execFileSync('mount', ['--bind', '--', source, target]);
    const names = isProblemThat('FAILED_PRECONDITION', new RegExp(`still mounted at "${target}"`));
    try {
      await assert.rejects(backend.delete({ id: 'a.volume' }), names);
    } finally {
      execFileSync('umount', ['--', target]);
    }
    assert.deepEqual(readdirSync(volume), ['inner']);
  }
  await backend.delete({ id: 'a.volume' });
  assert.equal(existsSync(volume), false);
});

test('attaching tells the path on this machine, or the server and its path', async t => {
  const { backend, root } = await open(t);
  const known = { id: 'a.volume', ...(await backend.create(newVolume())), parameters: {} };
  const path = join(root, 'a.volume');
  assert.deepEqual(await backend.attach(known, access), { protocol: 'bind', path });
  const nfs = await openAt(root, { nfs: { server: 'nfs.test', path: '/export' } });
  assert.deepEqual(await nfs.attach(known, access), {
    protocol: 'nfs',
    server: 'nfs.test',
    path: '/export/a.volume',
  });
  await backend.delete(known);
  for (const one of [backend, nfs])
    await assert.rejects(one.attach(known, access), isProblem('FAILED_PRECONDITION'));
});

test('a filesystem of one’s choice cannot be had', async t => {
  const { backend } = await open(t);
  const capabilities = [{ ...capability, fsType: 'ext4' }];
  await assert.rejects(backend.create(newVolume({ capabilities })), isProblem('INVALID_ARGUMENT'));
  await backend.create(newVolume({ capabilities: [{ ...capability, fsType: 'bind' }] }));
});

test('growing needs nothing of the node', async t => {
  const { backend } = await open(t);
  const known = { id: 'a.volume', ...(await backend.create(newVolume())), parameters: {} };
  assert.deepEqual(await backend.expand?.(known, { requiredBytes: 3 * mebibyte + 1, limitBytes: 0 }), {
    sizeBytes: 4 * mebibyte,
    nodeExpansionRequired: false,
  });
});

const unusable: readonly { settings: (root: string) => Settings; says: RegExp }[] = [
  { settings: root => ({ dir: join(root, 'none') }), says: /there is no such directory/ },
];
for (const { settings, says } of unusable)
  test(`the dir backend does not open when ${says.source}`, async t => {
    const root = makeRoot(t);
    await assert.rejects(openAt(root, settings(root)), { message: says });
  });

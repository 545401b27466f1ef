import assert from 'node:assert/strict';
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
import { test, type TestContext } from 'node:test';
import type { z } from 'zod';
import type { Backend } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { temporaryDirectory } from '../../../harness/gateway-harness.ts';
import { isProblem } from '../../../harness/gateway-problems.ts';
import { openPlugin } from '../../../harness/open-plugin.ts';
import { newVolume, testBackend } from '../../../suites/backend.ts';
import { contentOf, testBackendMembers } from '../../../suites/backend-members.ts';

const mebibyte = 2 ** 20;
const capability = { accessType: 'mount', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
const access = { nodeId: 'n1', attachmentId: 'x', capability, readonly: false };

type Opened = { readonly backend: Backend; readonly root: string };

async function open(
  t: TestContext,
  settings: Partial<z.input<typeof backends.dir.settings>> = {},
): Promise<Opened> {
  const root = join(temporaryDirectory(t), 'root');
  mkdirSync(root);
  const backend = await openPlugin(backends.dir, { dir: root, ...settings });
  t.after(() => backend.close?.());
  return { root, backend };
}

testBackend(async t => (await open(t)).backend);
testBackendMembers(async t => {
  const { backend, root } = await open(t);
  return { backend, content: contentOf(id => join(root, id, 'content')) };
});

test('a volume is a directory that only its owner and group come into, whatever is masked', async t => {
  const { backend, root } = await open(t);
  const mask = process.umask(0o077);
  t.after(() => process.umask(mask));
  await backend.create(newVolume());
  const { mode } = statSync(join(root, 'a.volume'));
  assert.equal(mode & 0o7777, 0o770);
  assert.deepEqual(readdirSync(join(root, 'a.volume')), []);
});

test('the capacity is what is set, or else what the filesystem has', async t => {
  const { backend } = await open(t, { capacity: '10Gi' });
  assert.deepEqual(await backend.capacity?.(), { totalBytes: 10 * 2 ** 30 });
  const whole = await open(t);
  assert.ok(((await whole.backend.capacity?.())?.totalBytes ?? 0) > 0);
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
  '.trash/a.x',
  'a.x\0',
  'a.x\n',
  'a.',
  '-rf',
  'a.-x',
  'a.../x',
  `a.${'x'.repeat(200)}`,
];
test('no hostile id leads anywhere', async t => {
  const { backend, root } = await open(t);
  const refused = isProblem('INVALID_ARGUMENT');
  const before = readdirSync(root, { recursive: true });
  for (const id of hostileIds) {
    const known = { id, sizeBytes: mebibyte, parameters: {} };
    await assert.rejects(backend.create(newVolume({ id })), refused, id);
    await assert.rejects(backend.delete({ id }), refused, id);
    await assert.rejects(backend.attach(known, access), refused, id);
    await assert.rejects(async () => backend.volumeHealth?.(known), refused, id);
  }
  assert.deepEqual(readdirSync(root, { recursive: true }), before);
  assert.deepEqual(readdirSync(join(root, '..')), ['root']);
});

test('a link in the place of a volume is neither used nor followed nor removed', async t => {
  const { backend, root } = await open(t);
  const target = temporaryDirectory(t);
  writeFileSync(join(target, 'file'), 'data');
  const known = { id: 'a.volume', ...(await backend.create(newVolume())), parameters: {} };
  rmSync(join(root, 'a.volume'), { recursive: true });
  symlinkSync(target, join(root, 'a.volume'));
  const refused = isProblem('FAILED_PRECONDITION');
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
  const target = temporaryDirectory(t);
  writeFileSync(join(target, 'file'), 'data');
  await backend.create(newVolume());
  symlinkSync(target, join(root, 'a.volume', 'link'));
  symlinkSync(join(target, 'file'), join(root, 'a.volume', '-rf'));
  await backend.delete({ id: 'a.volume' });
  assert.equal(readFileSync(join(target, 'file'), 'utf8'), 'data');
  assert.deepEqual(readdirSync(join(root, '.trash')), []);
});

test('a link in the place of the trash is not followed', async t => {
  const { backend, root } = await open(t);
  const target = temporaryDirectory(t);
  await backend.create(newVolume());
  symlinkSync(target, join(root, '.trash'));
  await assert.rejects(backend.delete({ id: 'a.volume' }), isProblem('FAILED_PRECONDITION'));
  assert.ok(existsSync(join(root, 'a.volume')));
  assert.deepEqual(readdirSync(target), []);
});

test('a delete that was interrupted is finished by the next call, or by the next start', async t => {
  const { backend, root } = await open(t);
  const trash = join(root, '.trash');
  for (const id of ['a.one', 'a.two', 'a.two.more']) {
    await backend.create(newVolume({ id }));
    writeFileSync(join(root, id, 'file'), 'data');
  }
  mkdirSync(trash);
  for (const id of ['a.one', 'a.two']) renameSync(join(root, id), join(trash, `${id}.${'0'.repeat(16)}`));
  await backend.delete({ id: 'a.one' });
  assert.deepEqual(readdirSync(trash), [`a.two.${'0'.repeat(16)}`]);
  await backend.close?.();
  const again = await openPlugin(backends.dir, { dir: root });
  t.after(() => again.close?.());
  const isEmpty = () => (readdirSync(trash).length === 0 ? true : undefined);
  assert.ok(await poll(isEmpty, { everyMs: 20, timeoutMs: 30_000 }));
  assert.deepEqual(await Array.fromAsync(again.list?.() ?? []), ['a.two.more']);
  assert.equal(readFileSync(join(root, 'a.two.more', 'file'), 'utf8'), 'data');
});

test('a directory of this machine has one gateway, and one on a server several', async t => {
  const { backend, root } = await open(t);
  const second = openPlugin(backends.dir, { dir: root });
  await assert.rejects(second, { message: /is in use by a live process/ });
  await backend.close?.();
  const nfs = { server: 'nfs.test', path: '/export' };
  for (const settings of [{}, { nfs }, { nfs }]) {
    const again = await openPlugin(backends.dir, { dir: root, ...settings });
    t.after(() => again.close?.());
  }
});

test('attaching tells the path on this machine, or the server and its path', async t => {
  const { backend, root } = await open(t);
  const nfs = await open(t, { nfs: { server: 'nfs.test', path: '/export/' } });
  const rows = [
    { opened: backend, reach: { protocol: 'bind', path: join(root, 'a.volume') } },
    { opened: nfs.backend, reach: { protocol: 'nfs', server: 'nfs.test', path: '/export/a.volume' } },
  ];
  for (const { opened, reach } of rows) {
    const known = { id: 'a.volume', ...(await opened.create(newVolume())), parameters: {} };
    assert.deepEqual(await opened.attach(known, access), reach);
    await opened.delete(known);
    await assert.rejects(opened.attach(known, access), isProblem('FAILED_PRECONDITION'));
  }
});

test('a volume has the filesystem of the directory and no other', async t => {
  const { backend } = await open(t);
  const capabilities = [{ ...capability, fsType: 'ext4' }];
  await assert.rejects(backend.create(newVolume({ capabilities })), isProblem('INVALID_ARGUMENT'));
  await backend.create(newVolume({ capabilities: [{ ...capability, fsType: 'bind' }] }));
});

test('growing needs nothing of the node', async t => {
  const { backend } = await open(t);
  const known = { id: 'a.volume', ...(await backend.create(newVolume())), parameters: {} };
  const grown = await backend.expand?.(known, { requiredBytes: 4 * mebibyte, limitBytes: 0 });
  assert.deepEqual(grown, { sizeBytes: 4 * mebibyte, nodeExpansionRequired: false });
});

test('a directory that is missing is told in one line', async t => {
  await assert.rejects(open(t, { dir: '/no/such/directory' }), { message: /there is no such directory/ });
});

const badSettings = [
  { settings: { dir: 'relative' }, path: 'dir' },
  { settings: { dir: '/x', nfs: { server: 'nfs.test' } }, path: 'nfs.path' },
  { settings: { dir: '/x', nfs: { server: '-x', path: '/export' } }, path: 'nfs.server' },
  { settings: { dir: '/x', capacity: 'much' }, path: 'capacity' },
  { settings: { dir: '/x', size: 1 }, path: '' },
];
for (const { settings, path } of badSettings)
  test(`the settings ${JSON.stringify(settings)} are wrong at "${path}"`, () => {
    const { error } = backends.dir.settings.safeParse(settings);
    assert.deepEqual(
      error?.issues.map(issue => issue.path.join('.')),
      [path],
    );
  });

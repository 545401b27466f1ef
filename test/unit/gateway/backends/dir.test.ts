import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { backends } from '../../../../gateway/backends/index.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';
import { openPlugin } from '../../../harness/gateway/open-plugin.ts';
import { idsOf, makeVolume, newVolume } from '../../../suites/backend-fixtures.ts';
import { createLocal } from './local.ts';

const { open } = createLocal(backends.dir);

test('a volume is a directory that only its owner and group can enter, with any umask', async t => {
  const { backend, root } = await open(t);
  const mask = process.umask(0o077);
  t.after(() => process.umask(mask));
  mkdirSync(join(root, 'a.unfinished'), { mode: 0o700 });
  for (const id of ['a.volume', 'a.unfinished']) {
    await makeVolume(backend, { id });
    assert.equal(statSync(join(root, id)).mode & 0o7777, 0o770);
    assert.deepEqual(readdirSync(join(root, id)), []);
  }
});

test('links in a volume are removed with it, and their targets stay', async t => {
  const { backend, root } = await open(t);
  const target = temporaryDirectory(t);
  writeFileSync(join(target, 'file'), 'data');
  const volume = await makeVolume(backend);
  symlinkSync(target, join(root, 'a.volume', 'link'));
  symlinkSync(join(target, 'file'), join(root, 'a.volume', '-rf'));
  await backend.delete(volume);
  assert.equal(readFileSync(join(target, 'file'), 'utf8'), 'data');
  assert.deepEqual(readdirSync(join(root, '.trash')), []);
});

test('a link in place of the trash is not followed', async t => {
  const { backend, root } = await open(t);
  const target = temporaryDirectory(t);
  const volume = await makeVolume(backend);
  symlinkSync(target, join(root, '.trash'));
  await assert.rejects(backend.delete(volume), { code: 'FAILED_PRECONDITION' });
  assert.ok(existsSync(join(root, 'a.volume')));
  assert.deepEqual(readdirSync(target), []);
});

test('an interrupted delete is finished by the next call, or by the next start', async t => {
  const { backend, root } = await open(t);
  const trash = join(root, '.trash');
  for (const id of ['a.one', 'a.two', 'a.two.more']) {
    await makeVolume(backend, { id });
    writeFileSync(join(root, id, 'file'), 'data');
  }
  mkdirSync(trash);
  for (const id of ['a.one', 'a.two']) renameSync(join(root, id), join(trash, `${id}.${'0'.repeat(16)}`));
  await backend.delete({ id: 'a.one' });
  assert.deepEqual(readdirSync(trash), [`a.two.${'0'.repeat(16)}`]);
  await backend.close();
  const again = await openPlugin(backends.dir, { dir: root });
  t.after(() => again.close?.());
  const isEmpty = () => (readdirSync(trash).length === 0 ? true : undefined);
  assert.ok(await poll(isEmpty, { everyMs: 20, timeoutMs: 30_000 }));
  assert.deepEqual(await idsOf(again), ['a.two.more']);
  assert.equal(readFileSync(join(root, 'a.two.more', 'file'), 'utf8'), 'data');
});

test('a directory on a server may have several gateways, and its volumes are reached there', async t => {
  const nfs = { server: 'nfs.test', path: '/export/' };
  const { backend, root, access } = await open(t, { nfs });
  const other = await openPlugin(backends.dir, { dir: root, nfs });
  const reach = await other.attach(await makeVolume(backend), access);
  assert.deepEqual(reach, { protocol: 'nfs', server: 'nfs.test', path: '/export/a.volume' });
});

test('a detach cuts no node off, and the backend says so', async t => {
  const { backend } = await open(t);
  assert.equal(backend.cannotCutOff, true);
});

test('a volume has only the filesystem of the directory', async t => {
  const { backend, access } = await open(t);
  const withType = (fsType: string) => newVolume({ capabilities: [{ ...access.capability, fsType }] });
  await assert.rejects(backend.create(withType('ext4')), { code: 'INVALID_ARGUMENT' });
  await backend.create(withType('bind'));
});

test('expanding needs no work on the node', async t => {
  const { backend } = await open(t);
  const grown = await backend.expand(await makeVolume(backend), { requiredBytes: 2 ** 22, limitBytes: 0 });
  assert.deepEqual(grown, { sizeBytes: 2 ** 22, nodeExpansionRequired: false });
});

for (const server of ['-x', 'a b', 'a:/b', 'nas.test.'])
  test(`an NFS server ${JSON.stringify(server)} is refused`, () => {
    const { error } = backends.dir.settings.safeParse({ dir: '/x', nfs: { server, path: '/export' } });
    assert.deepEqual(
      error?.issues.map(issue => issue.path.join('.')),
      ['nfs.server'],
    );
  });

// Runs beside Ceph for `test/storage/ceph-shares.test.ts`: tests the backend that drives shares with Ceph's commands.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import type { KnownVolume } from '../../../gateway/backend.ts';
import type { AttachmentOf } from '../../../src/api/attachment.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { makeVolume, newSnapshot, newVolume, takeSnapshot } from '../../suites/backend-fixtures.ts';
import { testBackend } from '../../suites/backend.ts';
import { ask, users } from './cluster.ts';
import {
  contentIn,
  everything,
  mount,
  openShares,
  requireNoShares,
  shares,
  sizeIn,
  writeKeyring,
  type Login,
} from './filesystem.ts';

const mebibyte = 2 ** 20;
const waiting = { everyMs: 100, timeoutMs: 60_000 };
let root = '';

before(async t => {
  const all = await mount(t as TestContext, everything);
  root = all?.directory ?? assert.fail('the filesystem is not mounted');
});

after(requireNoShares);

testBackend(async t => ({ backend: await openShares(t, root), content: contentIn(root), coexist: true }));

test('a filesystem has the mark of its owner', async t => {
  const { owner } = await shares;
  assert.equal(await owner?.read(), undefined);
  await owner?.write('store-1 files\n');
  t.after(() => spawnSync('ceph', ['config-key', 'rm', 'fairlead.fs/files/owner']));
  assert.equal(await owner?.read(), 'store-1 files\n');
});

test('the user of an attachment reaches only its own directory, and detach removes the user', async t => {
  const backend = await openShares(t, root);
  const [volume, other] = [await makeVolume(backend), await makeVolume(backend, { id: 'a.other' })];
  const own = await attach(t, volume);
  const { path } = await attach(t, other, 'n2');
  assert.ok(await mount(t, own));
  for (const one of [path, '/', '/volumes'])
    assert.equal(await mount(t, { ...own, path: one }), undefined, one);
  assert.deepEqual(
    ['fsvolumens_a.volume.own', 'fsvolumens_a.other.own', ''].map(name => mayList(own, name)),
    [true, false, false],
  );
  await backend.detach(volume, 'n1');
  await backend.detach(other, 'n2');
  assert.deepEqual(users(), []);
  assert.ok(!mayList(own, 'fsvolumens_a.volume.own'));
});

test('a share takes as much as its quota allows, more after an expansion, and every node sees its size', async t => {
  const backend = await openShares(t, root);
  const volume = await makeVolume(backend, { requiredBytes: 4 * mebibyte });
  const [one, two] = [await attach(t, volume), await attach(t, volume, 'n2')];
  const [first, second] = [await mount(t, one), await mount(t, two)];
  assert.ok(first && second);
  assert.ok((await fill(first.directory)) < 32 * mebibyte, 'nothing kept it from being filled');
  await backend.expand?.(volume, { requiredBytes: 64 * mebibyte, limitBytes: 0 });
  const grown = await poll(async () => (await fill(first.directory)) >= 32 * mebibyte || undefined, waiting);
  assert.ok(grown);
  assert.equal(sizeIn(second.directory, 'data'), 32 * mebibyte);
  for (const node of ['n1', 'n2']) await backend.detach(volume, node);
});

for (const isPaused of [false, true])
  test(`a client that writes${isPaused ? ', and is paused meanwhile,' : ''} is shut out before detach returns`, async t => {
    const backend = await openShares(t, root);
    const volume = await makeVolume(backend, { requiredBytes: 1_024 * mebibyte });
    const client = await mount(t, await attach(t, volume));
    assert.ok(client);
    const file = join(client.directory, 'data');
    const writer = spawn('dd', ['if=/dev/urandom', `of=${file}`, 'bs=4k', 'oflag=sync'], { stdio: 'ignore' });
    const ended = once(writer, 'exit');
    t.after(() => writer.kill('SIGKILL'));
    const data = (): Buffer => Buffer.from(contentIn(root).read(volume.id, 0, 64 * mebibyte));
    const isWritten = () => (isThere(volume.id) && data().some(byte => byte !== 0)) || undefined;
    assert.ok(await poll(isWritten, waiting));
    if (isPaused) client.process.kill('SIGSTOP');
    await backend.detach(volume, 'n1');
    const held = data();
    client.process.kill('SIGCONT');
    const [status] = await ended;
    assert.notEqual(status, 0);
    assert.ok(data().equals(held));
    await backend.detach(volume, 'n1');
  });

test('a client is identified by the name that it proved, not by the one that it claims', async t => {
  const backend = await openShares(t, root);
  const [volume, other] = [await makeVolume(backend), await makeVolume(backend, { id: 'a.other' })];
  const [own, { user: claims }] = [await attach(t, volume), await attach(t, other, 'n2')];
  const client = await mount(t, { ...own, claims });
  assert.ok(client);
  type Session = { readonly client_metadata: { readonly entity_id?: string } };
  const said = ask<readonly Session[]>('ceph tell mds.files:0 session ls');
  assert.ok(said.some(({ client_metadata: { entity_id: id } }) => id === claims));
  await backend.detach(other, 'n2');
  const args = ['if=/dev/zero', `of=${join(client.directory, 'data')}`, 'bs=4k', 'count=1', 'oflag=sync'];
  const write = () => spawnSync('dd', args, { stdio: 'ignore', timeout: 60_000 }).status;
  assert.equal(write(), 0);
  await backend.detach(volume, 'n1');
  assert.notEqual(write(), 0);
});

test('a copy stays in the cluster of its source', async t => {
  const backend = await openShares(t, root);
  const volume = await makeVolume(backend);
  const snapshot = await takeSnapshot(backend, newSnapshot('a.snapshot', volume));
  for (const source of [
    { kind: 'snapshot', snapshot },
    { kind: 'volume', volume, attachedForWriting: false },
  ] as const)
    await assert.rejects(backend.create(newVolume({ id: 'b.copy', source })), {
      code: 'FAILED_PRECONDITION',
    });
});

test('a share that was attached leaves no user, session, note or subvolume', async t => {
  const backend = await openShares(t, root);
  const volume = await makeVolume(backend);
  await attach(t, volume);
  await backend.detach(volume, 'n1');
  await backend.delete(volume);
  requireNoShares();
});

async function attach(t: TestContext, volume: KnownVolume, nodeId = 'n1'): Promise<Login> {
  const capability = { accessType: 'mount', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
  const reach = await (
    await shares
  ).attach(volume, { nodeId, attachmentId: 'x1', capability, readonly: false });
  const { user, path, secrets } = reach as AttachmentOf<'cephfs'> & {
    readonly secrets: Readonly<Record<string, string>>;
  };
  return { user, path, keyring: writeKeyring(t, user, secrets['cephfs-key'] ?? '') };
}

/** Writes until the filesystem is full or 32 mebibytes are written; returns the number of mebibytes. */
async function fill(directory: string): Promise<number> {
  const file = join(directory, 'data');
  spawnSync('dd', ['if=/dev/zero', `of=${file}`, 'bs=1M', 'count=32', 'oflag=sync'], { stdio: 'ignore' });
  return readFileSync(file).length;
}

function isThere(volumeId: string): boolean {
  try {
    return contentIn(root).read(volumeId, 0, 1).length === 1;
  } catch {
    return false;
  }
}

function mayList({ user, keyring }: Login, namespace: string): boolean {
  const args = ['--id', user, '--keyring', keyring, '-p', 'files.data', '-N', namespace, 'ls'];
  return spawnSync('rados', args).status === 0;
}

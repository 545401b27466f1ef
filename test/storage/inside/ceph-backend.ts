// Runs beside Ceph for `test/storage/ceph-backend.test.ts`: tests the backend that drives Ceph with its commands.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import type { KnownVolume, NodeAccess } from '../../../gateway/backend.ts';
import type { AttachmentOf } from '../../../src/api/attachment.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { assertHolds, makeVolume, newSnapshot, takeSnapshot } from '../../suites/backend-fixtures.ts';
import { testBackend } from '../../suites/backend.ts';
import {
  ask,
  content,
  imageOf,
  images,
  requireNothingLeft,
  run,
  settings,
  users,
  watchersOf,
} from './cluster.ts';
import { opened, openCeph } from './pool.ts';

const mebibyte = 2 ** 20;

/** The addresses of one client, of all clients of a machine, and of a server. */
const addresses = { '192.0.2.9:0/9': true, '192.0.2.9:0/0': false, '192.0.2.9:6800/9': false };

after(requireNothingLeft);

testBackend(async t => ({ backend: await openCeph(t), content, coexist: true }));

test('images are thin, and have the features that nodes support and that identify writers', async t => {
  const backend = await openCeph(t);
  const volume = await makeVolume(backend, { requiredBytes: 2 ** 40 });
  const { features, size } = ask<{ features: readonly string[]; size: number }>(
    `rbd info ${imageOf(volume.id)}`,
  );
  assert.deepEqual([features, size], [['layering', 'exclusive-lock', 'object-map', 'fast-diff'], 2 ** 40]);
});

test("the pool's capacity is counted by default", async t => {
  const backend = await openCeph(t);
  const { stored, max_avail: free } =
    ask<{ pools: readonly { name: string; stats: Record<string, number> }[] }>('ceph df').pools.find(
      ({ name }) => name === settings.pool,
    )?.stats ?? {};
  assert.ok(Number(stored) >= 0 && Number(free) > 2 ** 30);
  assert.equal((await backend.capacity?.())?.totalBytes, 100 * 2 ** 30);
});

test('a pool has the mark of its owner', async t => {
  const { owner } = await openCeph(t);
  assert.equal(await owner?.read(), undefined);
  await owner?.write('store-1 fast\n');
  assert.equal(await owner?.read(), 'store-1 fast\n');
  run('ceph config-key rm fairlead/rbd/owner');
});

test('the user of an attachment reaches only its own image, and detach removes the user with its key', async t => {
  const backend = await openCeph(t);
  const [volume, other] = [await makeVolume(backend), await makeVolume(backend, { id: 'a.other' })];
  const { rights, reach } = await attach(t, volume, 'n1');
  const id = ask<{ id: string }>(`rbd info ${imageOf(other.id)}`).id;
  assert.ok(rights.mayRead(`rbd_header.${reach.imageId}`));
  for (const object of [`rbd_header.${id}`, 'rbd_directory', 'rbd_info'])
    assert.ok(!rights.mayRead(object), object);
  for (const [address, may] of Object.entries(addresses))
    assert.equal(rights.mayShutOut(address), may, address);
  const again = await attach(t, volume, 'n1');
  assert.deepEqual(again.reach, reach);
  await backend.detach(volume, 'n1');
  assert.deepEqual(users(), []);
  assert.ok(!rights.mayRead(`rbd_header.${reach.imageId}`));
  const later = await attach(t, volume, 'n1');
  assert.notEqual(later.reach.secrets['rbd-key'], reach.secrets['rbd-key']);
  await backend.detach(volume, 'n1');
});

test('deleted data leaves the pool with its last dependent, and clones keep their data', async t => {
  const backend = await openCeph(t);
  const volume = await makeVolume(backend, { requiredBytes: 8 * mebibyte });
  content.write(volume.id, 5 * mebibyte, Buffer.from('old'));
  const snapshot = await takeSnapshot(backend, newSnapshot('a.snapshot', volume));
  const one = await makeVolume(backend, { id: 'a.one', source: { kind: 'snapshot', snapshot } });
  const two = await makeVolume(backend, {
    id: 'a.two',
    source: { kind: 'volume', volume: one, attachedForWriting: false },
  });
  await backend.delete(volume);
  await backend.delete(one);
  assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), ['a.two']);
  await backend.snapshots?.delete(snapshot);
  assertHolds(content, two.id, 5 * mebibyte, 'old');
  assert.equal(images().length, 1);
});

test('an image whose removal ended after its header is removed by the next attempt', async t => {
  const backend = await openCeph(t);
  const volume = await makeVolume(backend);
  const snapshot = await takeSnapshot(backend, newSnapshot('a.snapshot', volume));
  await backend.delete(volume);
  const [image = ''] = images();
  const { id } = ask<{ id: string }>(`rbd info ${image}`);
  for (const { name } of ask<readonly { name: string }[]>(`rbd snap ls ${image}`))
    run(`rbd snap rm --no-progress ${image}@${name}`);
  run(`rados --pool rbd --namespace fairlead.a rm rbd_header.${id}`);
  assert.deepEqual(images(), [image]);
  await backend.snapshots?.delete(snapshot);
  requireNothingLeft();
});

test('a volume that was attached and written leaves no user, watcher, lock, note or image', async t => {
  const backend = await openCeph(t);
  const volume = await makeVolume(backend);
  await attach(t, volume, 'n1');
  run(`rbd bench --io-type write --io-total 1M ${imageOf(volume.id)}`);
  await backend.detach(volume, 'n1');
  assert.deepEqual([watchersOf(volume.id), ask(`rbd lock ls ${imageOf(volume.id)}`)], [[], []]);
  await backend.delete(volume);
  requireNothingLeft();
});

test("the rights of an attachment let its node's next client take over the lock of a dead one", async t => {
  const backend = await openCeph(t);
  const volume = await makeVolume(backend);
  const { rights, reach } = await attach(t, volume, 'n1');
  // This client needs more rights on the pool than a kernel does, but the same on the monitors.
  const entity = `client.${reach.user}`;
  const [{ caps } = assert.fail()] = ask<readonly { caps: { mon: string } }[]>(`ceph auth get ${entity}`);
  const more = ['auth', 'caps', entity, 'mon', caps.mon, 'osd', 'allow rwx pool=rbd'];
  assert.equal(spawnSync('ceph', more).status, 0);
  const image = imageOf(volume.id);
  const client = spawn('rbd', ['bench', '--io-type', 'write', '--io-total', '1T', image], {
    stdio: 'ignore',
  });
  t.after(() => client.kill('SIGKILL'));
  const isLocked = () => ask<readonly object[]>(`rbd lock ls ${image}`).length > 0 || undefined;
  assert.ok(await poll(isLocked, { everyMs: 100, timeoutMs: 120_000 }));
  client.kill('SIGKILL');
  assert.ok(rights.mayWrite());
  await backend.detach(volume, 'n1');
});

type Rights = { mayRead(object: string): boolean; mayShutOut(address: string): boolean; mayWrite(): boolean };
type TestAttachment = {
  readonly reach: AttachmentOf<'rbd'> & { readonly secrets: Readonly<Record<string, string>> };
  readonly rights: Rights;
};

async function attach(t: TestContext, volume: KnownVolume, nodeId: string): Promise<TestAttachment> {
  const backend = await opened;
  const capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;
  const access: NodeAccess = {
    nodeId,
    attachmentId: randomBytes(8).toString('hex'),
    capability,
    readonly: false,
  };
  const reach = (await backend.attach(volume, access)) as TestAttachment['reach'];
  const directory = mkdtempSync(join(tmpdir(), 'user-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const keyring = join(directory, 'keyring');
  writeFileSync(keyring, `[client.${reach.user}]\n\tkey = ${reach.secrets['rbd-key']}\n`, { mode: 0o600 });
  const login = [
    '--id',
    reach.user,
    '--keyring',
    keyring,
    '--pool',
    'rbd',
    '--namespace',
    reach.namespace ?? '',
  ];
  return {
    reach,
    rights: {
      mayRead: object => spawnSync('rados', [...login, 'stat', object]).status === 0,
      mayShutOut: address =>
        spawnSync('ceph', [...login.slice(0, 4), 'osd', 'blocklist', 'add', address, '1']).status === 0,
      mayWrite: () =>
        spawnSync('rbd', [...login, 'bench', '--io-type', 'write', '--io-total', '4K', reach.image])
          .status === 0,
    },
  };
}

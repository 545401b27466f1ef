import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KnownVolume } from '../../../../gateway/backend.ts';
import { userOf } from '../../../../gateway/backends/ceph/users.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { key, monitors, openWithCommands, type Answers } from './ceph-commands.ts';

const path = '/volumes/fairlead.a/a.v.own/11111111-2222-3333-4444-555555555555';
const info = {
  state: 'complete',
  path,
  bytes_quota: 2 ** 20,
  data_pool: 'files.data',
  pool_namespace: 'fsvolumens_a.v.own',
};
const server = { mdsmap: { in: [0], info: { gid_1: { rank: 0, state: 'up:active' } } } };
const usual: Answers = {
  'mon dump': monitors,
  'fs ls': [{ name: 'files', data_pools: ['files.data'] }],
  'fs subvolume info': info,
  'fs get files': server,
  'tell mds.files:0 client ls': [],
  'auth get-or-create-key': { key },
};
const volume: KnownVolume = { id: 'a.v', nonce: 'own', sizeBytes: 2 ** 20, parameters: {} };
const capability = { accessType: 'mount', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
const access = { nodeId: 'n1', attachmentId: 'x1', capability, readonly: false };
const settings = { filesystem: 'files' };

test("an attachment has a user for only its directory; no argument contains the user's key", async t => {
  const { backend, readLines } = await openWithCommands(t, usual, settings);
  const reach = await backend.attach(volume, access);
  const user = reach.protocol === 'cephfs' ? reach.user : '';
  assert.match(user, /^fairlead\.[0-9a-f]{32}$/);
  assert.deepEqual(reach, {
    protocol: 'cephfs',
    monitors: ['192.0.2.7:6789'],
    mode: 'legacy',
    filesystem: 'files',
    path,
    user,
    secrets: { 'cephfs-key': key },
  });
  const lines = readLines();
  assert.doesNotMatch(lines.join('\n'), /Canary/);
  const caps = `mon allow r fsname=files mds allow rw fsname=files path=${path} osd allow rw pool=files.data namespace=fsvolumens_a.v.own`;
  const [last = ''] = lines.slice(-1);
  assert.ok(last.endsWith(`auth get-or-create-key client.${user} ${caps} --format json`), last);
});

test('a read-only user has no right to write', async t => {
  const { backend, readLines } = await openWithCommands(t, usual, settings);
  await backend.attach(volume, { ...access, readonly: true });
  assert.doesNotMatch(readLines().at(-1) ?? '', /allow rw/);
});

test('a share that is missing, smaller than the volume, or still being copied is not attached', async t => {
  for (const answer of [2, 11, { ...info, bytes_quota: 1 }, { ...info, bytes_quota: 'infinite' }]) {
    const { backend } = await openWithCommands(
      t,
      { ...usual, 'fs subvolume info': answer } as Answers,
      settings,
    );
    await assert.rejects(backend.attach(volume, access), { code: 'FAILED_PRECONDITION' });
  }
});

test('another filesystem than its own is refused', async t => {
  const { backend } = await openWithCommands(t, usual, settings);
  const other = { ...access, capability: { ...capability, fsType: 'xfs' } };
  await assert.rejects(backend.attach(volume, other), { code: 'INVALID_ARGUMENT' });
});

test('detaching evicts the user by every server, and the user goes last', async t => {
  const { backend, readLines } = await openWithCommands(t, usual, settings);
  await backend.detach(volume, 'n1');
  const words = readLines()
    .slice(2)
    .map(line => line.split(' ').slice(7).join(' '));
  assert.deepEqual(
    words.map(line => line.replace(/[0-9a-f]{32}/, 'USER')),
    [
      'auth caps client.fairlead.USER mon allow r',
      'fs get files --format json',
      'tell mds.files:0 client ls auth_name=fairlead.USER --format json',
      'tell mds.files:0 client evict auth_name=fairlead.USER',
      'auth rm client.fairlead.USER',
    ],
  );
});

test('a client that only claims to be the user does not block a detach, and is left alone', async t => {
  const entity = { addr: { addr: '192.0.2.9:0', nonce: 7 } };
  const sessions = {
    'tell mds.files:0 client ls auth_name=': [],
    'tell mds.files:0 client ls': [{ entity, client_metadata: { entity_id: userOf('a.v.own', access) } }],
  };
  const { backend, readLines } = await openWithCommands(t, { ...sessions, ...usual, ...sessions }, settings);
  await backend.detach(volume, 'n1');
  assert.doesNotMatch(readLines().join('\n'), /blocklist/);
});

test('no attachment is closed while a server does not serve', async t => {
  const replaying = { mdsmap: { in: [0], info: { gid_1: { rank: 0, state: 'up:replay' } } } };
  const { backend, readLines } = await openWithCommands(t, { ...usual, 'fs get files': replaying }, settings);
  await assert.rejects(backend.detach(volume, 'n1'), { code: 'UNAVAILABLE' });
  assert.doesNotMatch(readLines().join('\n'), /auth rm/);
});

test('detaching a node without a user runs no further command', async t => {
  const { backend, readLines } = await openWithCommands(t, { ...usual, 'auth caps': 2 }, settings);
  await backend.detach(volume, 'n1');
  assert.equal(readLines().length, 3);
});

test('a pool has either images or shares, and a missing filesystem is retried', async t => {
  for (const bad of [{}, { pool: 'rbd', filesystem: 'files' }, { filesystem: 'a b' }])
    assert.equal(backends.ceph.settings.safeParse(bad).success, false);
  const opening = openWithCommands(t, usual, { filesystem: 'other' });
  await assert.rejects(opening, { code: 'UNAVAILABLE' });
});

import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { inspect } from 'node:util';
import type { KnownVolume } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { key, monitors, openWithCommands as open, withCommands, type Answers } from './ceph-commands.ts';
import { openPlugin } from '../../../harness/gateway/open-plugin.ts';

const info = { id: '10a1', size: 2 ** 20 };
const volume: KnownVolume = { id: 'a.v', nonce: 'own', sizeBytes: 2 ** 20, parameters: {} };
const capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;
const access = { nodeId: 'n1', attachmentId: 'x1', capability, readonly: false };

const usual: Answers = { 'mon dump': monitors, info, 'auth get-or-create-key': { key }, status: {} };

const mayShutOut = (list: string): string =>
  `allow command "osd ${list}" with ${list}op=add addr regex "^[^/]+:0/[1-9][0-9]*$"`;

test("an attachment has a user for only its image; no argument contains the user's key", async t => {
  const { backend, readLines } = await open(t, usual);
  const reach = await backend.attach(volume, access);
  const user = reach.protocol === 'rbd' ? reach.user : '';
  assert.match(user, /^fairlead\.[0-9a-f]{32}$/);
  assert.deepEqual(reach, {
    protocol: 'rbd',
    monitors: ['192.0.2.7:6789'],
    mode: 'legacy',
    fsid: 'f',
    pool: 'rbd',
    namespace: 'fairlead.a',
    image: 'v.own',
    imageId: '10a1',
    user,
    secrets: { 'rbd-key': key },
  });
  const lines = readLines();
  assert.doesNotMatch(lines.join('\n'), /Canary/);
  const where = 'pool=rbd namespace=fairlead.a object_prefix';
  const mon = ['allow service mon r', 'allow service osd r', 'allow service pg r'];
  const osd = [
    `allow rx ${where} rbd_id.v.own`,
    ...['header', 'object_map'].map(kind => `allow rwx ${where} rbd_${kind}.10a1`),
    `allow rwx ${where} rbd_data.10a1.`,
  ];
  const rights = `mon ${[...mon, ...['blocklist', 'blacklist'].map(mayShutOut)].join(', ')} osd ${osd.join(', ')}`;
  const last = lines.at(-1) ?? '';
  assert.ok(last.endsWith(`get-or-create-key client.${user} ${rights} --format json`), last);
});

test('a read-only user has no right to write data, and other nodes have other users', async t => {
  const { backend, readLines } = await open(t, usual);
  await backend.attach(volume, { ...access, readonly: true });
  assert.match(
    readLines().at(-1) ?? '',
    /allow rx pool=rbd namespace=fairlead\.a object_prefix rbd_data\.10a1\. /,
  );
  const users = new Set<unknown>();
  for (const node of [{ nodeId: 'n1' }, { nodeId: 'n2' }, { nodeId: 'n1', cluster: 'b' }]) {
    const reach = await backend.attach(volume, { ...access, ...node });
    users.add(reach.protocol === 'rbd' && reach.user);
  }
  assert.equal(users.size, 3);
});

test("a mode of the second messenger uses that messenger's addresses", async t => {
  const { backend } = await open(t, usual, { mode: 'secure' });
  const reach = await backend.attach(volume, access);
  assert.deepEqual(reach.protocol === 'rbd' && [reach.mode, reach.monitors], ['secure', ['192.0.2.7:3300']]);
});

test("an unreachable cluster is retried, and so is a machine without Ceph's commands", async t => {
  await assert.rejects(open(t, { 'mon dump': 110 }), { code: 'UNAVAILABLE' });
  await assert.rejects(openPlugin(backends.ceph, { pool: 'rbd', conf: '/nonexistent' }), {
    code: 'UNAVAILABLE',
    detail: /"ceph"/,
  });
});

test('a full cluster is reported as full, and any other failure may come from work that continues', async t => {
  for (const [status, code] of [
    [28, 'RESOURCE_EXHAUSTED'],
    [122, 'RESOURCE_EXHAUSTED'],
    [1, 'UNAVAILABLE'],
    [110, 'UNAVAILABLE'],
  ] as const) {
    const { backend } = await open(t, { ...usual, create: status });
    const wanted = { ...volume, nonce: 'own', requiredBytes: 2 ** 20, limitBytes: 0, capabilities: [] };
    await assert.rejects(backend.create(wanted), { code });
  }
});

test('detaching a node without a user runs no further command', async t => {
  const { backend, readLines } = await open(t, { ...usual, 'auth caps': 2 });
  await backend.detach(volume, 'n1');
  assert.equal(readLines().length, 2);
});

test('detaching shuts out all clients that have or had the image open, and the user goes last', async t => {
  const { backend, readLines } = await open(t, {
    ...usual,
    'image-meta list': { 'clients.v.own/192.0.2.9:0/9': 'open' },
    'lock ls': [],
  });
  await backend.detach(volume, 'n1');
  const words = readLines().map(line => line.split(' ').slice(7, 10).join(' '));
  assert.deepEqual(
    words
      .filter(line => !/^(info|status|lock ls|mon dump|image-meta list)/.test(line))
      .map(line => line.replace(/[0-9a-f]{32}/, 'USER')),
    [
      'auth caps client.fairlead.USER',
      'osd blocklist add',
      'image-meta remove rbd/fairlead.a/notes',
      'auth rm client.fairlead.USER',
    ],
  );
});

test('deleting a snapshot first notes each of its clients separately, so that no other note is lost', async t => {
  const watchers = [{ address: '192.0.2.9:0/9' }, { address: '192.0.2.8:0/8' }];
  const image = { namespace: 'fairlead.a', name: 'v.own' };
  const { backend, readLines } = await open(t, {
    ...usual,
    status: { watchers },
    'lock ls': [],
    'image-meta list': { 'snapshot.s.own': JSON.stringify({ image, isWhole: true }) },
  });
  await backend.snapshots?.delete({ id: 'a.s', nonce: 'own' });
  const words = readLines().map(line => line.split(' ').slice(7).join(' '));
  const notes = 'rbd/fairlead.a/notes';
  assert.deepEqual(words.filter(line => /^(image-meta|snap rm)/.test(line)).slice(0, 4), [
    `image-meta list ${notes} --format json`,
    `image-meta set ${notes} clients.v.own/192.0.2.9:0/9 open`,
    `image-meta set ${notes} clients.v.own/192.0.2.8:0/8 open`,
    'snap rm --no-progress rbd/fairlead.a/v.own@s.own',
  ]);
});

test('deleting a volume removes the notes about its clients, even if the image is gone already', async t => {
  const noted = { 'clients.v.own/192.0.2.9:0/9': 'open', 'clients.other.own/192.0.2.8:0/8': 'open' };
  for (const answers of [usual, { ...usual, info: 2, rm: 2, 'snap ls': 2, status: 2 }]) {
    const { backend, readLines } = await open(t, { ...answers, 'lock ls': [], 'image-meta list': noted });
    await backend.delete(volume);
    assert.match(
      readLines().at(-1) ?? '',
      /image-meta remove rbd\/fairlead\.a\/notes clients\.v\.own\/192\.0\.2\.9:0\/9$/,
    );
  }
});

test('the repeated removal of a clone also removes its deleted source image', async t => {
  const parent = { pool: 'rbd', pool_namespace: 'fairlead.b' };
  const origin = JSON.stringify({ namespace: 'fairlead.b', name: '_source.own' });
  const notes = 'rbd/fairlead.a/notes';
  const answers = { ...usual, 'lock ls': [], 'image-meta list': { 'origin.v.own': origin }, children: [] };
  const changes = async (answer: object | number): Promise<readonly string[]> => {
    const { backend, readLines } = await open(t, { ...answers, info: answer });
    await backend.delete(volume);
    const words = readLines().map(line => line.split(' ').slice(7).join(' '));
    return words.filter(line => /^(image-meta (set|remove)|rm)/.test(line));
  };
  const steps = [
    'rm --no-progress rbd/fairlead.a/v.own',
    'rm --no-progress rbd/fairlead.b/_source.own',
    `image-meta remove ${notes} origin.v.own`,
  ];
  // Also of a volume that may be deleted meanwhile.
  for (const name of ['_source.own', 'source.own'])
    assert.deepEqual(await changes({ ...info, parent: { ...parent, image: name } }), [
      `image-meta set ${notes} origin.v.own ${origin}`,
      ...steps,
    ]);
  assert.deepEqual(await changes(2), steps);
});

test('a text that cannot be part of a command is refused as a setting', () => {
  for (const bad of ['a b', '-a', 'a/b', 'a@b', '', 'a,b'])
    for (const name of ['pool', 'user'])
      assert.equal(backends.ceph.settings.safeParse({ pool: 'rbd', [name]: bad }).success, false);
});

const [asked, listed] = ['--connect-timeout 10 mon dump', '--client-mount-timeout 10 namespace ls rbd'];
for (const [name, answers, expected] of [
  ['a good pool', { 'mon dump': monitors }, []],
  [
    'a cluster that is not reached',
    { [asked]: 1, [listed]: 110 },
    [/no monitor of ".*conf" answered within 10 s/],
  ],
  [
    'a key that it does not take',
    { [asked]: 13, [listed]: 13 },
    [/rejects the key of user "fairlead" in ".*keyring"/],
  ],
  ['a configuration that says nothing', { [asked]: 1, [listed]: 2 }, [/".*conf" names no monitors/]],
  ['a keyring of others', { [asked]: 1, [listed]: 1 }, [/".*keyring" has no key of user "fairlead"/]],
  ['a pool that is missing', { 'mon dump': monitors, [listed]: 2 }, [/the cluster has no pool "rbd"/]],
  ['a pool of others', { 'mon dump': monitors, [listed]: 1 }, [/user "fairlead" may not use pool "rbd"/]],
] as const)
  test(`a check has a line for each fault: ${name}`, async t => {
    const { outcome: lines } = await withCommands(t, answers, directory => {
      const [conf, keyring] = [join(directory, 'conf'), join(directory, 'keyring')];
      for (const file of [conf, keyring]) writeFileSync(file, '');
      return checkPlugin({ conf, keyring });
    });
    assert.equal(lines.length, expected.length);
    for (const [index, pattern] of expected.entries()) assert.match(lines[index] ?? '', pattern);
  });

test('a check reports everything that the machine lacks, and then does not contact the cluster', async t => {
  const { outcome, directory } = await withCommands(t, {}, own => {
    for (const program of ['rbd', 'ceph']) rmSync(join(own, program));
    return checkPlugin({ conf: '/missing/conf', keyring: '/missing/keyring' });
  });
  assert.deepEqual(outcome, [
    '"ceph" is not installed; install the package ceph-common',
    '"rbd" is not installed; install the package ceph-common',
    'the configuration of the cluster, "/missing/conf", cannot be read: it does not exist, or its directory does not',
    'the user\'s keyring, "/missing/keyring", cannot be read: it does not exist, or its directory does not',
  ]);
  assert.ok(!existsSync(join(directory, 'lines')));
});

async function checkPlugin(settings: object): Promise<readonly string[]> {
  const { ceph } = backends;
  const context = { log: silentLog, directory: '/', name: 'far' };
  return (await ceph.check?.(ceph.settings.parse({ pool: 'rbd', ...settings }), context)) ?? assert.fail();
}

test("a command's error about an unreadable keyring is repeated without the key", async t => {
  const says = `>&2 echo "parsing file: [client.fairlead] type=key val=${key}: Malformed input"; exit 1`;
  const { outcome } = await withCommands(t, {}, async directory => {
    writeFileSync(join(directory, 'ceph'), `#!/bin/sh\n${says}\n`);
    return openPlugin(backends.ceph, { pool: 'rbd' }).catch((error: unknown) => inspect(error));
  });
  assert.match(String(outcome), /Malformed/);
  assert.doesNotMatch(String(outcome), /Canary/);
});

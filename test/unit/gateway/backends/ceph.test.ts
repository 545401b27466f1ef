import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Backend, KnownVolume } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';
import { openPlugin } from '../../../harness/open-plugin.ts';

const key = 'AQCanaryCanaryCanaryCanaryCanaryCanaryA==';
const [v1, v2] = [
  { type: 'v1', addr: '192.0.2.7:6789', nonce: 0 },
  { type: 'v2', addr: '192.0.2.7:3300', nonce: 0 },
];
const monitors = { fsid: 'f', mons: [{ public_addrs: { addrvec: [v1, v2] } }] };
const info = { id: '10a1', size: 2 ** 20 };
const volume: KnownVolume = { id: 'a.v', nonce: 'own', sizeBytes: 2 ** 20, parameters: {} };
const capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;
const access = { nodeId: 'n1', attachmentId: 'x1', capability, readonly: false };

/** What commands print, or the status that they end with, by the words that their arguments begin with after the login. */
type Answers = Readonly<Record<string, object | number>>;

/** A backend with commands that answer so, and the arguments of each that was run. */
async function open(t: TestContext, answers: Answers, settings: object = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'ceph-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const cases = Object.entries(answers).map(([words, answer]) =>
    typeof answer === 'number'
      ? `"${words}"*) exit ${answer} ;;`
      : `"${words}"*) echo '${JSON.stringify(answer)}' ;;`,
  );
  for (const program of ['rbd', 'ceph']) {
    const lines = ['#!/bin/sh', `echo ${program} "$@" >>${directory}/lines`, 'shift 6', 'case "$*" in'];
    writeFileSync(join(directory, program), [...lines, ...cases, 'esac', ''].join('\n'));
    chmodSync(join(directory, program), 0o755);
  }
  const path = process.env['PATH'];
  process.env['PATH'] = `${directory}:${path}`;
  const opening = openPlugin(backends.ceph, { pool: 'rbd', ...settings });
  process.env['PATH'] = path;
  const readLines = (): readonly string[] => {
    const file = join(directory, 'lines');
    return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
  };
  return { backend: (await opening) as Backend, readLines };
}

const usual: Answers = { 'mon dump': monitors, info, 'auth get-or-create-key': { key }, status: {} };

test('an attachment has a user for its image alone, whose key is in no argument', async t => {
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
  assert.match(
    lines.at(-1) ?? '',
    new RegExp(
      `get-or-create-key client.${user} mon profile rbd osd allow rx ${where} rbd_id.v.own, allow rwx ${where} rbd_header.10a1, allow rwx ${where} rbd_object_map.10a1, allow rwx ${where} rbd_data.10a1. --format json$`,
    ),
  );
});

test('who may only read has no right to write data, and other nodes have other users', async t => {
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

test('a mode of the second messenger takes the addresses of that', async t => {
  const { backend } = await open(t, usual, { mode: 'secure' });
  const reach = await backend.attach(volume, access);
  assert.deepEqual(reach.protocol === 'rbd' && [reach.mode, reach.monitors], ['secure', ['192.0.2.7:3300']]);
});

test('a cluster that cannot be reached is tried again, and so is a machine without its commands', async t => {
  await assert.rejects(open(t, { 'mon dump': 110 }), isProblem('UNAVAILABLE'));
  await assert.rejects(
    openPlugin(backends.ceph, { pool: 'rbd', conf: '/nonexistent' }),
    isProblemThat('UNAVAILABLE', /"ceph"/),
  );
});

test('a full cluster is full, and any other end of a command may come from work that goes on', async t => {
  for (const [status, code] of [
    [28, 'RESOURCE_EXHAUSTED'],
    [122, 'RESOURCE_EXHAUSTED'],
    [1, 'UNAVAILABLE'],
    [110, 'UNAVAILABLE'],
  ] as const) {
    const { backend } = await open(t, { ...usual, create: status });
    const wanted = { ...volume, nonce: 'own', requiredBytes: 2 ** 20, limitBytes: 0, capabilities: [] };
    await assert.rejects(backend.create(wanted), isProblem(code));
  }
});

test('detaching a node that has no user runs nothing more, whoever has the volume open', async t => {
  const { backend, readLines } = await open(t, { ...usual, 'auth caps': 2 });
  await backend.detach(volume, 'n1');
  assert.equal(readLines().length, 2);
});

test('detaching shuts out all that have or had the image open, and the user goes last', async t => {
  const { backend, readLines } = await open(t, {
    ...usual,
    'image-meta list': { 'clients.v.own': '192.0.2.9:0/9' },
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

test('what cannot stand in a command is no setting', () => {
  for (const bad of ['a b', '-a', 'a/b', 'a@b', '', 'a,b'])
    for (const name of ['pool', 'user'])
      assert.equal(backends.ceph.settings.safeParse({ pool: 'rbd', [name]: bad }).success, false);
});

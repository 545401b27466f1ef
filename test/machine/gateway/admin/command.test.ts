import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { runAdmin, type AdminResult } from '../../../../gateway/admin/command.ts';
import { readAdminConfig } from '../../../../gateway/admin/config.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { imagesIn } from '../backends/image-pool.ts';
import {
  createMemoryLog,
  makeGateway,
  temporaryDirectory,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway-harness.ts';
import { openPlugin } from '../../../harness/open-plugin.ts';

type Place = { readonly store: string; readonly images: string; readonly gateway: Gateway };

/** A gateway that runs on image files while the commands run beside it. */
async function prepare(t: TestContext, keepDeletedMs = 0): Promise<Place> {
  const directory = temporaryDirectory(t);
  const [store, images] = [join(directory, 'store.sqlite'), join(directory, 'images')];
  mkdirSync(images);
  const backend = await openPlugin(backends.image, { dir: images, capacity: 2 ** 30 });
  t.after(() => backend.close?.());
  return { store, images, gateway: await makeGateway(t, { backend, store, keepDeletedMs }) };
}

function admin({ store, images }: Place, ...argv: readonly string[]): Promise<AdminResult> {
  const flags = ['--store', store, '--backend', 'image', '--image-dir', images, '--safety-age', '0s'];
  const { config, faults } = readAdminConfig({ argv: [...argv, ...flags], env: {} });
  assert.ok(config, faults?.join('\n') ?? '');
  return runAdmin(config, createMemoryLog().log);
}

function create({ gateway }: Place, name: string): Promise<unknown> {
  return gateway.volumes.create('a', `a.${name}`, volumeSpec(name));
}

function addOrphan({ images }: Place, name = 'a.orphan'): string {
  const path = join(images, `${name}.img`);
  writeFileSync(path, '');
  truncateSync(path, 2 ** 20);
  return path;
}

test('an audit of what agrees says so, with status 0', async t => {
  const place = await prepare(t);
  await create(place, 'one');
  assert.deepEqual(await admin(place, 'audit'), { text: 'the storage and the store agree\n', status: 0 });
});

test('an audit tells findings with their age, as a table and as JSON, with status 2', async t => {
  const place = await prepare(t);
  await create(place, 'one');
  addOrphan(place);
  const { text, status } = await admin(place, 'audit');
  assert.equal(status, 2);
  assert.match(text, /^problem +kind +id +age +found\nunknown +volume +a\.orphan +\d+s +in the storage, not/);
  const { findings } = JSON.parse((await admin(place, 'audit', '--json')).text) as { findings: object[] };
  assert.partialDeepStrictEqual(findings, [{ problem: 'unknown', kind: 'volume', id: 'a.orphan' }]);
});

test('an audit tells in which former places volumes are, as text and as JSON, and nothing is wrong', async t => {
  const place = await prepare(t);
  await create(place, 'one');
  const former = { 'x.example/zone': 'b' };
  await place.gateway.engine.transaction(sql =>
    sql.run('update volumes set place = ?', JSON.stringify(former)),
  );
  const text =
    'the storage and the store agree\nvolumes in places that no setting names any more: "x.example/zone=b" (1)\n';
  assert.deepEqual(await admin(place, 'audit'), { text, status: 0 });
  assert.deepEqual(await admin(place, 'audit', '--topology', 'x.example/zone=a', '--repair', '--yes'), {
    text,
    status: 0,
  });
  const { text: json } = await admin(place, 'audit', '--json');
  assert.deepEqual(JSON.parse(json), { findings: [], formerPlaces: [{ place: former, count: 1 }] });
  const named = await admin(place, 'audit', '--json', '--topology', 'x.example/zone=b');
  assert.deepEqual(JSON.parse(named.text), { findings: [], formerPlaces: [] });
});

for (const flags of [['--repair'], ['--repair', '--dry-run']])
  test(`audit ${flags.join(' ')} shows what it would do and does nothing`, async t => {
    const place = await prepare(t);
    await create(place, 'one');
    addOrphan(place);
    const { text, status } = await admin(place, 'audit', ...flags);
    assert.equal(status, 2);
    assert.match(text, /unknown .* a\.orphan .* remove$/m);
    assert.deepEqual(imagesIn(place.images), ['a.one.img', 'a.orphan.img']);
  });

test('audit --repair --yes does it, while the gateway runs', async t => {
  const place = await prepare(t);
  await create(place, 'one');
  addOrphan(place);
  const { text, status } = await admin(place, 'audit', '--repair', '--yes');
  assert.equal(status, 0, text);
  assert.deepEqual(imagesIn(place.images), ['a.one.img']);
  assert.equal((await admin(place, 'audit')).status, 0);
});

test('an image that a loop device has open is not removed', async t => {
  const place = await prepare(t);
  await create(place, 'one');
  const path = addOrphan(place);
  let device: string;
  try {
    device = execFileSync('losetup', ['--find', '--show', '--', path], { encoding: 'utf8' }).trim();
  } catch {
    return t.skip('needs loop devices');
  }
  t.after(() => execFileSync('losetup', ['--detach', device]));
  const { text, status } = await admin(place, 'audit', '--repair', '--yes');
  assert.equal(status, 2);
  assert.match(text, /a\.orphan .* failed +remove +volume "a\.orphan" is still in use by \/dev\/loop/);
  assert.ok(existsSync(path));
});

test('a restored volume has the bytes that it was deleted with', async t => {
  const place = await prepare(t, 3_600_000);
  await create(place, 'one');
  const path = join(place.images, 'a.one.img');
  writeFileSync(path, randomBytes(2 ** 20), { flag: 'r+' });
  const before = hash(path);
  await place.gateway.volumes.delete('a', 'a.one');
  const { text, status } = await admin(place, 'audit', '--repair', '--yes');
  assert.deepEqual([status, /^kept +volume +a\.one /m.test(text)], [0, true]);
  assert.equal((await admin(place, 'restore', 'a.one')).text, 'volume "a.one" is ready again\n');
  assert.equal((await place.gateway.volumes.get('a', 'a.one')).state, 'ready');
  assert.equal(hash(path), before);
  await assert.rejects(
    admin(place, 'restore', 'a.one'),
    /^Error: there is no deleted volume "a.one" that is kept$/,
  );
});

test('a store that is not there is not made', async t => {
  const place = await prepare(t);
  const store = join(place.images, 'other.sqlite');
  await assert.rejects(admin({ ...place, store }, 'audit'), /^Error: there is no store "/);
  assert.equal(existsSync(store), false);
});

const image = ['--store', '/s.sqlite', '--backend', 'image', '--image-dir', '/images'];
const faults: readonly { readonly argv: readonly string[]; readonly says: readonly string[] }[] = [
  { argv: [], says: ['unknown command ""; there are audit, restore'] },
  { argv: ['mend'], says: ['unknown command "mend"; there are audit, restore'] },
  { argv: ['--nope'], says: ['unknown flag --nope'] },
  { argv: ['restore'], says: ['restore needs the id of a volume'] },
  { argv: ['restore', '--yes'], says: ['restore needs the id of a volume'] },
  { argv: ['restore', 'a.b', '--yes'], says: ['restore knows no --yes'] },
  { argv: ['audit', '--yes'], says: ['--yes is for --repair'] },
  {
    argv: ['audit', '--repair', '--yes', '--dry-run'],
    says: ['--yes and --dry-run exclude each other'],
  },
  { argv: ['audit', '--nope'], says: ['unknown flag --nope'] },
  { argv: ['audit', 'x'], says: ['unexpected argument "x"'] },
];
for (const { argv, says } of faults)
  test(`"${argv.join(' ')}" is refused before anything is opened`, () => {
    const given = argv[0] === 'audit' || argv.length > 1 ? image : [];
    assert.deepEqual(readAdminConfig({ argv: [...argv, ...given], env: {} }).faults, says);
  });

test("the environment of a gateway is taken, and what is in a gateway's memory is not to be seen", () => {
  const env = {
    FAIRLEAD_LISTEN: '127.0.0.1:7700',
    FAIRLEAD_CLUSTERS_FILE: '/c.json',
    FAIRLEAD_STORE: '/s.sqlite',
    FAIRLEAD_KEEP_DELETED: '1h',
  };
  const read = (backend: object): unknown =>
    readAdminConfig({ argv: ['audit'], env: { ...env, ...backend } }).faults;
  assert.equal(read({ FAIRLEAD_BACKEND: 'image', FAIRLEAD_IMAGE_DIR: '/images' }), undefined);
  assert.deepEqual(read({ FAIRLEAD_BACKEND: 'memory' }), [
    '--backend: what is in memory only the gateway itself can see',
  ]);
});

function hash(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

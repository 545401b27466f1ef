import assert from 'node:assert/strict';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { backends } from '../../../../gateway/backends/index.ts';
import { commandProblem } from '../../../../gateway/local/files.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';
import { openPlugin } from '../../../harness/gateway/open-plugin.ts';
import { contentOf, idsOf, makeVolume, newVolume } from '../../../suites/backend-fixtures.ts';
import { testBackend } from '../../../suites/backend.ts';
import { createLocal } from './local.ts';

const mebibyte = 2 ** 20;
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
  '.owner',
  '.trash',
  '.trash/a.x',
  'drafts',
  'a.x\0',
  'a.x\n',
  'a.',
  '-rf',
  'a.-x',
  'a.../x',
  `a.${'x'.repeat(200)}`,
];

/** The backends with volumes in a directory, and the form of a volume there. */
const kinds = [
  {
    ...createLocal(backends.dir),
    name: 'dir',
    suffix: '',
    data: '/content',
    reach: 'bind',
    begin: (path: string) => mkdirSync(path),
  },
  {
    ...createLocal(backends.image),
    name: 'image',
    suffix: '.img',
    data: '',
    reach: 'loop',
    begin: (path: string) => writeFileSync(path, ''),
  },
] as const;

for (const { name, open, plugin, suffix, data, reach, begin } of kinds)
  describe(`the backend ${name}`, () => {
    test('volumes of a pool that was moved away or mounted over are not reported as deleted or lost', async t => {
      const { root, backend } = await open(t);
      const volume = await makeVolume(backend);
      renameSync(root, `${root}.moved`);
      for (const mountPoint of [false, true]) {
        if (mountPoint) mkdirSync(root);
        await assert.rejects(backend.delete(volume), { code: 'UNAVAILABLE' });
        await assert.rejects(backend.create(newVolume({ id: 'a.other' })), { code: 'UNAVAILABLE' });
        await assert.rejects(async () => backend.volumeHealth(volume), { code: 'UNAVAILABLE' });
        await assert.rejects(idsOf(backend), { code: 'UNAVAILABLE' });
        if (name === 'dir') await assert.rejects(backend.capacity(), { code: 'UNAVAILABLE' });
      }
      assert.deepEqual(readdirSync(root), []);
      rmdirSync(root);
      renameSync(`${root}.moved`, root);
      await backend.delete(volume);
    });

    testBackend(async t => {
      const { root, backend } = await open(t);
      return {
        backend,
        content: contentOf(id => join(root, `${id}${suffix}${data}`)),
        mutableParameters: { preallocate: 'true' },
      };
    });

    test("the capacity is the setting, or else the filesystem's capacity", async t => {
      const { backend } = await open(t, { capacity: '10Gi' });
      assert.deepEqual(await backend.capacity(), { totalBytes: 10 * 2 ** 30 });
      const whole = await open(t);
      assert.ok((await whole.backend.capacity()).totalBytes > 0);
    });

    test('a directory has one gateway at a time', async t => {
      const { backend, root } = await open(t);
      await assert.rejects(openPlugin(plugin, { dir: root }), { message: /is in use by a live process/ });
      await backend.close();
      await (await openPlugin(plugin, { dir: root })).close?.();
    });

    test('a missing directory is reported in one line', async t => {
      const dir = join(temporaryDirectory(t), 'none');
      const message = /^cannot use the .*directory "[^"]*\/none": there is no such directory$/;
      await assert.rejects(openPlugin(plugin, { dir }), { message });
    });

    test('no hostile id leads anywhere', async t => {
      const { backend, root, access } = await open(t);
      const refused = { code: 'INVALID_ARGUMENT' };
      const before = readdirSync(join(root, '..'), { recursive: true });
      for (const id of hostileIds) {
        const known = { id, sizeBytes: mebibyte, parameters: {} };
        await assert.rejects(backend.create(newVolume({ id })), refused, id);
        await assert.rejects(backend.delete({ id }), refused, id);
        await assert.rejects(async () => backend.attach(known, access), refused, id);
        await assert.rejects(async () => backend.volumeHealth(known), refused, id);
      }
      assert.deepEqual(readdirSync(join(root, '..'), { recursive: true }), before);
    });

    test('a link in place of a volume is neither used nor followed nor removed with its target', async t => {
      const { backend, root, access } = await open(t);
      const target = temporaryDirectory(t);
      writeFileSync(join(target, 'content'), 'data');
      symlinkSync(data === '' ? join(target, 'content') : target, join(root, `a.volume${suffix}`));
      const known = { id: 'a.volume', sizeBytes: mebibyte, parameters: {} };
      await assert.rejects(backend.create(newVolume()));
      await assert.rejects(backend.attach(known, access), { code: 'FAILED_PRECONDITION' });
      await assert.rejects(async () => backend.expand(known, { requiredBytes: 1, limitBytes: 0 }));
      assert.notDeepEqual(await backend.volumeHealth(known), []);
      await backend.delete(known).catch(() => undefined);
      assert.equal(readFileSync(join(target, 'content'), 'utf8'), 'data');
    });

    test('the remains of an unfinished create are completed, and data is left alone', async t => {
      const { backend, root } = await open(t);
      begin(join(root, `a.volume${suffix}`));
      assert.deepEqual(await backend.create(newVolume()), { sizeBytes: mebibyte });
      const other = join(root, `a.other${suffix}`);
      begin(other);
      writeFileSync(other + data, 'data');
      truncateSync(other + data, 4 * mebibyte);
      const smaller = newVolume({ id: 'a.other', limitBytes: 2 * mebibyte });
      await assert.rejects(backend.create(smaller), { code: 'ALREADY_EXISTS' });
      const left = readFileSync(other + data);
      assert.deepEqual([left.length, String(left.subarray(0, 4))], [4 * mebibyte, 'data']);
    });

    test('a volume is reached by its path unless it is missing', async t => {
      const { backend, root, access } = await open(t);
      const volume = await makeVolume(backend);
      const path = join(root, `a.volume${suffix}`);
      assert.deepEqual(await backend.attach(volume, access), { protocol: reach, path });
      await backend.delete(volume);
      await assert.rejects(backend.attach(volume, access), { code: 'FAILED_PRECONDITION' });
    });
  });

test('a failed command is reported with its last lines of output', () => {
  const stderr = "rm: odd\nrm: cannot remove '/a/b': Operation not permitted\n";
  const ended = { status: 1, stdout: '', stderr, timedOut: false };
  assert.equal(
    commandProblem('rm', 'remove "/a"', ended).detail,
    `cannot remove "/a": "rm" ended with status 1: rm: odd; rm: cannot remove '/a/b': Operation not permitted`,
  );
  assert.ok(commandProblem('rm', 'remove "/a"', { ...ended, stderr: 'x'.repeat(9_000) }).detail.length < 600);
});

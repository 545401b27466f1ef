import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { backends } from '../../../../gateway/backends/index.ts';
import { directoryOf, noRoot } from '../../../harness/machine.ts';
import { openPlugin } from '../../../harness/gateway/open-plugin.ts';
import { newVolume } from '../../../suites/backend-fixtures.ts';

test('a volume that is mounted completely or in part, or that contains a mount, is not deleted', async t => {
  if (noRoot !== false) return t.skip(noRoot);
  const directory = realpathSync(directoryOf(t));
  const [root, other] = [join(directory, 'root'), join(directory, 'other')];
  for (const path of [root, other]) mkdirSync(path);
  const backend = await openPlugin(backends.dir, { dir: root });
  t.after(() => backend.close?.());
  for (const id of ['a.volume', 'a.volume2']) await backend.create(newVolume({ id }));
  const volume = join(root, 'a.volume');
  mkdirSync(join(volume, 'inner'));
  const rows = [
    { source: volume, target: other },
    { source: join(volume, 'inner'), target: other },
    { source: other, target: join(volume, 'inner') },
  ];
  for (const { source, target } of rows) {
    execFileSync('mount', ['--bind', '--', source, target]);
    try {
      await assert.rejects(backend.delete({ id: 'a.volume' }), { code: 'FAILED_PRECONDITION' });
      await backend.delete({ id: 'a.volume2' });
    } finally {
      execFileSync('umount', ['--', target]);
    }
    assert.deepEqual(readdirSync(volume), ['inner']);
  }
  await backend.delete({ id: 'a.volume' });
  assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), []);
});

test("a volume's directory gets the owner, group and mode of the parameters, once", async t => {
  if (noRoot !== false) return t.skip(noRoot);
  const root = realpathSync(directoryOf(t));
  const backend = await openPlugin(backends.dir, { dir: root });
  t.after(() => backend.close?.());
  chmodSync(root, 0o755);
  const accessOf = (id: string) => {
    const { uid, gid, mode } = statSync(join(root, id));
    return [uid, gid, (mode & 0o7777).toString(8)];
  };
  const rows = [
    [{ uid: '1000', gid: '2000', mode: '2775' }, [1000, 2000, '2775']],
    [{ gid: '2000' }, [0, 2000, '770']],
    [{ mode: '0700' }, [0, 0, '700']],
  ] as const;
  for (const [index, [parameters, expected]] of rows.entries()) {
    const id = `a.volume${index}`;
    assert.deepEqual(backend.parameters.parse(parameters), parameters);
    await backend.create(newVolume({ id, parameters }));
    assert.deepEqual(accessOf(id), expected);
  }
  const file = join(root, 'a.volume0', 'file');
  execFileSync('setpriv', ['--reuid=1000', '--regid=1000', '--clear-groups', 'touch', file]);
  assert.equal(statSync(file).gid, 2000);
  // A pod has changed the owner since: a repeated create leaves it alone.
  chownSync(join(root, 'a.volume0'), 1001, 2000);
  await backend.create(newVolume({ id: 'a.volume0', parameters: rows[0][0] }));
  assert.deepEqual(accessOf('a.volume0'), [1001, 2000, '2775']);
});

test('a wrong owner, group or mode is refused by name', async t => {
  const backend = await openPlugin(backends.dir, { dir: realpathSync(directoryOf(t)) });
  t.after(() => backend.close?.());
  const rows = {
    uid: ['-1', 'root', '4294967295', '01', ''],
    gid: ['1.5'],
    mode: ['rwx', '770 ', '0o770', '4755', '999'],
  };
  for (const [name, values] of Object.entries(rows))
    for (const value of values) {
      const parsed = backend.parameters.safeParse({ [name]: value });
      assert.match(String(parsed.error), new RegExp(`"${name}"`), value);
    }
});

test('a gateway that is not root says that it cannot give a directory away', async t => {
  if (noRoot !== false) return t.skip(noRoot);
  const nobody = 65_534;
  const root = realpathSync(directoryOf(t));
  chownSync(root, nobody, nobody);
  const backend = await openPlugin(backends.dir, { dir: root });
  t.after(() => backend.close?.());
  process.seteuid?.(nobody);
  try {
    await assert.rejects(backend.create(newVolume({ id: 'a.volume', parameters: { uid: '1000' } })), {
      code: 'FAILED_PRECONDITION',
      detail: /the directory of volume "a\.volume" cannot get another owner: run the gateway as root/,
    });
  } finally {
    process.seteuid?.(0);
  }
});

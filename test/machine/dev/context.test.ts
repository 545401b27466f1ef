import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startDev } from '../../harness/dev.ts';
import { directoryOf, noRoot } from '../../harness/machine.ts';
import { cli } from '../../harness/program.ts';

test(
  'the command line works at once beside fairlead dev, whose context goes even if its gateway is killed',
  { skip: noRoot },
  async t => {
    const dir = directoryOf(t);
    const env = { ...process.env, XDG_CONFIG_HOME: join(dir, 'config') };
    const dev = await startDev(t, { dir: join(dir, 'dev'), context: 'dev' }, { env });
    const found = spawnSync(process.execPath, [cli, 'get', 'pools', '-o', 'name'], { encoding: 'utf8', env });
    assert.deepEqual([found.stdout, found.status], ['images\n', 0], found.stderr);
    // A dev whose gateway was killed ends by itself.
    spawnSync('pkill', ['-KILL', '--parent', String(dev.pid), '--full', ' gateway ']);
    assert.equal(await dev.ended, 1);
    assert.equal(dev.stderr(), 'fairlead dev: gateway ended by SIGKILL\n');
    const contexts = spawnSync(process.execPath, [cli, 'config', 'get-contexts', '-o', 'name'], { env });
    assert.deepEqual([String(contexts.stdout), contexts.status], ['', 0]);
  },
);

test(
  'a second dev writes a context of its own, and the end of each removes its own',
  { skip: noRoot },
  async t => {
    const dir = directoryOf(t);
    const env = { ...process.env, XDG_CONFIG_HOME: join(dir, 'config') };
    const start = (name: string) => startDev(t, { dir: join(dir, name), context: 'dev' }, { env });
    const contexts = (): unknown =>
      (JSON.parse(readFileSync(join(dir, 'config/fairlead/contexts.json'), 'utf8')) as { contexts: unknown })
        .contexts;
    const contextOf = (name: string, gateway: string) => ({
      gateway,
      'key-file': join(dir, name, 'operator.jwk.json'),
    });
    const first = await start('one');
    const second = await start('two');
    const sentence =
      'fairlead dev: the context "dev" belongs to another gateway, so this one has the context "dev-2"\n';
    assert.ok(second.stderr().includes(sentence), second.stderr());
    const ofSecond = { 'dev-2': contextOf('two', second.gateway) };
    assert.deepEqual(contexts(), { dev: contextOf('one', first.gateway), ...ofSecond });
    await first.end();
    assert.deepEqual(contexts(), ofSecond);
    await second.end();
    assert.deepEqual(contexts(), {});
  },
);

test('a demo with a directory that is not there says so at once', { skip: noRoot }, async t => {
  const missing = join(directoryOf(t), 'missing');
  const { status, stderr } = spawnSync(process.execPath, [cli, 'demo', '--dir', missing], {
    encoding: 'utf8',
  });
  assert.equal(status, 1);
  assert.match(stderr, /there is no directory "\S+missing": start fairlead dev --dir "\S+missing" first\n$/);
});

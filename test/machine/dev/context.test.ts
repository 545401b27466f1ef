import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { startDev } from '../../harness/dev.ts';
import { directoryOf, noRoot } from '../../harness/machine.ts';
import { cli } from '../../harness/program.ts';
import { waitForExit } from '../../harness/exit.ts';

test('the command line works at once beside fairlead dev', { skip: noRoot }, async t => {
  const dir = directoryOf(t);
  const env = { ...process.env, XDG_CONFIG_HOME: join(dir, 'config') };
  const dev = await startDev({ dir: join(dir, 'dev'), context: 'dev' }, { env });
  const found = spawnSync(process.execPath, [cli, 'get', 'pools', '-o', 'name'], { encoding: 'utf8', env });
  await dev.end();
  assert.deepEqual([found.stdout, found.status], ['images\n', 0], found.stderr);
});

test('a demo with a directory that is not there says so at once', { skip: noRoot }, async t => {
  const missing = join(directoryOf(t), 'missing');
  const { status, stderr } = spawnSync(process.execPath, [cli, 'demo', '--dir', missing], {
    encoding: 'utf8',
  });
  assert.equal(status, 1);
  assert.match(stderr, /there is no directory "\S+missing": start fairlead dev --dir "\S+missing" first\n$/);
});

for (const [signal, afterMs] of [
  ['SIGHUP', 500],
  ['SIGHUP', 2_500],
  ['SIGINT', 1_500],
] as const)
  test(`${signal} after ${afterMs} ms of the demo, sent twice, leaves nothing`, { skip: noRoot }, async t => {
    const place = join(directoryOf(t), 'tmp');
    mkdirSync(place);
    const env = { ...process.env, TMPDIR: place };
    const demo = spawn(process.execPath, [cli, 'demo'], { stdio: ['ignore', 'pipe', 'pipe'], env });
    t.after(() => demo.kill('SIGKILL'));
    // As when its terminal is closed, nobody reads any more.
    const errors = text(demo.stderr);
    await sleep(afterMs);
    if (signal === 'SIGHUP') demo.stdout.destroy();
    demo.kill(signal);
    await sleep(50);
    demo.kill(signal);
    await waitForExit(demo);
    assert.deepEqual(readdirSync(place), [], await errors);
  });

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { version } from '../../../src/lib/version.ts';
import { controllerSettings } from '../../../src/controller/config.ts';
import { exec, type ExecResult } from '../../../src/lib/exec.ts';

const cli = fileURLToPath(new URL('../../../src/fairlead.mjs', import.meta.url));
const commands = ['gateway', 'controller', 'node', 'admin', 'dev', 'demo'];
const withSettings = ['gateway', 'controller', 'node', 'admin audit', 'admin restore', 'dev', 'demo'];

function fairlead(argv: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<ExecResult> {
  const variables = Object.entries({ PATH: process.env['PATH'], ...env }).map(pair => pair.join('='));
  return exec('env', ['-i', ...variables, process.execPath, cli, ...argv], { timeoutMs: 30_000 });
}

for (const argv of [['--help'], ['-h'], ['help']]) {
  test(`${argv.join('')} tells all commands on standard output, with status 0`, async () => {
    const { status, stdout, stderr } = await fairlead(argv);
    assert.deepEqual([status, stderr], [0, '']);
    for (const command of commands) assert.match(stdout, new RegExp(`^ {2}${command} `, 'm'));
  });
}

test('without a command the same help is shown, with status 1', async () => {
  const { status, stdout } = await fairlead([]);
  assert.equal(status, 1);
  assert.equal(stdout, (await fairlead(['--help'])).stdout);
});

test('--version tells the version that CSI tells too', async () => {
  const { status, stdout } = await fairlead(['--version']);
  assert.deepEqual([status, stdout], [0, `${version}\n`]);
});

test('the help of the controller tells every setting, with status 0', async () => {
  const { status, stdout, stderr } = await fairlead(['controller', '--help']);
  assert.deepEqual([status, stderr], [0, '']);
  for (const name of Object.keys(controllerSettings)) assert.ok(stdout.includes(`--${name}\n`), name);
  assert.match(stdout, /CSI_ENDPOINT/);
});

for (const command of withSettings) {
  test(`the help of ${command} needs nothing else, and a flag that it does not know is a fault`, async () => {
    assert.equal((await fairlead([...command.split(' '), '--help'])).status, 0);
    const { status, stdout, stderr } = await fairlead([...command.split(' '), '--nope']);
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, new RegExp(`^fairlead ${command}: unknown flag --nope`, 'm'));
  });
}

for (const name of ['xyzzy', 'toString', '--xyzzy', '']) {
  test(`the command "${name}" is unknown, and the error tells which there are`, async () => {
    const { status, stdout, stderr } = await fairlead([name]);
    assert.deepEqual([status, stdout], [1, '']);
    assert.equal(stderr, `fairlead: unknown command "${name}"; there are ${commands.join(', ')}\n`);
  });
}

test('a mistyped command is told with the one that is likely to be meant', async () => {
  const { stderr } = await fairlead(['contoller']);
  assert.match(stderr, /^fairlead: unknown command "contoller"; did you mean "controller"\?; there are /);
});

test('several faults are told together, one a line, before any socket is made', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-cli-'));
  t.after(() => rm(dir, { recursive: true }));
  const socketPath = join(dir, 'csi.sock');
  const argv = [
    'controller',
    '--endpoint',
    socketPath,
    '--cluster',
    'A',
    '--gateway',
    'nowhere',
    '--token-lifetime',
    '2h',
    '--nope',
  ];
  const { status, stdout, stderr } = await fairlead(argv, { FAIRLEAD_NOPE: '1' });
  assert.deepEqual([status, stdout], [1, '']);
  assert.deepEqual(
    stderr
      .trimEnd()
      .split('\n')
      .map(line => /^fairlead controller: (\S+ \S+)/.exec(line)?.[1]),
    [
      'unknown flag',
      'unknown variable',
      '--gateway: "nowhere"',
      '--cluster: "A"',
      '--key-file is',
      '--token-lifetime: "2h"',
    ],
  );
  assert.equal(existsSync(socketPath), false);
});

test('a controller that cannot start is one line and status 1', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-cli-'));
  t.after(() => rm(dir, { recursive: true }));
  const argv = [
    'controller',
    '--endpoint',
    join(dir, 'csi.sock'),
    '--cluster',
    'a',
    '--gateway',
    'http://127.0.0.1:1',
  ];
  const { status, stdout, stderr } = await fairlead([...argv, '--key-file', join(dir, 'key')]);
  assert.deepEqual([status, stdout], [1, '']);
  assert.equal(stderr, `fairlead controller: key file "${join(dir, 'key')}" cannot be read (ENOENT)\n`);
});

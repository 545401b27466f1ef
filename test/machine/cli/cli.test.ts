import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commands as table } from '../../../src/cli/commands.ts';
import { version } from '../../../src/lib/version.ts';
import { exec, type ExecResult } from '../../../src/lib/exec.ts';
import { cli } from '../../harness/program.ts';
import { sample } from '../../harness/sample.ts';
import { temporaryDirectory } from '../../harness/temporary.ts';

const commands = Object.keys(table);
const withSettings = [
  'gateway',
  'controller',
  'node',
  'get volumes',
  'describe volume',
  'explain',
  'top',
  'config set-context',
  'completion bash',
  'admin check',
  'admin restore',
  'enroll',
  'init vendor',
  'verify',
  'dev',
  'demo',
];

function fairlead(argv: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<ExecResult> {
  const variables = Object.entries({ PATH: process.env['PATH'], ...env }).map(pair => pair.join('='));
  return exec('env', ['-i', ...variables, process.execPath, cli, ...argv], { timeoutMs: 30_000 });
}

for (const [argv, expected] of [
  [['--help'], 0],
  [['-h'], 0],
  [['help'], 0],
  [[], 1],
] as const)
  test(`"${argv.join('')}" lists all commands on standard output, with status ${expected}`, async () => {
    const { status, stdout, stderr } = await fairlead(argv);
    assert.deepEqual([status, stderr], [expected, '']);
    for (const command of commands) assert.match(stdout, new RegExp(`^ {2}${command} `, 'm'));
  });

test('--version prints the version that CSI reports', async () => {
  const { status, stdout } = await fairlead(['--version']);
  assert.deepEqual([status, stdout], [0, `${version}\n`]);
});

for (const command of sample('help', withSettings, 5))
  test(`the help of ${command} needs no settings, and an unknown flag is an error`, async () => {
    const help = await fairlead([...command.split(' '), '--help']);
    assert.deepEqual([help.status, help.stderr], [0, '']);
    const { status, stdout, stderr } = await fairlead([...command.split(' '), '--nope']);
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, new RegExp(`^fairlead ${command}: unknown flag --nope`, 'm'));
  });

for (const [name, hint] of [
  ['xyzzy', ''],
  ['toString', ''],
  ['--xyzzy', ''],
  ['', ''],
  ['contoller', ' (did you mean "controller"?)'],
] as const)
  test(`the command "${name}" is unknown, and the error lists the known ones`, async () => {
    const { status, stdout, stderr } = await fairlead([name]);
    assert.deepEqual([status, stdout], [1, '']);
    assert.equal(
      stderr,
      `fairlead: unknown command "${name}"${hint}; the commands are ${commands.join(', ')}\n`,
    );
  });

test('all errors are reported, one a line, before any socket is made, and a failed start prints one line', async t => {
  const dir = temporaryDirectory(t);
  const [socketPath, key] = [join(dir, 'csi.sock'), join(dir, 'key')];
  const start = (flags: string, env?: NodeJS.ProcessEnv): Promise<ExecResult> =>
    fairlead(['controller', '--endpoint', socketPath, ...flags.split(' ')], env);
  const bad = await start('--cluster A --gateway nowhere --token-lifetime 2h --nope', { FAIRLEAD_NOPE: '1' });
  assert.deepEqual([bad.status, bad.stdout], [1, '']);
  const lines = bad.stderr.trimEnd().split('\n');
  assert.deepEqual(
    lines.map(line => /^fairlead controller: (\S+ \S+)/.exec(line)?.[1]),
    ['unknown flag', 'unknown variable', '--gateway: "nowhere"', '--cluster: "A"', '--token-lifetime: "2h"'],
  );
  const { status, stdout, stderr } = await start(
    `--cluster a --gateway http://127.0.0.1:1 --key-file ${key}`,
  );
  assert.deepEqual([status, stdout], [1, '']);
  assert.equal(
    stderr,
    `fairlead controller: key file "${key}" cannot be read: it does not exist, or its directory does not\n`,
  );
  assert.equal(existsSync(socketPath), false);
});

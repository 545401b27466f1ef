import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { text } from 'node:stream/consumers';
import { poll } from '../../../src/lib/concurrency.ts';
import { endProcess, waitForExit } from '../../harness/exit.ts';
import { directoryOf, loopDevicesOf, mountsBelow, noRoot } from '../../harness/machine.ts';
import { cli } from '../../harness/program.ts';
import { sample } from '../../harness/sample.ts';
import { stackOf } from '../../harness/temporary.ts';

const dev = ['dev', '--log-level', 'error', '--context', 'none', '--dir'];

/** Programs of a command that are held before they start, and the signal meanwhile. */
const heldStarts = [
  { command: 'demo', held: 'dev', signal: 'SIGHUP' },
  { command: 'demo', held: 'gateway', signal: 'SIGINT' },
  { command: 'demo', held: 'controller', signal: 'SIGTERM' },
  { command: 'demo', held: 'node', signal: 'SIGINT' },
  { command: 'dev', held: 'gateway', signal: 'SIGINT' },
  { command: 'dev', held: 'controller', signal: 'SIGHUP' },
  { command: 'dev', held: 'node', signal: 'SIGTERM' },
] as const;
for (const { command, held, signal } of sample('held', heldStarts, 2))
  test(
    `${signal} while the ${held} of ${command} starts ends all programs, and ${command} last`,
    { skip: noRoot },
    async t => {
      const place = placeOf(t);
      const pidFile = join(place, '..', 'pid');
      const argv = command === 'demo' ? ['demo'] : [...dev, join(place, 'dev')];
      const [child, errors] = start(t, argv, holding(place, held, pidFile));
      const output = text(child.stdout ?? assert.fail());
      const pid = await until(async () =>
        (child.exitCode ?? child.signalCode) === null
          ? isStopped(pidFile)
          : assert.fail(`${command} ended before its ${held} started: ${await errors}`),
      );
      child.kill(signal);
      await until(() => isPending(pid, 'SIGTERM') || undefined);
      // A repeated signal changes nothing.
      child.kill(signal);
      process.kill(pid, 'SIGCONT');
      assert.equal(await waitForExit(child), 1);
      assert.match(await output, command === 'demo' ? /^[^✓]*$/ : /^$/);
      const [last] = (await errors).split('\n').slice(-2);
      if (command === 'demo') assert.equal(last, `fairlead demo: interrupted by ${signal}`);
      assertNothingLeft(place, command === 'demo' ? [] : ['dev']);
    },
  );

test('SIGINT while dev waits for another one ends it, and the other one stays', { skip: noRoot }, async t => {
  const place = placeOf(t);
  const argv = [...dev, join(place, 'dev')];
  const [first] = start(t, argv);
  await firstLineOf(first, /gateway/);
  const [second, errors] = start(t, argv);
  await new Promise(resolve => second.stderr?.once('data', resolve));
  second.kill('SIGINT');
  assert.equal(await waitForExit(second), 1);
  assert.match(await errors, /^fairlead dev: waiting for another fairlead dev in "\S+" to end \(\d+ s\)\n$/);
  first.kill('SIGINT');
  assert.equal(await waitForExit(first), 0);
  assertNothingLeft(place, ['dev']);
});

test('SIGINT while the demo waits for a dev that is not there ends the wait', { skip: noRoot }, async t => {
  const place = placeOf(t);
  const dir = join(place, 'dev');
  mkdirSync(dir);
  const [demo, errors] = start(t, ['demo', '--dir', dir], { TMPDIR: place });
  await new Promise(resolve => demo.stderr?.once('data', resolve));
  demo.kill('SIGINT');
  await firstLineOf(demo, /✗ probe both/);
  let connections = 0;
  for (const name of ['controller.sock', 'node.sock']) {
    const server = createServer(() => connections++).listen(join(dir, name));
    stackOf(t).defer(() => void server.close());
  }
  assert.equal(await waitForExit(demo), 1);
  assert.equal(connections, 0);
  assert.match(await errors, /\nfairlead demo: interrupted by SIGINT\n$/);
  assertNothingLeft(place, ['dev']);
});

/** Signals, each with the line of the demo that it follows. */
const interrupts = [
  ['SIGINT', /start gateway/],
  ['SIGHUP', /probe both/],
  ['SIGTERM', /CreateVolume/],
  ['SIGHUP', /ControllerPublishVolume/],
  ['SIGINT', /NodeStageVolume/],
  ['SIGTERM', /NodePublishVolume/],
  ['SIGHUP', /write and fsync/],
  ['SIGINT', /NodeUnstageVolume/],
] as const;
for (const [signal, line] of sample('lines', interrupts, 3))
  test(
    `${signal} after the demo's line ${String(line)}, sent twice, leaves nothing`,
    { skip: noRoot },
    async t => {
      const place = placeOf(t);
      const [demo, errors] = start(t, ['demo'], { TMPDIR: place });
      await firstLineOf(demo, line);
      // As when its terminal is closed, nobody reads any more.
      if (signal === 'SIGHUP') demo.stdout?.destroy();
      demo.kill(signal);
      // The kernel merges a signal with an equal one that is pending.
      await until(() => !isPending(Number(demo.pid), signal) || undefined);
      demo.kill(signal);
      assert.equal(await waitForExit(demo), 1);
      assert.ok((await errors).endsWith(`fairlead demo: interrupted by ${signal}\n`), await errors);
      assertNothingLeft(place, []);
    },
  );

/** Makes the directory for temporary files of the programs under test, which end with the test even if it fails. */
function placeOf(t: TestContext): string {
  const dir = directoryOf(t);
  stackOf(t).defer(() => void spawnSync('kill', ['-KILL', ...processesOf(dir)]));
  const place = join(dir, 'tmp');
  mkdirSync(place);
  return place;
}

/** Starts a command with temporary files in `place`. Returns the process and, once it has ended, its standard error. */
function start(
  t: TestContext,
  argv: readonly string[],
  variables: NodeJS.ProcessEnv = {},
): readonly [ChildProcess, Promise<string>] {
  const env = { ...process.env, ...variables };
  const child = spawn(process.execPath, [cli, ...argv], { stdio: ['ignore', 'pipe', 'pipe'], env });
  stackOf(t).defer(() => endProcess(child));
  return [child, text(child.stderr)];
}

/** Makes variables with which the program `held` writes its process id into a file and stops itself before it starts. */
function holding(place: string, held: string, pidFile: string): NodeJS.ProcessEnv {
  const file = join(place, '..', 'hold.mjs');
  writeFileSync(
    file,
    `if (process.argv[2] === ${JSON.stringify(held)}) {
      process.getBuiltinModule('fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));
      process.kill(process.pid, 'SIGSTOP');
    }`,
  );
  return { TMPDIR: place, NODE_OPTIONS: `--import=${file}` };
}

/** Returns the process id in the file once that process is stopped. */
function isStopped(pidFile: string): number | undefined {
  const pid = Number(readdirSync(join(pidFile, '..')).includes('pid') && readFileSync(pidFile, 'utf8'));
  return pid > 0 && /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')) ? pid : undefined;
}

/** Says whether a process has yet to receive the signal. One that has ended never will. */
function isPending(pid: number, signal: NodeJS.Signals): boolean {
  const [, mask = '0'] = /^ShdPnd:\s+(\w+)$/m.exec(readProcess(pid, 'status')) ?? [];
  return ((BigInt(`0x${mask}`) >> BigInt(constants.signals[signal] - 1)) & 1n) === 1n;
}

async function until<T extends number | true>(
  look: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  return (
    (await poll(look, { everyMs: 10, timeoutMs: 300_000 })) ??
    assert.fail('it did not happen within five minutes')
  );
}

/** Waits for a line on standard output. */
async function firstLineOf(child: ChildProcess, pattern: RegExp): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  createInterface({ input: child.stdout ?? assert.fail() })
    .on('line', line => pattern.test(line) && resolve())
    .on('close', () => reject(new Error(`no line ${String(pattern)}`)));
  await promise;
}

/** Fails for a process, a mount or a loop device of a program with files in `place`, and for files there besides `kept`. */
function assertNothingLeft(place: string, kept: readonly string[]): void {
  assert.deepEqual(readdirSync(place), kept);
  assert.deepEqual(mountsBelow(place), []);
  assert.deepEqual(loopDevicesOf(place), []);
  assert.deepEqual(processesOf(place), []);
}

/** Lists the processes whose arguments name the directory. */
function processesOf(dir: string): readonly string[] {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name));
  return pids.filter(pid => readProcess(pid, 'cmdline').includes(dir));
}

/** Reads a file of a process; empty when the process has ended. */
function readProcess(pid: number | string, file: 'status' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

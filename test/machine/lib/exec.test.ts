import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { poll } from '../../../src/lib/concurrency.ts';
import { countAbandoned, exec, failureText, type ExecResult } from '../../../src/lib/exec.ts';

const timeoutMs = 10_000;

const outcomes: readonly (readonly [
  name: string,
  command: readonly string[],
  result: Partial<ExecResult>,
])[] = [
  ['succeeds', ['echo', 'hello'], { status: 0, stdout: 'hello\n', stderr: '' }],
  ['fails', ['sh', '-c', 'echo why >&2; exit 3'], { status: 3, stdout: '', stderr: 'why\n' }],
  ['a signal ended', ['sh', '-c', 'kill -9 $$'], { status: undefined, timedOut: false }],
  ['is not installed', ['no-such-command-fairlead'], { status: undefined, fault: 'ENOENT' }],
  ['may not be run', ['/etc'], { status: undefined, fault: 'EACCES' }],
  ['no command line can hold', ['echo', 'a\0b'], { status: undefined, fault: 'EINVAL' }],
  ['closes its output and goes on', ['sh', '-c', 'exec >&- 2>&-; sleep 0.3; exit 4'], { status: 4 }],
];
for (const [name, [command = '', ...args], result] of outcomes)
  test(`the result of a command that ${name}`, async () =>
    assert.partialDeepStrictEqual(await exec(command, args, { timeoutMs }), result));

const complaints = [
  [
    'resize2fs 1.47.0 (5-Feb-2023)\nresize2fs: Too many inodes\nRun e2fsck first.\n',
    'resize2fs: Too many inodes; Run e2fsck first.',
  ],
  ['mke2fs 1.47.0 (5-Feb-2023)\n', ''],
  [
    'Filesystem must be larger than 300MB.\nUsage: mkfs.xfs\n/* blocksize */ [-b size=num]\n',
    'Filesystem must be larger than 300MB.',
  ],
  ['Usage: tool\n', 'Usage: tool'],
  ['1\n2\n3\n4\n5\n6\r\n\n', '2; 3; 4; 5; 6'],
  ['', ''],
] as const;
for (const [output, text] of complaints)
  test(`the failure of a tool that printed ${JSON.stringify(output)} reads ${JSON.stringify(text)}`, () =>
    assert.equal(failureText(output), text));

test('the end of a long error output and the beginning of a long output are kept', async () => {
  const { stdout, stderr } = await exec('sh', ['-c', 'seq 100000; seq 100000 >&2'], { timeoutMs });
  assert.equal(stdout.split('\n', 1)[0], '1');
  assert.equal(failureText(stderr), '99996; 99997; 99998; 99999; 100000');
});

test('arguments are not interpreted by a shell', async () => {
  const args = ['$(id)', '`id`', ';id', '|id', '*', '"', "'", '\\', '\n', '$HOME'];
  const { stdout } = await exec('printf', ['%s\\0', ...args], { timeoutMs });
  assert.deepEqual(stdout.split('\0').slice(0, -1), args);
});

test('standard input is the given text, or empty', async () => {
  assert.equal((await exec('cat', [], { timeoutMs, stdin: 'secret' })).stdout, 'secret');
  assert.equal((await exec('cat', [], { timeoutMs })).stdout, '');
  // Not reading standard input is no failure.
  assert.equal((await exec('true', [], { timeoutMs, stdin: 'x'.repeat(1_000_000) })).status, 0);
});

test('standard error alone is returned for a command without output', async () => {
  const result = await exec('sh', ['-c', 'echo out; echo error >&2'], { timeoutMs: 10_000, mute: true });
  assert.deepEqual(result, { status: 0, stdout: '', stderr: 'error\n', timedOut: false });
});

test("the environment is this process's without a locale, and mount follows a link to an open file", async () => {
  const { stdout } = await exec('/usr/bin/env', [], { timeoutMs });
  const expected = { ...process.env, LC_ALL: 'C', LIBMOUNT_FORCE_MOUNT2: 'always' };
  const lines = Object.entries(expected).map(([key, value]) => `${key}=${value}`);
  assert.deepEqual(stdout.trimEnd().split('\n').toSorted(), lines.toSorted());
});

test('a command has no open file of this process, no blocked signal and no ignored signal', async () => {
  const { stdout } = await exec('ls', ['/proc/self/fd'], { timeoutMs });
  // The last descriptor is the directory that the command reads.
  assert.deepEqual(stdout.trim().split('\n').toSorted(), ['0', '1', '2', '3', ...inherited()].toSorted());
  const signals = await exec('grep', ['-E', '^Sig(Blk|Ign)', '/proc/self/status'], { timeoutMs });
  assert.equal(signals.stdout, 'SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n');
});

test('a command leads its own session and process group', async () => {
  const { stdout } = await exec('sh', ['-c', 'cut -d" " -f1,5,6 "/proc/$$/stat"; echo $$'], { timeoutMs });
  const [ids, pid] = stdout.trimEnd().split('\n');
  assert.equal(ids, `${pid} ${pid} ${pid}`);
});

test('no command leaves an open file or a dead process behind', async () => {
  await exec('true', [], { timeoutMs });
  const before = countOpen();
  for (let round = 0; round < 20; round++) {
    await exec('cat', [], { timeoutMs, stdin: 'x' });
    await exec('no-such-command-fairlead', [], { timeoutMs, stdin: 'x' });
  }
  // The pipes of a command that could not be started close a little after the error.
  await poll(() => countOpen() <= before || undefined, { everyMs: 10, timeoutMs });
  assert.equal(countOpen(), before);
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8');
  assert.equal(children.trim(), '');
});

test('at most 64 KiB of each stream are returned, and the command still ends', async () => {
  const source = 'process.stdout.write("x".repeat(1e6)); process.stderr.write("y".repeat(1e6))';
  const { status, stdout, stderr } = await exec(process.execPath, ['-e', source], { timeoutMs });
  assert.deepEqual([status, stdout.length, stderr.length], [0, 65_536, 65_536]);
});

test('the command and its grandchildren are killed at the deadline', async () => {
  const source = 'sh -c "echo \\$\\$; exec sleep 600" & echo $$; sleep 600';
  const { status, timedOut, stdout } = await exec('sh', ['-c', source], { timeoutMs: 500 });
  assert.deepEqual({ status, timedOut }, { status: undefined, timedOut: true });
  const pids = stdout.trim().split('\n').map(Number);
  assert.equal(pids.length, 2);
  for (const pid of pids) assert.ok(await isGone(pid), `process ${pid} is still there`);
});

test('a grandchild outside the group that keeps the output open does not delay the result', async () => {
  const source = 'setsid sh -c "echo \\$\\$; exec sleep 600" & wait';
  const { timedOut, stdout } = await exec('sh', ['-c', source], { timeoutMs: 500 });
  assert.equal(timedOut, true);
  assert.equal(countAbandoned(), 0, 'a dead command counts as stuck');
  process.kill(Number(stdout.trim()), 'SIGKILL');
});

/**
 * A script that takes all descriptors but a few, tries to start commands, releases them, and prints how many are open
 * then.
 */
const shortage = `
  const { closeSync, openSync, readdirSync } = require('node:fs');
  (async () => {
    const { exec } = await import(process.argv[1]);
    const count = () => readdirSync('/proc/self/fd').length;
    const run = () => exec('echo', ['x'], { timeoutMs: 20_000, stdin: '' });
    await run();
    const before = count();
    const faults = [];
    for (let tries = 0; tries < 20; tries++) {
      const taken = [];
      try {
        for (;;) taken.push(openSync('/dev/null', 'r'));
      } catch {}
      for (const descriptor of taken.splice(0, 6)) closeSync(descriptor);
      faults.push((await run()).fault);
      for (const descriptor of taken) closeSync(descriptor);
    }
    console.log(JSON.stringify({ faults, lost: count() - before, status: (await run()).status }));
  })();`;

test('commands that cannot start without free descriptors do not use up the remaining ones', async () => {
  const path = fileURLToPath(new URL('../../../src/lib/exec.ts', import.meta.url));
  const args = ['-c', 'ulimit -n 80 && exec "$0" -e "$1" "$2"', process.execPath, shortage, path];
  const { stdout, stderr } = await exec('sh', args, { timeoutMs: 120_000 });
  assert.match(stdout, /^\{/, stderr);
  const { faults, lost, status } = JSON.parse(stdout) as { faults: string[]; lost: number; status: number };
  assert.deepEqual(new Set(faults), new Set(['EMFILE']));
  assert.ok(lost <= 3, `${lost} are lost`);
  assert.equal(status, 0);
});

function countOpen(): number {
  return readdirSync('/proc/self/fd').length;
}

/** Lists the descriptors that the starter of this process leaves open for its children. */
function inherited(): readonly string[] {
  return readdirSync('/proc/self/fd').filter(
    descriptor => Number(descriptor) > 2 && existsSync(`/proc/self/fd/${descriptor}`) && isKept(descriptor),
  );
}

function isKept(descriptor: string): boolean {
  const flags = /^flags:\t(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1];
  return (Number.parseInt(flags ?? '', 8) & 0o2000000) === 0;
}

/** Resolves once a process is gone or a zombie; a killed process may take a moment. */
function isGone(pid: number): Promise<true | undefined> {
  const look = async () => {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    return stat === '' || /\) [ZX] /.test(stat) || undefined;
  };
  return poll(look, { everyMs: 10, timeoutMs });
}

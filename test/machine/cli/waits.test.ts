import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { poll } from '../../../src/lib/concurrency.ts';
import { waitForExit } from '../../harness/exit.ts';
import { listen } from '../../harness/listen.ts';
import { temporaryDirectory } from '../../harness/gateway/gateway.ts';
import { cli } from '../../harness/program.ts';

const checkout = fileURLToPath(new URL('../../..', import.meta.url));
/** Begins a step, and keeps its thread busy until the notice is in the file, as a build does with its commands. */
const busy = `
  import { readFileSync } from 'node:fs';
  import { openSteps } from '${checkout}src/lib/words/steps.ts';
  await using steps = openSteps(3);
  steps.begin('the first');
  spinUntil('the first');
  steps.begin('the second');
  steps.count(4, 9, 'packages');
  spinUntil('the second');
  function spinUntil(said) {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    for (let tries = 0; tries < 2_000 && !readFileSync(process.env.LOG, 'utf8').includes(said); tries++)
      Atomics.wait(cell, 0, 0, 20);
  }
`;

test('steps of work that keeps its thread busy are announced at their start', async t => {
  const { log, run } = open(t);
  assert.equal(await run(process.execPath, ['--input-type=module', '--eval', busy]), 0);
  assert.match(
    readFileSync(log, 'utf8'),
    /^waiting for the first: 1 of 3 steps \(\d+ s\)\nwaiting for the second: (2 of 3 steps|4 of 9 packages) \(\d+ s\)\n$/,
  );
});

test('work that fails before its first step ends', async t => {
  const { log, run } = open(t);
  const failing = `
    import { openSteps } from '${checkout}src/lib/words/steps.ts';
    await using steps = openSteps(1);
    throw new Error('this fault');`;
  assert.equal(await run(process.execPath, ['--input-type=module', '--eval', failing]), 1);
  assert.match(readFileSync(log, 'utf8'), /Error: this fault/);
});

test('on a terminal steps have a bar, which is gone at the end', async t => {
  const { log, run, dir } = open(t);
  writeFileSync(join(dir, 'busy.mjs'), busy);
  const command = `'${process.execPath}' '${join(dir, 'busy.mjs')}'`;
  assert.equal(await run('script', ['--quiet', '--flush', '--return', '--command', command, log]), 0);
  const shown = readFileSync(log, 'utf8');
  assert.ok(
    shown.includes('\u001B[1G\u001B[2K[#######-------------] waiting for the first: 1 of 3 steps'),
    shown,
  );
  assert.match(shown.replaceAll('\u001B', '<'), /<\[1G<\[2K\s*(Script done.*\s*)?$/);
});

test('admin backup-store says that it waits for the copy', async t => {
  const { run, dir, untilSaid } = open(t);
  const store = join(dir, 'store');
  // Opening it takes until somebody writes to it.
  execFileSync('mkfifo', [store]);
  const ended = run(process.execPath, [
    cli,
    'admin',
    'backup-store',
    '--from',
    store,
    '--to',
    join(dir, 'copy'),
  ]);
  await untilSaid(new RegExp(`^waiting for the copy of "${store}": 1 of 2 steps \\(\\d+ s\\)\n`));
  // Opened for both, which does not wait for a reader that has ended.
  closeSync(openSync(store, constants.O_RDWR));
  assert.equal(await ended, 1);
});

test("verify says that it waits for the vendor's answer, and then for each check that takes long", async t => {
  const { run, untilSaid } = open(t);
  let answer: (() => void) | undefined;
  const server = createServer((_request, response) => {
    answer = () => void response.writeHead(401).end();
  });
  const url = `http://${await listen(t, server)}`;
  const ended = run(process.execPath, [cli, 'verify', url]);
  await untilSaid(new RegExp(`^fairlead: waiting for answers of "${url}/" \\(\\d+ s\\)\n`));
  answer?.();
  assert.equal(await ended, 1);
});

for (const [title, file, args, notice] of [
  [
    'npm run image',
    'deploy/image/build.ts',
    ['--out'],
    /^waiting for the download of Debian's packages: 1 of 8 steps/,
  ],
  [
    'the build of npm run test:kubernetes',
    'test/kubernetes/build/main.ts',
    [],
    /^waiting for the build of debian for the test clusters: 1 of \d steps/,
  ],
] as const)
  test(`${title} says which step it waits for`, async t => {
    const { run, dir, log, untilSaid } = open(t);
    // Stands for a download that takes long, and then fails.
    const script = `#!/bin/sh\nfor i in $(seq 2400); do grep -q 'waiting for' "$LOG" && break; sleep 0.05; done\nexit 7\n`;
    writeFileSync(join(dir, 'apt-get'), script, { mode: 0o755 });
    const ended = run(process.execPath, [join(checkout, file), ...args, ...args.map(() => join(dir, 'out'))]);
    await untilSaid(notice);
    assert.equal(await ended, 1, readFileSync(log, 'utf8'));
  });

/** Makes a directory, whose programs come first, and a file for the standard error of commands. */
function open(t: TestContext) {
  const dir = temporaryDirectory(t);
  const log = join(dir, 'log');
  writeFileSync(log, '');
  const said = (): string => readFileSync(log, 'utf8');
  return {
    dir,
    log,
    async untilSaid(pattern: RegExp): Promise<void> {
      const isSaid = () => pattern.test(said()) || undefined;
      assert.ok(await poll(isSaid, { everyMs: 50, timeoutMs: 120_000 }), said());
    },
    /** Runs a command, and returns its exit status. */
    async run(command: string, args: readonly string[]): Promise<unknown> {
      const stderr = openSync(log, 'a');
      const env = {
        ...process.env,
        LOG: log,
        PATH: `${dir}:${process.env['PATH']}`,
        KUBERNETES_BIN_DIR: join(dir, 'kubernetes'),
      };
      const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', stderr] });
      closeSync(stderr);
      t.after(() => child.kill('SIGKILL'));
      return waitForExit(child);
    },
  };
}

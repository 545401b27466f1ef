import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { poll } from '../../../src/lib/concurrency.ts';
import { waitForExit } from '../../harness/exit.ts';
import { listen } from '../../harness/listen.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { cli } from '../../harness/program.ts';

const checkout = fileURLToPath(new URL('../../..', import.meta.url));
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
  ['npm run image', 'deploy/image/build.ts', ['--out'], /^1 of 8: the download of Debian's packages\n/],
  [
    'the build of npm run test:kubernetes',
    'test/kubernetes/build/main.ts',
    [],
    /^1 of \d: the build of debian for the test clusters\n/,
  ],
] as const)
  test(`${title} says at its start which step begins`, async t => {
    const { run, dir, log, untilSaid } = open(t);
    // Stands for a download that takes long, and then fails.
    const script = `#!/bin/sh\nfor i in $(seq 2400); do grep -q '1 of ' "$LOG" && break; sleep 0.05; done\nexit 7\n`;
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

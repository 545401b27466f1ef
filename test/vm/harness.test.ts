import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { whyNoMachine } from './packages.ts';

const program = fileURLToPath(new URL('broken/run.ts', import.meta.url));
const reason = whyNoMachine();
const options = reason === undefined ? {} : { skip: reason };

for (const { name, says } of [
  { name: 'panic', says: /told of 0 tests and ended:[^]*Kernel panic/ },
  { name: 'hang', says: /told of 0 tests and ended:[^]*was ended after 60000 ms of silence/ },
])
  test(
    `a broken machine is a failure that shows its console, and leaves nothing: ${name}`,
    options,
    async t => {
      const directory = mkdtempSync(join(tmpdir(), 'vm-harness-'));
      t.after(() => rmSync(directory, { recursive: true }));
      const { status, output } = await run(name, directory);
      assert.equal(status, 1, output);
      assert.match(output, says);
      assert.deepEqual(readdirSync(directory), []);
    },
  );

/** Runs a program outside of the test runner. */
function run(
  name: string,
  directory: string,
): Promise<{ readonly status: unknown; readonly output: string }> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return new Promise(resolve => {
    execFile(
      process.execPath,
      [program, name],
      { env: { ...env, TMPDIR: directory } },
      (error, stdout, stderr) =>
        resolve({ status: error === null ? 0 : error.code, output: stdout + stderr }),
    );
  });
}

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';
import { readGuide, toShell } from '../../../docs/guides/guide.ts';
import { openNpm } from '../../fakes/registry.ts';
import { directoryOf } from '../../harness/dev.ts';
import { freePort, testAsRoot } from '../../harness/machine.ts';
import { waitForExit } from '../../harness/exit.ts';

testAsRoot("the vendor's guide goes from nothing to a volume on the vendor's storage", async t => {
  const dir = directoryOf(t);
  const steps = readGuide('docs/guides/vendor.md', { '/srv': dir, '8080': String(await freePort()) });
  const { env } = await openNpm(t);
  writeInstalled(join(dir, 'bin'), env['PATH'] ?? '');
  const script = steps.map(toShell).join('\n');
  const output = await run(t, script, { ...env, PATH: [join(dir, 'bin'), env['PATH']].join(delimiter) });
  assert.match(output, /Proved: /);
});

/** Links the packages that `npm ci` has installed; installing them again would remove them while other tests run. */
function writeInstalled(directory: string, path: string): void {
  mkdirSync(directory);
  const npm = join(directory, 'npm');
  writeFileSync(npm, `#!/bin/sh\ntest "$1" = ci || PATH='${path}' exec npm "$@"\n`);
  chmodSync(npm, 0o755);
}

/** Runs the script and returns its output; the processes that it leaves running end with the test. */
async function run(t: TestContext, script: string, env: NodeJS.ProcessEnv): Promise<string> {
  const log = join(directoryOf(t), 'log');
  const shell = spawn('bash', ['-eu', '-c', `exec > ${log} 2>&1\n${script}`], {
    env,
    detached: true,
    stdio: 'ignore',
  });
  t.after(() => process.kill(-(shell.pid ?? 0), 'SIGKILL'));
  const status = await waitForExit(shell);
  const output = readFileSync(log, 'utf8');
  assert.equal(status, 0, output);
  return output;
}

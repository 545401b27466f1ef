import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';
import { buildPackage } from '../../deploy/release/package.ts';
import { readGuide, toShell } from '../../docs/guides/guide.ts';
import { openNpm } from '../fakes/registry.ts';
import { directoryOf, freePort, testAsRoot } from '../harness/machine.ts';
import { waitForExit } from '../harness/exit.ts';

testAsRoot("the vendor's guide goes from nothing to a volume on the vendor's storage", async t => {
  const dir = directoryOf(t);
  const downloads = join(dir, 'root');
  const installed = await buildPackage(downloads);
  const replaced = { '/srv': dir, '/root': downloads, '8080': String(await freePort()) };
  const steps = readGuide('docs/guides/vendor.md', replaced);
  const { env } = await openNpm(t);
  writeInstalled(join(dir, 'bin'), join(installed, 'lib/fairlead.mjs'));
  const script = steps.map(toShell).join('\n');
  const output = await run(t, script, { ...env, PATH: [join(dir, 'bin'), env['PATH']].join(delimiter) });
  assert.match(output, /Proved: /);
});

/** Writes the command of the Debian package, which a test cannot install: it would change this machine. */
function writeInstalled(directory: string, entry: string): void {
  mkdirSync(directory);
  const tools = { 'apt-get': 'exit 0', fairlead: `exec ${process.execPath} ${entry} "$@"` };
  for (const [name, line] of Object.entries(tools)) {
    writeFileSync(join(directory, name), `#!/bin/sh\n${line}\n`);
    chmodSync(join(directory, name), 0o755);
  }
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

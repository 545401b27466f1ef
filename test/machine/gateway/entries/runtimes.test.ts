import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../../../harness/gateway-harness.ts';
import { noPostgres, sharePostgres } from '../../../harness/postgres.ts';
import { askAt, liveThrough, prepare } from './serverless.ts';

const server = sharePostgres();
const module = fileURLToPath(new URL('serve.ts', import.meta.url));

for (const [runtime, ...args] of [
  ['deno', 'run', '--allow-all', module],
  ['bun', module],
] as const) {
  const isThere = spawnSync(runtime, ['--version']).status === 0;
  const skip = noPostgres || (!isThere && `there is no ${runtime} on the PATH`);
  test(`in ${runtime} volumes live, and a call sweeps`, { skip }, async t => {
    const { env, signer, query } = await prepare(t, await server());
    const address = await serve(t, [runtime, ...args], env);
    const sweep = async (): Promise<void> =>
      assert.equal(await (await fetch(`${address}/sweep`)).text(), 'ok');
    await liveThrough({ ask: askAt(address, signer), query, sweep });
  });
}

/** Starts the runtime, and gives the address that it says it serves. */
async function serve(
  t: TestContext,
  [runtime = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const child = spawn(runtime, [...args, temporaryDirectory(t)], {
    env: {
      ...process.env,
      ...env,
      FAIRLEAD_LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const said = Promise.withResolvers<string>();
  for (const stream of [child.stdout, child.stderr])
    createInterface(stream).on('line', line => {
      const [, port] = /http:\/\/[\w.]+:(\d+)/.exec(line) ?? [];
      if (port) said.resolve(`http://127.0.0.1:${port}`);
    });
  child.once('exit', status => said.reject(new Error(`${runtime} ended with ${status}`)));
  return said.promise;
}

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../../../harness/gateway.ts';
import { fetchPackage } from '../../../harness/fetched/npm-package.ts';
import { noPostgres, sharePostgres } from '../../../harness/postgres.ts';
import { isFull } from '../../../harness/sample.ts';
import { askAt, liveThrough, prepare } from './serverless.ts';
import { endProcess } from '../../../harness/exit.ts';

const server = sharePostgres();
const module = fileURLToPath(new URL('serve.ts', import.meta.url));

/** The runtimes: the npm package and path of each for Linux on x64, and its arguments. */
const runtimes = [
  ['deno', '@deno/linux-x64-glibc@2.9.6', 'deno', ['run', '--allow-all', module]],
  ['bun', '@oven/bun-linux-x64-baseline@1.4.5', 'bin/bun', [module]],
] as const;

for (const [runtime, release, path, args] of runtimes) {
  const program = findProgram(runtime, release, path);
  const missing = `there is no ${runtime} on the PATH${isFull ? `, and ${release} does not run here` : ''}`;
  const skip = noPostgres || (program === undefined && missing);
  test(`in ${runtime} volumes work, and a call sweeps`, { skip }, async t => {
    const directory = temporaryDirectory(t);
    const { env, signer, query } = await prepare(t, await server(), directory);
    const address = await serve(t, [program ?? runtime, ...args, directory], env);
    const sweep = async (): Promise<void> =>
      assert.equal(await (await fetch(`${address}/sweep`)).text(), 'ok');
    await liveThrough({ ask: askAt(address, signer), query, sweep });
  });
}

/** Finds the runtime on the PATH, or, at full length, in npm. */
function findProgram(runtime: string, release: string, path: string): string | undefined {
  if (runs(runtime)) return runtime;
  const fetched = isFull ? fetchPackage(release, `fairlead-${runtime}`) : undefined;
  const program = fetched && join(fetched, path);
  return program !== undefined && runs(program) ? program : undefined;
}

function runs(program: string): boolean {
  return spawnSync(program, ['--version']).status === 0;
}

/** Starts the runtime and returns the address that it prints. */
async function serve(
  t: TestContext,
  [runtime = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const child = spawn(runtime, args, {
    env: {
      ...process.env,
      ...env,
      FAIRLEAD_LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => endProcess(child));
  const said = Promise.withResolvers<string>();
  for (const stream of [child.stdout, child.stderr])
    createInterface(stream).on('line', line => {
      const [, port] = /http:\/\/[\w.]+:(\d+)/.exec(line) ?? [];
      if (port) said.resolve(`http://127.0.0.1:${port}`);
    });
  child.once('exit', status => said.reject(new Error(`${runtime} ended with ${status}`)));
  return said.promise;
}

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { gatewaySettings } from '../../gateway/config.ts';
import { startGateway } from '../../gateway/main.ts';
import { silentLog } from '../../src/lib/log.ts';
import { readSettings } from '../../src/lib/settings.ts';
import { createSigner, temporaryDirectory } from '../harness/gateway-harness.ts';
import { isFull, seed } from '../harness/sample.ts';

const release = 'schemathesis==4.32.5';
const home = join(import.meta.dirname, '../../node_modules/.cache/fairlead-schemathesis');

/** Findings that are as we want them, by their codes: the operations, and why. */
const documented: Readonly<Record<string, RegExp>> = {
  // What is no operation is NOT_FOUND, whatever the method: docs/errors.md has no 405.
  ST204: /^TRACE /,
  // To delete an unknown id is fine, one that can be nobody's included (CSI spec, "DeleteVolume").
  ST201: /^DELETE \/v1\/(volumes|snapshots|groups)\//,
  // Each pool has parameters of its own, which no document of the API can name.
  ST202: /^(POST \/v1\/capacity|PUT \/v1\/volumes\/\{volumeId\})$/,
};

type Report = {
  readonly operations: { readonly selected: number; readonly tested: number };
  readonly failures: readonly { readonly code: string; readonly operations: readonly string[] }[];
};

test('schemathesis finds nothing that is not documented, with all its checks', async t => {
  const missing = whatIsMissing();
  if (missing !== undefined) return t.skip(missing);
  const directory = temporaryDirectory(t);
  const signer = await createSigner('a');
  const at = (name: string): string => join(directory, name);
  writeFileSync(at('a.jwks.json'), JSON.stringify({ keys: [signer.publicJwk] }));
  const clusters = { a: { keys: 'a.jwks.json' } };
  writeFileSync(at('gateway.yaml'), JSON.stringify({ pools: { one: { backend: 'memory' } }, clusters }));
  const flags = ['--config', at('gateway.yaml'), '--store', at('store.sqlite'), '--listen', '127.0.0.1:0'];
  const { values } = readSettings(gatewaySettings, { argv: [...flags, '--public-docs', 'true'], env: {} });
  assert.ok(values);
  const running = await startGateway(values, silentLog);
  t.after(() => running.close());
  const options = {
    header: `Authorization: Bearer ${await signer.sign({ exp: Math.floor(Date.now() / 1_000) + 3_500 })}`,
    'exclude-path-regex': '^/v1/admin',
    phases: isFull ? 'examples,coverage,fuzzing,stateful' : 'examples,coverage',
    'max-examples': isFull ? '50' : '2',
    seed: String(seed),
    warnings: 'off',
    report: 'json',
    'report-json-path': at('report.json'),
  };
  const given = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const args = ['run', `${running.ready['gateway']}/openapi.json`, '--continue-on-failure', ...given];
  const ended = promisify(execFile)(join(home, 'bin/st'), args, { cwd: directory, maxBuffer: 2 ** 28 });
  // Its exit status is 1 for what is documented, too; the report decides.
  const { stdout } = await ended.catch((error: unknown) => error as { readonly stdout: string });
  assert.ok(existsSync(at('report.json')), stdout);
  const { operations, failures } = JSON.parse(readFileSync(at('report.json'), 'utf8')) as Report;
  assert.equal(operations.tested, operations.selected);
  const found = failures.flatMap(({ code, operations: where }) =>
    where.filter(one => !documented[code]?.test(one)).map(one => `${code} ${one}`),
  );
  assert.deepEqual(found, [], stdout);
});

/** Why it cannot be run, in one line; it is installed once, into a directory of its own. */
function whatIsMissing(): string | undefined {
  const pip = join(home, 'bin/pip');
  if (run(pip, 'show', 'schemathesis').stdout?.includes(`Version: ${release.split('==')[1]}\n`))
    return undefined;
  if (run('python3', '-m', 'venv', home).status !== 0) return 'this needs Python with venv';
  const { status, stderr } = run(pip, 'install', '--quiet', release);
  return status === 0
    ? undefined
    : `this needs ${release}, which cannot be had: ${stderr.trim().split('\n').at(-1)}`;
}

function run(command: string, ...args: readonly string[]) {
  return spawnSync(command, args, { encoding: 'utf8' });
}

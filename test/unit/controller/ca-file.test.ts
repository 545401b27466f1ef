import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { poll } from '../../../src/lib/concurrency.ts';
import { runController, type RunningController } from '../../harness/controller.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { runGateway } from '../../harness/gateway/program.ts';

for (const { title, path, first, fault } of [
  { title: 'with the file of its authority', path: 'ca.crt' },
  {
    title: 'without a file',
    fault:
      /"https:\/\/127\.0\.0\.1:\d+" has a certificate of an authority that is not trusted here; give that authority's PEM file with --ca-file$/,
  },
  {
    title: 'with the file of another authority',
    path: 'own.crt',
    first: 'other.crt',
    fault: /"https:\/\/\S+" has a certificate .* not trusted here; .* with --ca-file$/,
  },
  {
    title: 'with a file that is missing',
    path: 'own.crt',
    fault: /"\S+own\.crt" cannot be read: it does not exist/,
  },
] as const)
  test(`a controller ${title} ${fault ? 'says why it cannot trust' : 'calls'} a gateway with a private authority`, async t => {
    const { at, url } = await serve(t);
    if (path !== undefined && first !== undefined) copyFileSync(at(first), at(path));
    const controller = await runController(t, { gateway: url, ...(path && { 'ca-file': at(path) }) });
    if (fault) await untilRefused(controller, fault);
    if (path === undefined) return;
    // The file is read again for each connection.
    if (fault) copyFileSync(at('ca.crt'), at(path));
    await controller.untilReady();
    const { capabilities } = await controller.csi.controller.ControllerGetCapabilities({});
    assert.ok(capabilities.length > 0);
  });

/** Waits until sidecars and the log are given this fault, which are given another one before the first answer. */
async function untilRefused({ csi, logLines }: RunningController, fault: RegExp): Promise<void> {
  let detail = '';
  const look = async () => {
    const error: unknown = await csi.controller
      .ControllerGetCapabilities({})
      .catch((found: unknown) => found);
    ({ detail = '' } = error as { readonly detail?: string });
    return fault.test(detail) || undefined;
  };
  assert.ok(await poll(look, { everyMs: 20, timeoutMs: 60_000 }), detail);
  const details = logLines.map(line => /"detail":(".*")\}$/.exec(line)?.[1] ?? '""');
  assert.ok(
    details.some(text => fault.test(String(JSON.parse(text)))),
    logLines.join('\n'),
  );
}

/** Runs a gateway whose certificate is signed by the authority of `ca.crt`. */
async function serve(t: TestContext) {
  const directory = temporaryDirectory(t);
  const at = (name: string): string => join(directory, name);
  for (const name of ['ca', 'other'])
    openssl('-subj', `/CN=${name}`, '-keyout', at(`${name}.key`), '-out', at(`${name}.crt`));
  const signed = ['-CA', at('ca.crt'), '-CAkey', at('ca.key'), '-addext', 'subjectAltName=IP:127.0.0.1'];
  openssl('-subj', '/CN=gateway', ...signed, '-keyout', at('tls.key'), '-out', at('tls.crt'));
  const flags = { 'tls-cert-file': at('tls.crt'), 'tls-key-file': at('tls.key') };
  return { at, url: (await runGateway(t, { directory: at('gateway'), flags })).url };
}

function openssl(...argv: readonly string[]): void {
  execFileSync('openssl', ['req', '-x509', ...key, ...argv], { stdio: 'ignore' });
}

const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createClient } from '../../../src/api/client.ts';
import { readTlsFiles } from '../../../src/api/http/tls-files.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { runController } from '../../harness/controller.ts';
import { runGateway } from '../../harness/gateway/program.ts';

const soon = { everyMs: 50, timeoutMs: 30_000 };

test("a caller without a certificate of the clients' authorities is refused, even with a good token", async t => {
  const { client } = await open(t);
  assert.ok((await client('one').ask()).version);
  await assert.rejects(client().ask(), { code: 'UNAVAILABLE' });
  await assert.rejects(client('two').ask(), { code: 'UNAVAILABLE' }, 'by another authority');
});

test('authorities of clients are replaced without a restart, and open connections end with the old ones', async t => {
  const { client, at, lines } = await open(t);
  const [old, next] = [client('one'), client('two')];
  await old.ask();
  copyFileSync(at('two-ca.crt'), at('clients.crt'));
  const isIn = async () =>
    next.ask().then(
      () => true,
      () => undefined,
    );
  assert.ok(await poll(isIn, soon), lines.join('\n'));
  await assert.rejects(old.ask(), { code: 'UNAVAILABLE' });
});

for (const [name, content] of [
  ['is empty', ''],
  ['holds none', 'no certificate'],
] as const)
  test(`a file of authorities that ${name} admits nobody new: it is reported, and the old authorities stay`, async t => {
    const { client, at, lines } = await open(t);
    writeFileSync(at('clients.crt'), content);
    const reported = () =>
      lines.some(line => line.includes('cannot read the certificate again')) || undefined;
    assert.ok(await poll(reported, soon));
    assert.ok((await client('one').ask()).version);
    await assert.rejects(client('two').ask(), { code: 'UNAVAILABLE' });
  });

test("a client's certificate is read again for each connection", async t => {
  const { client, at } = await open(t);
  for (const kind of ['crt', 'key']) copyFileSync(at(`two.${kind}`), at(`own.${kind}`));
  const own = client('own');
  await assert.rejects(own.ask(), { code: 'UNAVAILABLE' });
  for (const kind of ['crt', 'key']) copyFileSync(at(`one.${kind}`), at(`own.${kind}`));
  assert.ok((await own.ask()).version);
});

test('a gateway without a certificate cannot ask for client certificates, and a controller needs both files', async t => {
  const { at } = await open(t);
  await assert.rejects(
    runGateway(t, { flags: { 'tls-client-ca-file': at('clients.crt') } }),
    /--tls-client-ca-file needs TLS; set --tls-cert-file/,
  );
  const half = { gateway: 'https://127.0.0.1:1', 'tls-cert-file': at('one.crt') };
  await assert.rejects(runController(t, half), /need each other$/);
});

/** Opens a gateway that admits certificates of the authority `one`, and clients with certificates of their own. */
async function open(t: TestContext) {
  const directory = temporaryDirectory(t);
  const at = (name: string): string => join(directory, name);
  for (const name of ['one', 'two']) makeCertificates(at, name);
  makeServer(at);
  copyFileSync(at('one-ca.crt'), at('clients.crt'));
  const flags = {
    'tls-cert-file': at('server.crt'),
    'tls-key-file': at('server.key'),
    'tls-client-ca-file': at('clients.crt'),
  };
  const { url, signers, logLines } = await runGateway(t, { directory, flags });
  return {
    at,
    lines: logLines,
    /** Opens a client with this certificate, or without any. */
    client(name?: string) {
      const own = name === undefined ? {} : { cert: at(`${name}.crt`), key: at(`${name}.key`) };
      const tls = readTlsFiles({ ca: at('server.crt'), ...own });
      const client = createClient({ url, token: () => signers.a.sign(), tls });
      t.after(() => client.close());
      return { ask: () => client.getCapabilities({}, { deadlineMs: Date.now() + 5_000 }) };
    },
  };
}

type At = (name: string) => string;

const openssl = (...argv: readonly string[]): void => void execFileSync('openssl', argv, { stdio: 'ignore' });
const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];

function makeCertificates(at: At, name: string): void {
  const ca = ['-keyout', at(`${name}-ca.key`), '-out', at(`${name}-ca.crt`)];
  openssl('req', '-x509', ...kind, '-subj', `/CN=${name} authority`, ...ca);
  const by = ['-CA', at(`${name}-ca.crt`), '-CAkey', at(`${name}-ca.key`)];
  const files = ['-keyout', at(`${name}.key`), '-out', at(`${name}.crt`)];
  openssl('req', '-x509', ...kind, '-subj', `/CN=${name}`, ...by, ...files);
}

function makeServer(at: At): void {
  const name = ['-subj', '/CN=server', '-addext', 'subjectAltName=IP:127.0.0.1'];
  openssl('req', '-x509', ...kind, ...name, '-keyout', at('server.key'), '-out', at('server.crt'));
}

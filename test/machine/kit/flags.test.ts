import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { poll } from '../../../src/lib/concurrency.ts';
import { json, startStorageApi, type Step } from '../../fakes/storage-api.ts';
import { makeCertificates } from '../../fakes/storages/certificate.ts';
import { formerDriver } from '../../fakes/storages/features/imports.ts';
import { referenceVendors, startVendor } from '../../fakes/storages/reference.ts';
import { cli } from '../../harness/program.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { createSigner } from '../../harness/gateway/signers.ts';
import { freePort } from '../../harness/machine.ts';
import { sample } from '../../harness/sample.ts';

const [typescript, python] = referenceVendors;
const vendors = sample('vendors', referenceVendors, 1);
const audience = 'https://vendor.example';
const openApi = join(import.meta.dirname, '../../../docs/reference/vendor-openapi.json');

/** Runs `fairlead verify` and returns its outcomes, such as `FL-1.1-1 PASS`, and its status. */
async function verify(...argv: readonly string[]) {
  const child = execFile(process.execPath, [cli, 'verify', ...argv]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: string) => (output += text));
  const [status] = (await once(child, 'close')) as [number];
  const results = [...output.matchAll(/^(PASS|FAIL|WARN|SKIP) +(FL-[\d.-]+)/gm)];
  return { status, output, results: results.map(([, outcome, id]) => `${id} ${outcome}`) };
}

for (const { language, command, skip } of vendors)
  test(`--start runs a vendor in ${language}, and --thorough tests every change`, { skip }, async t => {
    const [program, ...args] = command.map(part => `'${part}'`);
    const set = `env TOKEN=first DIR='${temporaryDirectory(t)}' OPENAPI='${openApi}'`;
    const only = ['--only', 'FL-3.2,FL-8.1,FL-8.3-2', '--token', 'first', '--thorough'];
    const { status, output, results } = await verify('--start', [set, program, ...args].join(' '), ...only);
    assert.equal(status, 0, output);
    assert.ok(
      ['FL-3.2-4', 'FL-8.1-1', 'FL-8.3-2'].every(id => results.includes(`${id} PASS`)),
      output,
    );
    // The start command may contain secrets.
    assert.doesNotMatch(output, /TOKEN=first/);
  });

test('a failed --start reports the reason and leaves nothing running', async t => {
  const pid = join(temporaryDirectory(t), 'pid');
  for (const start of [
    'echo no disks >&2; exit 3',
    `sleep 60 >/dev/null 2>&1 & echo $! >'${pid}'; echo no disks; exit 3`,
  ]) {
    const { status, output } = await verify('--start', start);
    assert.equal(status, 1, output);
    assert.match(output, /the command of --start ended with status 3 before .*: no disks$/m);
  }
  const process = `/proc/${readFileSync(pid, 'utf8').trim()}`;
  const isGone = () => !existsSync(process) || undefined;
  assert.ok(await poll(isGone, { everyMs: 20, timeoutMs: 30_000 }));
});

for (const { language, command, skip } of vendors)
  test(`--restart restarts a vendor in ${language} with a command`, { skip }, async t => {
    const directory = temporaryDirectory(t);
    const port = await freePort();
    const pid = join(directory, 'pid');
    const set = `env PORT=${port} TOKEN=first DIR='${directory}' OPENAPI='${openApi}'`;
    const start = `${set} ${command.map(part => `'${part}'`).join(' ')} >'${directory}/log' 2>&1 & echo $! >'${pid}'`;
    const end = `kill -9 $(cat '${pid}')`;
    spawnSync('sh', ['-c', start]);
    // Before the directory is removed, which has the file with the process id.
    using _ = { [Symbol.dispose]: () => void spawnSync('sh', ['-c', end]) };
    const url = `http://127.0.0.1:${port}`;
    const isUp = await poll(
      () =>
        fetch(url).then(
          () => true,
          () => undefined,
        ),
      { everyMs: 50, timeoutMs: 30_000 },
    );
    assert.ok(isUp, readFileSync(join(directory, 'log'), 'utf8'));
    const first = readFileSync(pid, 'utf8');
    const { status, output, results } = await verify(
      url,
      '--token',
      'first',
      '--only',
      'FL-8.3-1,FL-8.3-2',
      '--restart',
      `${end}; ${start}`,
    );
    assert.equal(status, 0, output);
    assert.deepEqual(results, ['FL-8.3-1 PASS', 'FL-8.3-2 PASS']);
    assert.notEqual(readFileSync(pid, 'utf8'), first);
  });

test('a failed --restart reports the reason, and nothing is left behind', async t => {
  const { url, token } = await startVendor(t);
  const given = ['--token', token, '--only', 'FL-8.3-1', '--restart', 'echo no such unit >&2; exit 5'];
  const { status, output } = await verify(url, ...given);
  assert.equal(status, 1);
  assert.match(output, /FAIL +FL-8\.3-1[^]*the command of --restart failed with status 5: no such unit/);
  assert.doesNotMatch(output, /left behind/);
});

test('--create-existing makes the volumes to import, and its failure and its wrong output are reported', async t => {
  const serve = join(import.meta.dirname, '../../fakes/storages/serve.ts');
  const { url, token, directory } = await startVendor(t, {
    command: [process.execPath, '--disable-warning=ExperimentalWarning', serve, 'importer'],
  });
  const file = join(directory, 'existing/vol-1');
  const make = `mkdir -p '${join(directory, 'existing')}' && truncate -s 1M '${file}'`;
  const print = `echo '{"driver": "${formerDriver}", "handle": "vol-1", "sizeBytes": 1048576}'`;
  const run = (command: string) =>
    verify(url, '--token', token, '--only', 'FL-3.9-3', '--create-existing', command);
  const right = await run(`${make} && ${print}`);
  assert.deepEqual([right.status, right.results], [0, ['FL-3.9-3 PASS']], right.output);
  assert.ok(!existsSync(file));
  for (const [command, message] of [
    ['echo no quota >&2; exit 5', /the command of --create-existing failed with status 5: no quota/],
    ['echo vol-1', /must print a volume such as .*; wrong or missing: no JSON object; printed: vol-1/],
    ['echo "{}"', /wrong or missing: driver, handle, sizeBytes; printed: \{\}/],
  ] as const) {
    const { status, output } = await run(command);
    assert.equal(status, 1, output);
    assert.match(output, message);
  }
});

test('--csi-drivers refuses a relative path, and a value without a path', async () => {
  for (const [value, message] of [
    ['ebs.csi.aws.com=csi.sock', /--csi-drivers.*"csi\.sock" is not an absolute path/],
    ['/csi/csi.sock', /--csi-drivers.*"\/csi\/csi\.sock" is no driver; use NAME=SOCKET/],
  ] as const) {
    const { status, output } = await verify('http://127.0.0.1:1', '--csi-drivers', value);
    assert.equal(status, 1, output);
    assert.match(output, message);
  }
});

test('tokens are requested from an authorization server and accepted', async t => {
  const directory = temporaryDirectory(t);
  const { publicJwk, sign } = await createSigner('id');
  const JWKS = join(directory, 'jwks');
  writeFileSync(JWKS, JSON.stringify({ keys: [publicJwk] }));
  const { url } = await startVendor(t, {
    command: typescript.command,
    env: { TOKEN: '', JWKS, AUDIENCE: audience },
  });
  const grant: Step = (_, response) =>
    void sign({ aud: audience }).then(token =>
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 60 })),
    );
  const server = await startStorageApi(t, [grant]);
  const secret = join(directory, 'secret');
  writeFileSync(secret, 'p&ss\n', { mode: 0o600 });
  const client = ['--oauth-url', `${server.url}/token`, '--oauth-client', 'kit', '--oauth-scope', 'storage'];
  const only = ['--only', 'FL-2.1-1,FL-2.1-2,FL-3.1-1,FL-8.1-1', '--oauth-secret-file', secret];
  const { status, output, results } = await verify(url, ...client, ...only);
  assert.equal(status, 0, output);
  assert.deepEqual(results, ['FL-2.1-1 PASS', 'FL-2.1-2 PASS', 'FL-3.1-1 PASS', 'FL-8.1-1 PASS']);
  const [asked] = server.received;
  assert.equal(asked?.headers.authorization, `Basic ${Buffer.from('kit:p%26ss').toString('base64')}`);
  assert.equal(asked.body, 'grant_type=client_credentials&scope=storage');
  assert.doesNotMatch(output, /p&ss/);
});

test('an authorization server that issues no token is named', async t => {
  const { url } = await startVendor(t);
  const server = await startStorageApi(t, [json(401, { error: 'invalid_client' })]);
  const client = ['--oauth-url', `${server.url}/token`, '--oauth-client', 'kit', '--oauth-secret', 'wrong'];
  const { status, output } = await verify(url, ...client);
  assert.equal(status, 1);
  assert.match(output, /"http:[^"]*\/token": the authorization server gave no token \(status 401\)/);
});

test(
  'mutual TLS: lost answers, many requests on a connection, and no certificate',
  { skip: python.skip },
  async t => {
    const { ca, cert, key, env } = makeCertificates(temporaryDirectory(t));
    const { url } = await startVendor(t, { command: python.command, env });
    const files = ['--ca-file', ca, '--tls-cert-file', cert, '--tls-key-file', key];
    const only = ['--only', 'FL-1.4,FL-2.2-1,FL-8.1-1,FL-8.2'];
    const { status, output, results } = await verify(url, ...files, ...only);
    assert.equal(status, 0, output);
    assert.deepEqual(
      results.filter(line => !line.endsWith(' PASS')),
      [],
    );
    assert.ok(results.includes('FL-2.2-1 PASS'), output);
  },
);

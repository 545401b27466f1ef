import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { findHelm, renderChart } from '../../../deploy/render.ts';
import { createClient } from '../../../src/api/client.ts';
import { createKey, publicHalf, type PrivateJwk } from '../../../src/api/http/jwt.ts';
import { createTokenSource } from '../../../src/api/http/tokens.ts';
import { exec, type ExecResult } from '../../../src/lib/exec.ts';
import { cli } from '../../harness/program.ts';
import { runGateway } from '../../harness/gateway/program.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { makeIssuerKey, signAs } from '../../fakes/issuer.ts';

const helm = findHelm();

function enroll(dir: string, ...argv: readonly string[]): Promise<ExecResult> {
  return exec(process.execPath, [cli, 'enroll', ...argv, '--dir', dir], { timeoutMs: 30_000 });
}

function read(dir: string, name: string): string {
  return readFileSync(join(dir, name), 'utf8');
}

test('the key in the written Secret signs tokens that a gateway with the printed entry accepts', async t => {
  const dir = temporaryDirectory(t);
  const { status, stdout } = await enroll(
    dir,
    'east',
    '--gateway',
    'https://storage.example',
    '--pools',
    'a',
  );
  assert.equal(status, 0);
  writeFileSync(
    join(dir, 'gateway.yaml'),
    `pools: { a: { backend: memory }, b: { backend: memory } }\n${stdout}`,
  );
  const { url } = await runGateway(t, { directory: dir, process: {} });
  const { stringData } = parse(read(dir, 'east.secret.yaml')) as { stringData: Record<string, string> };
  const keyFile = join(dir, 'key.jwk.json');
  writeFileSync(keyFile, stringData['key.jwk.json'] ?? '');
  const client = createClient({
    url,
    token: createTokenSource({ keyFile, issuer: 'east', audience: 'fairlead', lifetimeMs: 60_000 }),
  });
  t.after(() => client.close());
  const { pools } = await client.getCapabilities({}, { deadlineMs: Date.now() + 60_000 });
  assert.deepEqual(
    pools.map(({ name }) => name),
    ['a'],
  );
});

test("the gateway's key file is private, and its public half goes into a cluster's values", async t => {
  const dir = temporaryDirectory(t);
  const { status, stdout } = await enroll(dir, 'gateway');
  assert.deepEqual([status, stdout], [0, '']);
  const file = join(dir, 'gateway.keys.json');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const { keys } = JSON.parse(readFileSync(file, 'utf8')) as { readonly keys: readonly PrivateJwk[] };
  const { url } = await runGateway(t, { flags: { 'key-file': file } });
  await enroll(dir, 'east', '--gateway', 'https://storage.example', '--gateway-keys', file);
  const { node } = parse(read(dir, 'east.values.yaml')) as { node: { gatewayKeys: object } };
  assert.deepEqual(node.gatewayKeys, { keys: keys.map(publicHalf) });
  const published = await fetch(`${url}/.well-known/jwks.json`);
  assert.deepEqual(await published.json(), node.gatewayKeys);
});

test("the private key is only in the Secret, only the file's owner can read it, and no existing file is overwritten", async t => {
  const dir = temporaryDirectory(t);
  await enroll(dir, 'east');
  assert.deepEqual(readdirSync(dir).sort(), ['east.jwks.json', 'east.secret.yaml', 'east.values.yaml']);
  const secret = read(dir, 'east.secret.yaml');
  const { d } = JSON.parse(
    (parse(secret) as { stringData: { 'key.jwk.json': string } }).stringData['key.jwk.json'],
  );
  assert.equal(statSync(join(dir, 'east.secret.yaml')).mode & 0o777, 0o600);
  for (const name of ['east.jwks.json', 'east.values.yaml']) assert.ok(!read(dir, name).includes(d));
  const again = await enroll(dir, 'east');
  assert.equal(again.status, 1);
  assert.ok(!again.stdout.includes(d) && !again.stderr.includes(d));
  assert.equal(read(dir, 'east.secret.yaml'), secret);
});

test("the values for the nodes have the gateway's public keys and nothing private", async t => {
  const dir = temporaryDirectory(t);
  const file = join(dir, 'store.sqlite.keys.json');
  const { d, ...key } = await createKey('hq-1');
  writeFileSync(file, JSON.stringify({ keys: [{ ...key, d }] }));
  assert.equal((await enroll(dir, 'east', '--gateway-keys', file)).status, 0);
  const text = read(dir, 'east.values.yaml');
  const { node } = parse(text) as { node: object };
  assert.deepEqual(node, { gatewayKeys: { keys: [key] } });
  assert.ok(!text.includes(d));
  writeFileSync(file, JSON.stringify({ keys: [{ kty: 'RSA', kid: 'other' }] }));
  const { status, stderr } = await enroll(dir, 'west', '--gateway-keys', file);
  assert.equal(status, 1);
  assert.match(stderr, /has a key that no gateway signs with/);
});

test('enroll asks the named gateway for its public keys, and continues without them if it does not answer', async t => {
  const dir = temporaryDirectory(t);
  writeFileSync(join(dir, 'gateway.yaml'), 'pools: { a: { backend: memory } }\n');
  const { url, end } = await runGateway(t, { directory: dir, process: {} });
  assert.equal((await enroll(dir, 'east', '--gateway', url)).status, 0);
  const { keys } = JSON.parse(read(dir, 'store.sqlite.keys.json')) as { keys: PrivateJwk[] };
  const { node } = parse(read(dir, 'east.values.yaml')) as { node: object };
  assert.deepEqual(node, { gatewayKeys: { keys: keys.map(publicHalf) } });
  await end();
  const { status, stderr } = await enroll(dir, 'west', '--gateway', url);
  assert.equal(status, 0);
  assert.match(
    stderr,
    /jwks.json" gives no keys: it refuses connections; start the server there, or correct the address: the controller will fetch the gateway's keys later/,
  );
  assert.equal((parse(read(dir, 'west.values.yaml')) as { node?: object }).node, undefined);
});

test('a cluster is enrolled by its service account without a key, and the gateway accepts the printed entry', async t => {
  const dir = temporaryDirectory(t);
  const account = ['--service-account', '--namespace', 'storage', '--account', 'csi'];
  const { status, stdout } = await enroll(dir, 'west', ...account, '--gateway', 'https://storage.example');
  assert.equal(status, 0);
  assert.deepEqual(readdirSync(dir), ['west.values.yaml']);
  const key = await makeIssuerKey('one');
  writeFileSync(join(dir, 'west.issuer.jwks.json'), JSON.stringify({ keys: [key.publicJwk] }));
  writeFileSync(join(dir, 'gateway.yaml'), `pools: { a: { backend: memory } }\n${stdout}`);
  const { url } = await runGateway(t, { directory: dir, process: {} });
  const token = () =>
    signAs('https://kubernetes.default.svc.cluster.local', key, { sub: 'system:serviceaccount:storage:csi' });
  const client = createClient({ url, token });
  t.after(() => client.close());
  const { volumes } = await client.listVolumes({}, { deadlineMs: Date.now() + 60_000 });
  assert.deepEqual(volumes, []);
});

test("a gateway in the cluster needs the issuer's keys, and nothing is written without them", async t => {
  const dir = temporaryDirectory(t);
  const { status, stderr } = await enroll(dir, 'west', '--service-account');
  assert.equal(status, 1);
  assert.match(stderr, /kubectl get --raw \/openid\/v1\/jwks/);
  assert.deepEqual(readdirSync(dir), []);
});

const skip = helm === undefined && 'helm is not there: deploy/fetch-helm.sh fetches it';

const hosted = ['--gateway', 'https://storage.example:7700'];
const byAccount = ['--service-account', '--issuer', 'https://kubernetes.default.svc'];
for (const [where, argv] of [
  ['a hosted gateway', hosted],
  ['a gateway in the cluster', ['--pools', 'fast']],
  ['a service account at a hosted gateway', [...byAccount, ...hosted]],
  ['a service account at a gateway in the cluster', [...byAccount, '--issuer-keys', 'keys.json']],
] as const)
  test(`the chart accepts the values that are written for ${where}`, { skip }, async t => {
    const dir = temporaryDirectory(t);
    writeFileSync(
      join(dir, 'keys.json'),
      JSON.stringify({ keys: [{ kty: 'RSA', kid: 'x', n: 'AQAB', e: 'AQAB' }] }),
    );
    const { status, stderr } = await enroll(dir, 'east', ...argv, '--secret', 'own');
    assert.equal(status, 0);
    const isTold = /has a key that the gateway refuses: it is an RSA key of 17 bits/.test(stderr);
    assert.equal(isTold, where === 'a service account at a gateway in the cluster');
    const values = parse(read(dir, 'east.values.yaml')) as { gateway: object };
    const pools = { fast: { backend: 'memory' } };
    const text = stringify({ ...values, gateway: { ...values.gateway, pools } });
    const documents = parseAllDocuments(await renderChart(helm ?? '', text)).map(one => one.toString());
    const deployment = documents.find(one => one.includes('kind: Deployment')) ?? '';
    assert.match(deployment, /--cluster=east/);
    const isByAccount = where.includes('account');
    assert.match(deployment, isByAccount ? /path: token\n/ : /secretName: own/);
    assert.doesNotMatch(deployment, isByAccount ? /secretName|--key-file/ : /--token-file/);
    assert.equal(
      documents.some(one => one.includes('kind: StatefulSet')),
      where.endsWith('a gateway in the cluster'),
    );
  });

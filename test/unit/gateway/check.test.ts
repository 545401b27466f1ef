import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { gatewaySettings } from '../../../gateway/config.ts';
import { checkGateway } from '../../../gateway/check.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { temporaryDirectory } from '../../harness/gateway/gateway.ts';
import { createSigner } from '../../harness/gateway/signers.ts';

const signer = await createSigner('a');

test('a check of a correct configuration has a line for each part, changes nothing and ends with 0', async t => {
  const { dir, check } = open(t, { pools: { fast: { backend: 'image' }, far: { backend: 'memory' } } });
  const before = readdirSync(dir, { recursive: true });
  const { status, lines } = await check();
  assert.equal(status, 0);
  const parts = lines.map(line => line.slice(0, line.indexOf(':')));
  assert.deepEqual(parts, [
    'configuration',
    'keys',
    'store',
    'certificate',
    'address',
    'pool fast',
    'pool far',
  ]);
  assert.deepEqual(readdirSync(dir, { recursive: true }), before);
});

test('a check reports every fault at once, one a line, and ends with 1', async t => {
  const { dir, check } = open(t, {
    pools: { fast: { backend: 'image', dir: '/missing/a' }, files: { backend: 'dir', dir: '/missing/b' } },
  });
  writeFileSync(join(dir, 'a.jwks.json'), '{');
  const { status, lines } = await check(
    '--store=/missing/store.sqlite',
    '--tls-cert-file=/missing/cert',
    '--listen=192.0.2.1:7700',
  );
  assert.equal(status, 1);
  const bad = ['keys', 'store', 'certificate', 'address', 'pool fast', 'pool files'];
  for (const part of bad)
    assert.ok(
      lines.some(line => line.startsWith(`${part}: `) && !line.endsWith(': ok')),
      part,
    );
});

test('a check reads no pool of a configuration that is invalid as a whole', async t => {
  const { dir, check } = open(t, {});
  writeFileSync(join(dir, 'gateway.yaml'), 'pools: [');
  const { status, lines } = await check();
  assert.equal(status, 1);
  assert.match(lines[0] ?? '', /^configuration: .*gateway\.yaml:1/);
});

test('a check says what it did not look at, and never that it is ok', async t => {
  const { dir, check } = open(t, { pools: { far: { backend: 'memory' } } });
  const busy = createServer();
  await once(busy.listen(0, '127.0.0.1'), 'listening');
  t.after(() => busy.close());
  const { port } = busy.address() as AddressInfo;
  const { status, lines } = await check(`--listen=127.0.0.1:${port}`);
  assert.equal(status, 0);
  assert.deepEqual(lines, [
    'configuration: ok',
    'keys: ok',
    `store: not checked: "${join(dir, 'store.sqlite')}" does not exist; the first start makes it`,
    'certificate: not checked: without --tls-cert-file the gateway serves plain HTTP',
    `address: not checked: another process, perhaps the gateway, serves "127.0.0.1:${port}" now`,
    'pool far: not checked: a check would have to open the pool',
  ]);
});

test('a check asks the storage of a rest pool', async t => {
  let asked = 0;
  const storage = createHttpServer((_request, response) => {
    asked++;
    response.writeHead(500).end();
  });
  await once(storage.listen(0, '127.0.0.1'), 'listening');
  t.after(() => storage.close());
  const { port } = storage.address() as AddressInfo;
  const token = { backend: 'rest', url: `http://127.0.0.1:${port}`, token: 'token', breakFor: '1ms' };
  const closed = { ...token, url: 'http://127.0.0.1:1' };
  const { dir, check } = open(t, { pools: { token, closed, key: { ...token, token: undefined } } });
  writeFileSync(join(dir, 'token'), 'secret');
  const { status, lines } = await check();
  assert.equal(status, 1);
  assert.ok(asked > 0);
  const [one, two, three] = lines.filter(line => line.startsWith('pool '));
  assert.match(one ?? '', /^pool token: pool "token": something in front of the storage API answered with/);
  assert.match(
    two ?? '',
    /^pool closed: pool "closed": .*"http:\/\/127\.0\.0\.1:1" refuses connections; start/,
  );
  assert.match(
    three ?? '',
    /^pool key: not checked: its storage wants a token, and the key file "\S+" does not/,
  );
});

type Pools = {
  readonly pools?: Readonly<
    Record<string, { readonly backend: string; readonly dir?: string } & Readonly<Record<string, unknown>>>
  >;
};

/** Writes a configuration with these pools, each with its own directory by default. */
function open(t: TestContext, { pools = {} }: Pools) {
  const dir = temporaryDirectory(t);
  const place = (name: string): string => {
    mkdirSync(join(dir, name));
    return join(dir, name);
  };
  const entries = Object.entries(pools).map(([name, pool]) => [
    name,
    ['memory', 'rest'].includes(pool.backend) ? pool : { dir: pool.dir ?? place(name), ...pool },
  ]);
  writeFileSync(join(dir, 'a.jwks.json'), JSON.stringify({ keys: [signer.publicJwk] }));
  const file = { pools: Object.fromEntries(entries), clusters: { a: { keys: 'a.jwks.json' } } };
  writeFileSync(join(dir, 'gateway.yaml'), JSON.stringify(file));
  async function check(...flags: readonly string[]) {
    const own = [`--config=${join(dir, 'gateway.yaml')}`, `--listen=127.0.0.1:0`];
    const store = flags.some(flag => flag.startsWith('--store'))
      ? []
      : [`--store=${join(dir, 'store.sqlite')}`];
    const given = flags.some(flag => flag.startsWith('--listen')) ? own.slice(0, 1) : own;
    const { values } = readSettings(gatewaySettings, { argv: [...given, ...store, ...flags], env: {} });
    assert.ok(values);
    let text = '';
    const status = await checkGateway(values, { out: more => void (text += more) });
    return { status, lines: text.trimEnd().split('\n') };
  }
  return { dir, check };
}

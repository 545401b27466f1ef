import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { makeCertificate } from '../../fakes/storages/certificate.ts';
import { runGateway } from '../../harness/gateway/program.ts';
import { gatewaySettings } from '../../../gateway/config.ts';
import { checkGateway, findGatewayFaults } from '../../../gateway/preflight.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { createSigner } from '../../harness/gateway/signers.ts';
import { startCollector } from '../tracing/collector.ts';

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
    'key file',
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
    `key file: not checked: "${join(dir, 'store.sqlite.keys.json')}" does not exist; the first start makes it`,
    'certificate: not checked: without --tls-cert-file the gateway serves plain HTTP',
    `address: not checked: another process, perhaps the gateway, serves "127.0.0.1:${port}" now`,
    'pool far: not checked: a check would have to open the pool',
  ]);
});

test("a check sees another store's mark in a pool, without changing anything", async t => {
  const { dir, check } = open(t, { pools: { images: { backend: 'image' }, files: { backend: 'dir' } } });
  const unmarked =
    /^pool \w+: not checked: whose volumes it holds, which a start compares with the store; all else is ok$/;
  const poolsOf = async (...flags: readonly string[]) => {
    const before = contentOf(dir);
    const { status, lines } = await check(...flags);
    assert.deepEqual(contentOf(dir), before);
    // The filesystem of the tests may share no blocks.
    const sure = lines.map(line => line.replace(/, but the filesystem of .*$/, ''));
    return { status, pools: sure.filter(line => line.startsWith('pool ')) };
  };
  const first = await poolsOf();
  assert.ok(first.status === 0 && first.pools.every(line => unmarked.test(line)), first.pools.join('\n'));
  await useOnce(t, dir);
  const sound = { status: 0, pools: ['pool images: ok', 'pool files: ok'] };
  assert.deepEqual(await poolsOf(), sound);
  const other = `--store=${join(dir, 'other.sqlite')}`;
  const foreign = await poolsOf(other);
  assert.equal(foreign.status, 1);
  assert.match(
    foreign.pools[0] ?? '',
    /^pool images: it is marked as the pool of another store, .*; check that --store is right, or take the pool over with --adopt-pools images$/,
  );
  assert.match(foreign.pools[1] ?? '', /^pool files: it is marked .* --adopt-pools files$/);
  assert.deepEqual(await poolsOf(other, '--adopt-pools=images,files'), sound);
  writeFileSync(join(dir, 'broken.sqlite'), 'no store');
  const unknown = 'not checked: whose pool it is, because the store cannot be used; all else is ok';
  assert.deepEqual(await poolsOf(`--store=${join(dir, 'broken.sqlite')}`), {
    status: 1,
    pools: [`pool images: ${unknown}`, `pool files: ${unknown}`],
  });
});

test('a check finds what would keep a gateway from its store and its keys', async t => {
  const { dir, check } = open(t, { pools: { far: { backend: 'memory' } } });
  const { path } = await useOnce(t, dir);
  const lineOf = async (part: string, ...flags: readonly string[]) =>
    (await check(...flags)).lines.find(line => line.startsWith(`${part}: `));
  assert.deepEqual([await lineOf('store'), await lineOf('key file')], ['store: ok', 'key file: ok']);
  const change = (sql: string): void => {
    using store = new DatabaseSync(path);
    store.exec(sql);
  };
  change(
    `insert into reservations (pool, cluster, segments, part, volumes, snapshots, bytes, deleted_bytes, deleted_volumes)
     values ('gone', 'a', '', 0, 2, 0, 1, 0, 0)`,
  );
  assert.equal(
    await lineOf('store'),
    'store: pool "gone" is not configured, but the store has volumes in it (2); configure it again',
  );
  change("delete from reservations; update store_identity set id = 'copied ' || id");
  assert.match((await lineOf('store')) ?? '', /^store: this store was copied to another by /);
  assert.equal(await lineOf('store', '--adopt-store'), 'store: ok');
  change('update schema_version set version = 1');
  assert.match((await lineOf('store', '--adopt-store')) ?? '', /^store: not checked: its tables, which /);
  change('update schema_version set version = 99');
  assert.match((await lineOf('store')) ?? '', /^store: the store has schema version 99, but this gateway/);
  change('alter table schema_version rename column version to other');
  assert.match((await lineOf('store')) ?? '', /^store: the store cannot be used at present \(/);
  writeFileSync(`${path}.keys.json`, '{');
  assert.match((await lineOf('key file')) ?? '', /^key file: key file "\S+" is not a JSON Web Key Set$/);
  const tls = [`--tls-cert-file=${join(dir, 'gateway.yaml')}`, `--tls-key-file=${join(dir, 'gateway.yaml')}`];
  assert.match(
    (await lineOf('certificate', ...tls)) ?? '',
    /^certificate: "\S+gateway\.yaml" holds no certificate in PEM form$/,
  );
});

test('a check judges how long the certificate is valid', async t => {
  const { dir, check } = open(t, { pools: { far: { backend: 'memory' } } });
  makeCertificate(dir, 'tls', 30);
  const at = (file: string): string => join(dir, file);
  const { validToDate: end, validFromDate: start } = new X509Certificate(readFileSync(at('tls.crt')));
  const judge = async (now: number): Promise<readonly [status: number, line: string | undefined]> => {
    t.mock.timers.enable({ apis: ['Date'], now });
    const { status, lines } = await check(
      `--tls-cert-file=${at('tls.crt')}`,
      `--tls-key-file=${at('tls.key')}`,
    );
    t.mock.timers.reset();
    return [status, lines.find(line => line.startsWith('certificate: '))];
  };
  const days = 86_400_000;
  const [from, to] = [start, end].map(time => time.toISOString());
  assert.deepEqual(await judge(start.getTime() - 1), [
    1,
    `certificate: it is valid only from ${from} on; check the clock of this machine`,
  ]);
  assert.deepEqual(await judge(start.getTime()), [0, 'certificate: ok']);
  assert.deepEqual(await judge(end.getTime() - 7 * days), [
    0,
    `certificate: ok, but it expires at ${to}; renew it`,
  ]);
  assert.deepEqual(await judge(end.getTime()), [1, `certificate: it expired at ${to}; renew it`]);
});

test('a check sends the collector of traces a request without spans', async t => {
  const { check } = open(t, { pools: { far: { backend: 'memory' } } });
  const lineOf = async (url: string) =>
    (await check(`--otlp-endpoint=${url}`)).lines.find(line => line.startsWith('trace collector: '));
  const good = await startCollector(t);
  assert.equal(await lineOf(good.url), 'trace collector: ok');
  assert.deepEqual([good.bodies, good.spans], [['{"resourceSpans":[]}'], []]);
  const bad = await startCollector(t, 404);
  assert.equal(await lineOf(bad.url), `trace collector: "${bad.url}" takes no traces: Not Found`);
  assert.match(
    (await lineOf('http://127.0.0.1:1')) ?? '',
    /^trace collector: "http:\/\/127\.0\.0\.1:1" takes no traces: it refuses connections; start/,
  );
});

/** Runs a gateway on the configuration once, so that its store, its key and its marks exist. */
async function useOnce(t: TestContext, dir: string) {
  const path = join(dir, 'store.sqlite');
  const gateway = await runGateway(t, { directory: dir, flags: { store: path } });
  await gateway.end();
  return { path };
}

/** Lists the files of a directory with their content. */
function contentOf(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !/-(wal|shm)$/.test(entry.name))
    .map(({ parentPath, name }) => `${parentPath}/${name} ${readFileSync(join(parentPath, name), 'base64')}`)
    .sort();
}

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
  assert.match(
    one ?? '',
    /^pool token: the storage API at "http:\S+" answered with status 500 and no reason; look/,
  );
  assert.match(two ?? '', /^pool closed: .*"http:\/\/127\.0\.0\.1:1" refuses connections; start/);
  assert.match(
    three ?? '',
    /^pool key: not checked: whether its storage accepts .*, because the key file "\S+" does not exist yet; all else is ok$/,
  );
});

test('a check before the first start looks at the way to a storage that wants a token', async t => {
  const { check } = open(t, { pools: { far: { backend: 'rest', url: 'http://127.0.0.1:1' } } });
  const { status, lines } = await check();
  assert.equal(status, 1);
  const [fault, note] = lines.filter(line => line.startsWith('pool far: '));
  assert.match(fault ?? '', /"http:\/\/127\.0\.0\.1:1" refuses connections/);
  assert.match(note ?? '', /^pool far: not checked: whether its storage accepts .* does not exist yet$/);
});

test('a check finds all faults, each independent of the others', async t => {
  const { dir, check, found } = open(t, {});
  const file = {
    pools: {
      a: { backend: 'rest', url: 'http://127.0.0.1:1', tls: { ca: '/nope.crt' }, token: 'missing.tok' },
      b: { backend: 'image', dir: '/nope' },
      c: { backend: 'memory' },
    },
    clusters: { e: { keys: 'nope.json', quota: { bytes: 'x' } }, f: { keys: 'bad.json' } },
    operators: { keys: 'nope2.json' },
  };
  writeFileSync(join(dir, 'gateway.yaml'), JSON.stringify(file));
  writeFileSync(join(dir, 'bad.json'), '{');
  const { status, lines } = await check('--tls-cert-file=/nope.pem');
  assert.equal(status, 1);
  const missing = 'it does not exist, or its directory does not';
  const faults = [
    /^(configuration: )?.*gateway\.yaml:1: pools\.a: "tls" needs an https address/,
    /^(configuration: )?.*gateway\.yaml:1: clusters\.e\.quota\.bytes: "x" is not a number/,
    new RegExp(`^keys: e: \\S+nope\\.json: cannot be read: ${missing}$`),
    /^keys: f: \S+bad\.json: is not JSON$/,
    new RegExp(`^keys: operator: \\S+nope2\\.json: cannot be read: ${missing}$`),
    /^certificate: "\/nope\.pem" does not exist/,
    /^certificate: set both/,
    new RegExp(`^pool a: "${dir}/missing\\.tok" cannot be read: ${missing}$`),
    new RegExp(`^pool a: "/nope\\.crt" cannot be read: ${missing}$`),
    /^pool b: .*"\/nope"/,
  ];
  for (const fault of faults)
    assert.ok(
      lines.some(line => fault.test(line)),
      `${fault}\n${lines.join('\n')}`,
    );
  const unchecked = lines.filter(line => line.includes(': not checked: '));
  assert.deepEqual(
    unchecked.map(line => line.slice(0, line.indexOf(':'))),
    ['keys', 'store', 'key file', 'pool a', 'pool c'],
  );
  assert.ok(
    lines.every(line => !/^(configuration|keys|pool .*): ok$/.test(line)),
    lines.join('\n'),
  );
  // A fault of a flag, or a failed start, hides none of them.
  const besides = await found('--listen=nonsense', '--tls-cert-file=/nope.pem');
  for (const fault of faults)
    assert.ok(
      besides.some(line => fault.test(line)),
      `${fault}`,
    );
});

test('a check names each pool as it is written, and nothing else', async t => {
  const { dir, check } = open(t, {});
  const linesOf = async (pools: unknown) => {
    writeFileSync(join(dir, 'gateway.yaml'), JSON.stringify({ pools }));
    return (await check()).lines.filter(line => /^pools? /.test(line));
  };
  const unchecked = 'not checked: the storage, because its entry has faults';
  const far = { backend: 'rest', url: 'https://nas.example', token: join(dir, 'a.jwks.json') };
  assert.deepEqual(await linesOf({ far: { ...far, tls: 'ca.pem' } }), [`pool far: ${unchecked}`]);
  assert.deepEqual(await linesOf({ constructor: { backend: 'image' } }), [`pool constructor: ${unchecked}`]);
  assert.deepEqual(await linesOf('fast'), []);
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
  /** Lists the faults that are printed with faults of these flags. */
  async function found(...flags: readonly string[]) {
    const argv = [`--config=${join(dir, 'gateway.yaml')}`, `--store=${join(dir, 'store.sqlite')}`, ...flags];
    const { sound, faults } = readSettings(gatewaySettings, { argv, env: {} });
    assert.equal(faults?.length, 1);
    return findGatewayFaults(sound ?? {});
  }
  return { dir, check, found };
}

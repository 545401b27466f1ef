import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { gatewaySettings } from '../../../gateway/config.ts';
import { checkGateway } from '../../../gateway/check.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { createSigner, temporaryDirectory } from '../../harness/gateway/gateway.ts';

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

type Pools = {
  readonly pools?: Readonly<Record<string, { readonly backend: string; readonly dir?: string }>>;
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
    pool.backend === 'memory' ? pool : { dir: pool.dir ?? place(name), ...pool },
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

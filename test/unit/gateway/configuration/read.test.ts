import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { backends } from '../../../../gateway/backends/index.ts';
import { readConfiguration, type ConfigurationResult } from '../../../../gateway/configuration/read.ts';
import { createSigner, temporaryDirectory } from '../../../harness/gateway-harness.ts';

const [a, b] = [await createSigner('a'), await createSigner('b', 'ES256')];

const sound = `
pools:
  fast: { backend: image, dir: /srv/fast/, capacity: 10Gi, topology: { csi.fairlead.dev/zone: a } }
  files: { backend: dir, dir: /srv/files }
clusters:
  east: { keys: a.jwks.json, pools: [fast] }
  west: { keys: b.jwks.json, issuer: kubernetes, acceptAnyNode: true }
operators: { keys: none.jwks.json }
`;

test('a file tells pools, clusters and operators', async t => {
  const { configuration, files, directory } = await read(t, { 'gateway.yaml': sound });
  assert.ok(configuration);
  assert.deepEqual(
    [...configuration.pools],
    [
      [
        'fast',
        {
          backend: 'image',
          topology: { 'csi.fairlead.dev/zone': 'a' },
          settings: { dir: '/srv/fast', capacity: 10 * 2 ** 30 },
        },
      ],
      ['files', { backend: 'dir', topology: undefined, settings: { dir: '/srv/files' } }],
    ],
  );
  const { owners } = configuration.enrolment;
  assert.deepEqual(owners.get(a.kid), {
    caller: { name: 'east', acceptAnyNode: false, pools: ['fast'] },
    issuer: 'east',
  });
  assert.deepEqual(owners.get(b.kid), {
    caller: { name: 'west', acceptAnyNode: true, pools: undefined },
    issuer: 'kubernetes',
  });
  assert.equal(owners.size, 2);
  const names = ['gateway.yaml', 'a.jwks.json', 'b.jwks.json', 'none.jwks.json'];
  assert.deepEqual([...files.keys()].sort(), names.map(name => join(directory, name)).sort());
});

test('all faults are told at once, each with its line and its path', async t => {
  const text = `pools:
  fast:
    backend: image
    dir: srv
    capacity: lots
    colour: red
  old: { backend: floppy }
  Bad_Name: { backend: memory }
clusters:
  east: { keys: a.jwks.json, pools: [fast, slow], quota: { volumes: 5 } }
operators: {}
extra: 1
`;
  const { faults, directory } = await read(t, { 'gateway.yaml': text });
  const expected = [
    /^4: pools\.fast\.dir: "srv" is not an absolute path$/,
    /^5: pools\.fast\.capacity: "lots" is not a number of bytes/,
    /^6: pools\.fast\.colour: is not known$/,
    /^7: pools\.old\.backend: .*"dir"\|"image"\|"memory"/,
    /^8: pools\.Bad_Name: must have lower-case letters/,
    /^10: clusters\.east\.pools\.1: there is no pool "slow"$/,
    /^10: clusters\.east\.quota: is not known$/,
    /^11: operators\.keys: /,
    /^12: extra: is not known$/,
  ];
  const found = faults.map(fault => fault.replace(`${join(directory, 'gateway.yaml')}:`, '')).sort(byLine);
  assert.equal(found.length, expected.length, found.join('\n'));
  for (const [index, pattern] of expected.entries()) assert.match(found[index] ?? '', pattern);
});

const keys = (key: object): Files => ({ 'a.jwks.json': JSON.stringify({ keys: [key] }) });
const bad: readonly { readonly name: string; readonly files: Files; readonly says: RegExp }[] = [
  { name: 'no YAML', files: { 'gateway.yaml': 'pools: [' }, says: /gateway\.yaml:\d+: / },
  { name: 'two documents', files: { 'gateway.yaml': `${sound}---\n{}\n` }, says: /gateway\.yaml:\d+: / },
  {
    name: 'a name that is there twice',
    files: { 'gateway.yaml': 'pools: {}\npools: {}\n' },
    says: /:2: .*unique/,
  },
  { name: 'an unknown tag', files: { 'gateway.yaml': 'pools: !x {}\n' }, says: /:1: .*tag/ },
  { name: 'an unknown alias', files: { 'gateway.yaml': 'pools: *x\n' }, says: /alias/ },
  { name: 'an empty file', files: { 'gateway.yaml': '' }, says: /gateway\.yaml: pools: / },
  { name: 'a list', files: { 'gateway.yaml': '[1]' }, says: /gateway\.yaml: / },
  {
    name: 'no pool',
    files: { 'gateway.yaml': 'pools: {}' },
    says: /:1: pools: at least one pool is needed$/,
  },
  { name: 'a prototype', files: change('files:', '__proto__:'), says: /"__proto__" is not known$/ },
  {
    name: 'no topology key',
    files: change('csi.fairlead.dev/zone', '-'),
    says: /:3: pools\.fast\.topology\.-: is not a topology key$/,
  },
  {
    name: 'no key file',
    files: change('a.jwks.json', 'nope.json'),
    says: /nope\.json: cannot be read \(ENOENT\)$/,
  },
  { name: 'a key file that is no JSON', files: { 'a.jwks.json': '{' }, says: /a\.jwks\.json: is not JSON$/ },
  { name: 'no set of keys', files: { 'a.jwks.json': '{}' }, says: /a\.jwks\.json: keys: / },
  {
    name: 'a private key',
    files: keys(a.privateJwk),
    says: /a\.jwks\.json: keys\.0: is a private or secret key/,
  },
  {
    name: 'a secret key',
    files: keys({ kty: 'oct', k: 'AAAA', kid: 'x' }),
    says: /is a private or secret key/,
  },
  { name: 'a key without kid', files: keys({ ...a.publicJwk, kid: undefined }), says: /keys\.0\.kid: / },
  {
    name: 'an RSA key',
    files: keys({ kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'x' }),
    says: /keys\.0: is neither/,
  },
  { name: 'another curve', files: keys({ ...b.publicJwk, crv: 'P-384' }), says: /keys\.0: is neither/ },
  {
    name: 'another alg',
    files: keys({ ...a.publicJwk, alg: 'HS256' }),
    says: /keys\.0: must have the alg "EdDSA"/,
  },
  { name: 'a key for encryption', files: keys({ ...a.publicJwk, use: 'enc' }), says: /keys\.0\.use: / },
  {
    name: 'a malformed key',
    files: keys({ ...a.publicJwk, x: '!' }),
    says: /:6: clusters\.east: .* is malformed$/,
  },
  {
    name: 'a kid in two clusters',
    files: keys({ ...a.publicJwk, kid: b.kid }),
    says: /:7: clusters\.west: .*twice$/,
  },
  {
    name: 'one key in two clusters',
    files: keys({ ...b.publicJwk, kid: 'x' }),
    says: /under another kid too$/,
  },
];
for (const { name, files, says } of bad)
  test(`${name} is one fault, on one line, without a key in it`, async t => {
    const { faults, configuration } = await read(t, { 'gateway.yaml': sound, ...files });
    assert.equal(configuration, undefined);
    assert.equal(faults.length, 1, faults.join('\n'));
    assert.match(faults[0] ?? '', says);
    assert.ok(!/\n/.test(faults[0] ?? '') && !faults[0]?.includes(String(a.privateJwk.d)));
  });

type Files = Readonly<Record<string, string>>;

function change(from: string, to: string): Files {
  return { 'gateway.yaml': sound.replace(from, to) };
}

async function read(
  t: TestContext,
  files: Files,
): Promise<ConfigurationResult & { readonly directory: string }> {
  const directory = temporaryDirectory(t);
  const all = {
    'a.jwks.json': JSON.stringify({ keys: [a.publicJwk] }),
    'b.jwks.json': JSON.stringify({ keys: [{ ...b.publicJwk, alg: 'ES256', use: 'sig' }] }),
    'none.jwks.json': '{"keys":[]}',
    ...files,
  };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(directory, name), text);
  return { ...(await readConfiguration(join(directory, 'gateway.yaml'), backends)), directory };
}

function byLine(one: string, other: string): number {
  return Number.parseInt(one, 10) - Number.parseInt(other, 10) || (one < other ? -1 : 1);
}

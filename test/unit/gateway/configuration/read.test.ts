import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { backends } from '../../../../gateway/backends/index.ts';
import { defaultBounds } from '../../../../gateway/scheduling/limit.ts';
import { readConfiguration, type ConfigurationResult } from '../../../../gateway/configuration/read.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';
import { createSigner } from '../../../harness/gateway/signers.ts';

const [a, b] = [await createSigner('a'), await createSigner('b', 'ES256')];

const sound = `
pools:
  fast: { backend: image, dir: /srv/fast/, capacity: 10Gi, topology: { csi.fairlead.dev/zone: a } }
  files: { backend: dir, dir: /srv/files, concurrency: { max: 4 } }
clusters:
  east: { keys: a.jwks.json, pools: [fast], quota: { bytes: 10Ti, volumes: 500, pools: { fast: { snapshots: 9 } } } }
  west: { keys: b.jwks.json, issuer: kubernetes, acceptAnyNode: true, rate: { perSecond: 50 }, deadNodes: { after: 45s }, readers: none.jwks.json }
operators: { keys: none.jwks.json, readers: none.jwks.json }
`;

test('a file lists pools, clusters and operators', async t => {
  const { configuration, files, directory } = await read(t, { 'gateway.yaml': sound });
  assert.ok(configuration);
  const topology = { 'csi.fairlead.dev/zone': 'a' };
  assert.deepEqual(configuration.file.pools, {
    fast: {
      backend: 'image',
      topology,
      concurrency: defaultBounds,
      settings: { dir: '/srv/fast', capacity: 10 * 2 ** 30 },
    },
    files: {
      backend: 'dir',
      topology: undefined,
      concurrency: { min: 4, max: 4 },
      settings: { dir: '/srv/files' },
    },
  });
  const quota = { bytes: 10 * 2 ** 40, volumes: 500, pools: { fast: { snapshots: 9 } } };
  const east = { name: 'east', acceptAnyNode: false, pools: ['fast'], quota };
  const west = { name: 'west', acceptAnyNode: true, rate: { perSecond: 50 }, deadNodes: { after: 45_000 } };
  const [ofA, ofB] = [a, b].map(({ publicJwk: { crv, x } }) => `key ${crv} ${x}`);
  assert.deepEqual(Object.fromEntries(configuration.enrolment.owners), {
    [a.kid]: { caller: { role: 'controller', cluster: east }, issuer: 'east', material: ofA },
    [b.kid]: { caller: { role: 'controller', cluster: west }, issuer: 'kubernetes', material: ofB },
  });
  const names = ['gateway.yaml', 'a.jwks.json', 'b.jwks.json', 'none.jwks.json'];
  assert.deepEqual([...files.keys()].sort(), names.map(name => join(directory, name)).sort());
});

test('a file that names YAML 1.1 is read as any other', async t => {
  const text = '%YAML 1.1\n---\npools: { on: { backend: image, dir: /srv, capacity: 010 } }\n';
  const { configuration } = await read(t, { 'gateway.yaml': text });
  const pool = { topology: undefined, concurrency: defaultBounds };
  assert.deepEqual(configuration?.file.pools, {
    on: { backend: 'image', ...pool, settings: { dir: '/srv', capacity: 10 } },
  });
});

test('every fault of the file is reported at once, in plain words and with advice', async t => {
  const text = `
pools:
  one: { backend: image, dri: /srv, concurrency: { mni: 2, max: many } }
  two: { backend: imag }
  far: { backend: rest, url: https://x, tls: { caa: x } }
clustres: {}
clusters:
  east: { key: a.jwks.json, quota: { byte: 1 } }
operators: 3
`;
  const { faults } = await read(t, { 'gateway.yaml': text });
  const found = faults.map(fault =>
    fault.replace(/^.*gateway\.yaml:/, '').replace(/: no such package.*/, ''),
  );
  assert.deepEqual(found, [
    '3: pools.one.concurrency.max: must be a number, but is text',
    '3: pools.one.concurrency.mni: is not known (did you mean "min"?)',
    '3: pools.one.dir: is missing; give text',
    '3: pools.one.dri: is not known (did you mean "dir"?)',
    '4: pools.two.backend: "imag" is neither a built-in backend (ceph, dir, image, lvm, memory, rest, zfs) nor a package with a backend (did you mean "image"?)',
    '5: pools.far.tls.caa: is not known (did you mean "ca"?)',
    '8: clusters.east.quota.byte: is not known (did you mean "bytes"?)',
    '8: clusters.east.key: is not known (did you mean "keys"?)',
    '8: clusters.east: needs "keys" or "serviceAccount"',
    '9: operators: must be an object with members, but is a number',
    '6: clustres: is not known (did you mean "clusters"?)',
  ]);
});

test('members are checked although the kind of their pool or export is not known', async t => {
  const text = `
pools:
  one: { backnd: image, capcity: 1Gi, dir: srv, url: 1 }
  two: { backend: image, dir: /srv, export: { protocol: floppy, addresses: [nowhere], adresses: [] } }
`;
  const { faults } = await read(t, { 'gateway.yaml': text });
  assert.deepEqual(
    faults.map(fault => fault.replace(/^.*gateway\.yaml:/, '')),
    [
      '3: pools.one.backend: must be one of "ceph", "dir", "image", "lvm", "memory", "rest", "zfs"',
      '3: pools.one.backnd: is not known (did you mean "backend"?)',
      '3: pools.one.capcity: is not known (did you mean "capacity"?)',
      '3: pools.one.dir: "srv" is not an absolute path',
      '3: pools.one.url: must be text, but is a number',
      '4: pools.two.export.protocol: "floppy" is none of loop, nvme-tcp, iscsi, libvirt, nfs',
      '4: pools.two.export.addresses: is no list of 1 to 16 different addresses with ports, such as 192.0.2.10:4420',
      '4: pools.two.export.adresses: is not known (did you mean "addresses"?)',
    ],
  );
});

test('a backend named like a member of every object hides no other fault', async t => {
  const text = `
pools:
  one: { backend: toString, concurrency: { typo: 1 } }
  two: { backend: image }
`;
  const { faults } = await read(t, { 'gateway.yaml': text });
  assert.deepEqual(
    faults.map(fault => fault.replace(/^.*gateway\.yaml:/, '').replace(/ is neither .*/, '')),
    [
      '3: pools.one.backend: "toString"',
      '3: pools.one.concurrency.typo: is not known',
      '4: pools.two.dir: is missing; give text',
    ],
  );
});

test('members named like those of every object are not known, and hide no other fault', async t => {
  const text = `
pools:
  one: { dir: /srv, toString: 3 }
  two: { backend: image, dir: /srv, export: { constructor: 3, protocol: floppy } }
clusters:
  east: { constructor: 3 }
`;
  const { faults } = await read(t, { 'gateway.yaml': text });
  assert.deepEqual(
    faults.map(fault => fault.replace(/^.*gateway\.yaml:/, '')),
    [
      '3: pools.one.backend: must be one of "ceph", "dir", "image", "lvm", "memory", "rest", "zfs"',
      '3: pools.one.toString: is not known',
      '4: pools.two.export.protocol: "floppy" is none of loop, nvme-tcp, iscsi, libvirt, nfs',
      '4: pools.two.export.constructor: is not known',
      '6: clusters.east.constructor: is not known',
      '6: clusters.east: needs "keys" or "serviceAccount"',
    ],
  );
});

const config = (text: string): Files => ({ 'gateway.yaml': text });
const far = 'backend: rest, url: https://nas.example';
const concurrencies: readonly (readonly [entry: string, bounds: object | RegExp])[] = [
  [`${far}, connections: 5`, { min: 5, max: 5 }],
  [`${far}, connections: 200`, { min: 8, max: 64 }],
  [`${far}, connections: 200, concurrency: { min: 100 }`, { min: 100, max: 100 }],
  [
    `${far}, connections: 5, concurrency: { max: 6 }`,
    /pools\.one\.concurrency: max is 6, but the pool's settings allow at most 5/,
  ],
  ['backend: memory, concurrency: { max: 500 }', { min: 8, max: 500 }],
  [
    'backend: memory, concurrency: { min: 9, max: 7 }',
    /pools\.one\.concurrency: min is 9, which is more than max, 7/,
  ],
  ['backend: memory, concurrency: { min: 0 }', /pools\.one\.concurrency\.min: must be at least 1/],
];
for (const [entry, expected] of concurrencies)
  test(`a pool with ${entry} is given ${expected instanceof RegExp ? 'nothing' : JSON.stringify(expected)}`, async t => {
    const { configuration, faults } = await read(t, config(`pools: { one: { ${entry} } }`));
    if (expected instanceof RegExp) assert.match(faults.join(), expected);
    else assert.deepEqual([configuration?.file.pools['one']?.concurrency, faults], [expected, []]);
  });

test('all faults are reported at once, each with its line and its path', async t => {
  const text = `pools:
  fast:
    backend: image
    dir: srv
    capacity: lots
    colour: red
  old: { backend: floppy }
  Bad_Name: { backend: memory }
clusters:
  east: { keys: a.jwks.json, pools: [fast, slow], quota: { volumes: -5, pools: { slow: {} } }, deadNodes: { after: 5s } }
operators: {}
extra: 1
`;
  const { faults, directory } = await read(t, { 'gateway.yaml': text });
  const expected = [
    /^4: pools\.fast\.dir: "srv" is not an absolute path$/,
    /^5: pools\.fast\.capacity: "lots" is not a number of bytes/,
    /^6: pools\.fast\.colour: is not known$/,
    /^7: pools\.old\.backend: "floppy" is neither a built-in backend \(ceph, dir, image, lvm, memory.*: no such package is installed at/,
    /^8: pools\.Bad_Name: must have lower-case letters/,
    /^10: clusters\.east\.deadNodes\.after: "5s" is not between 20s and 1h$/,
    /^10: clusters\.east\.pools\.1: there is no pool "slow"$/,
    /^10: clusters\.east\.quota\.pools\.slow: there is no pool "slow"$/,
    /^10: clusters\.east\.quota\.volumes: must be at least 0/,
    /^11: operators: needs "keys", "readers" or "oidc"$/,
    /^12: extra: is not known$/,
  ];
  const found = faults.map(fault => fault.replace(`${join(directory, 'gateway.yaml')}:`, '')).sort(byLine);
  assert.equal(found.length, expected.length, found.join('\n'));
  for (const [index, pattern] of expected.entries()) assert.match(found[index] ?? '', pattern);
});

const change = (from: string, to: string): Files => config(sound.replace(from, to));
const keys = (key: object): Files => ({ 'a.jwks.json': JSON.stringify({ keys: [key] }) });
const account = 'subject: system:serviceaccount:a:b, keys: discovery';
const bad: readonly (readonly [name: string, files: Files, says: RegExp])[] = [
  [
    'a cluster that has no keys',
    change('keys: a.jwks.json, ', ''),
    /:6: clusters\.east: needs "keys" or "serviceAccount"/,
  ],
  ['an open bracket', config('pools: ['), /gateway\.yaml:1:9: .*; .*close brackets$/],
  ['a key without a colon', config('pools: {}\nfoo\nbar: 1\n'), /:2:1: a key is not on one line .*; add the/],
  ['a key that is too far right', config('a:\n b: c\n  d: e\n'), /:2:5: a value goes on with another key/],
  ['a tab', config('\tpools: {}\n'), /:1:1: a tab .*; use spaces$/],
  ['two documents', config(`${sound}---\n{}\n`), /gateway\.yaml:\d+:1: .* second document; keep one$/],
  ['a name that is there twice', config('pools: {}\npools: {}\n'), /:2:1: the key is .* twice; remove/],
  ['an unknown tag', config('pools: !x {}\n'), /:1:8: a tag .* is not known; put/],
  ['an unknown alias', config('pools: *x\n'), /gateway\.yaml: an alias .*; write its value out$/],
  ['an empty file', config(''), /gateway\.yaml: pools: /],
  ['a list', config('[1]'), /gateway\.yaml: /],
  [
    'an export that is none',
    change('capacity: 10Gi', 'export: { protocol: floppy }'),
    /:3: pools\.fast\.export\.protocol: "floppy" is none of loop, nvme-tcp, iscsi, libvirt, nfs$/,
  ],
  [
    'an export of earlier releases',
    change('capacity: 10Gi', 'export: { protocol: nbd }'),
    /:3: pools\.fast\.export\.protocol: "nbd" is no longer offered: choose one of loop, nvme-tcp, iscsi, libvirt, nfs$/,
  ],
  ['no pool', config('pools: {}'), /:1: pools: at least one pool is required$/],
  ['a prototype', change('files:', '__proto__:'), /"__proto__" is not known$/],
  ...(
    [
      ['an account that is none', 'issuer: x, subject: fairlead, keys: k', 'subject: is not system:'],
      ['an issuer that has no address', `issuer: kubernetes, ${account}`, 'issuer: "kubernetes" is not'],
      [
        'an issuer in the clear',
        `issuer: http://192.0.2.1, ${account}`,
        'issuer: "http.*" is another machine',
      ],
      ['an account without keys', 'issuer: x, subject: system:serviceaccount:a:b', 'keys: '],
    ] as const
  ).map(
    ([name, entry, says]) =>
      [
        name,
        change('keys: a.jwks.json', `serviceAccount: { ${entry} }`),
        new RegExp(`:6: clusters\\.east\\.serviceAccount\\.${says}`),
      ] as const,
  ),
  [
    'no topology key',
    change('csi.fairlead.dev/zone', '-'),
    /:3: pools\.fast\.topology\.-: is not a topology key$/,
  ],
];
for (const [name, files, says] of bad)
  test(`${name} is one fault, on one line, without a key in it`, async t => {
    const { faults, configuration } = await read(t, { 'gateway.yaml': sound, ...files });
    assert.equal(configuration, undefined);
    const [fault = '', ...others] = faults;
    assert.deepEqual(others, []);
    assert.match(fault, says);
    assert.ok(!fault.includes('\n') && !fault.includes(String(a.privateJwk.d)));
  });

const badKeys: readonly (readonly [name: string, files: Files, says: RegExp, cluster?: string])[] = [
  [
    'no key file',
    change('a.jwks.json', 'nope.json'),
    /nope\.json: cannot be read: it does not exist, or its directory does not$/,
  ],
  ['a key file that is no JSON', { 'a.jwks.json': '{' }, /a\.jwks\.json: is not JSON$/],
  ['no set of keys', { 'a.jwks.json': '{}' }, /a\.jwks\.json: keys: /],
  ['a private key', keys(a.privateJwk), /a\.jwks\.json: keys\.0: is a private or secret key/],
  ['a secret key', keys({ kty: 'oct', k: 'AAAA', kid: 'x' }), /is a private or secret key/],
  ['a key without kid', keys({ ...a.publicJwk, kid: undefined }), /keys\.0\.kid: /],
  ['an RSA key', keys({ kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'x' }), /keys\.0: is neither/],
  ['another curve', keys({ ...b.publicJwk, crv: 'P-384' }), /keys\.0: is neither/],
  [
    'another alg',
    keys({ ...a.publicJwk, alg: 'HS256' }),
    /keys\.0: has the alg "HS256", which must be "EdDSA"/,
  ],
  ['a key for encryption', keys({ ...a.publicJwk, use: 'enc' }), /keys\.0\.use: /],
  ['a malformed key', keys({ ...a.publicJwk, x: '!' }), /is malformed$/],
  [
    'a kid in two clusters',
    keys({ ...a.publicJwk, kid: b.kid }),
    /is enrolled twice; give each key its own kid$/,
    'west',
  ],
  [
    'one key in two clusters',
    keys({ ...b.publicJwk, kid: 'x' }),
    /is also enrolled under another kid; enrol it once$/,
    'west',
  ],
];
for (const [name, files, says, cluster = 'east'] of badKeys)
  test(`${name} affects one cluster's tokens only, and is reported without a key`, async t => {
    const { faults, keyFaults, configuration } = await read(t, { 'gateway.yaml': sound, ...files });
    assert.deepEqual(faults, []);
    assert.deepEqual(
      [...(configuration?.enrolment.owners.values() ?? [])].map(({ issuer }) => issuer),
      cluster === 'east' ? ['kubernetes'] : ['east'],
    );
    const [fault, ...others] = keyFaults;
    assert.deepEqual([fault?.cluster, others], [cluster, []]);
    assert.match(fault?.detail ?? '', says);
    assert.ok(!fault?.detail.includes('\n') && !fault?.detail.includes(String(a.privateJwk.d)));
  });

type Files = Readonly<Record<string, string>>;

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

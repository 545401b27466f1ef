import assert from 'node:assert/strict';
import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Clusters } from '../../../../gateway/http/auth.ts';
import { openClusters } from '../../../../gateway/http/clusters.ts';
import { createMemoryLog, createSigner, temporaryDirectory } from '../../../harness/gateway-harness.ts';

const [a, b, other] = [
  await createSigner('a'),
  await createSigner('b', 'ES256'),
  await createSigner('other'),
];

test('each key leads to its cluster', async t => {
  const { open } = prepare(t);
  const enrolment = await (await open()).current();
  assert.deepEqual([...enrolment.keys()].sort(), [a.kid, b.kid].sort());
  assert.deepEqual(enrolment.get(a.kid)?.cluster, { name: 'a', issuer: 'issuer-a', acceptAnyNode: false });
  assert.deepEqual(enrolment.get(b.kid)?.cluster, { name: 'b', issuer: 'issuer-b', acceptAnyNode: true });
  assert.equal(enrolment.get(a.kid)?.algorithm, 'EdDSA');
  assert.equal(enrolment.get(b.kid)?.algorithm, 'ES256');
});

test('a key that is added or removed counts at the next look, and an unchanged file is the same enrolment', async t => {
  const { open, write } = prepare(t);
  const clusters = await open();
  const first = await clusters.current();
  assert.equal(await clusters.current(), first);
  write('a.jwks.json', { keys: [other.publicJwk] });
  assert.deepEqual([...(await clusters.current()).keys()].sort(), [b.kid, other.kid].sort());
});

test('files are not looked at more often than asked', async t => {
  const { open, write } = prepare(t);
  const clusters = await open(60_000);
  const first = await clusters.current();
  write('a.jwks.json', { keys: [] });
  assert.equal(await clusters.current(), first);
});

test('a file that becomes malformed keeps what was read last, is logged once, and is read when it is well again', async t => {
  const { open, write, lines } = prepare(t);
  const clusters = await open();
  const first = await clusters.current();
  write('clusters.json', 'not json');
  assert.equal(await clusters.current(), first);
  assert.equal(await clusters.current(), first);
  assert.equal(lines.filter(line => line.startsWith('error')).length, 1);
  write('clusters.json', { clusters: [{ name: 'a', issuer: 'a', jwksFile: 'a.jwks.json' }] });
  assert.deepEqual([...(await clusters.current()).keys()], [a.kid]);
});

test('a file that is gone keeps what was read last', async t => {
  const { open, directory } = prepare(t);
  const clusters = await open();
  const first = await clusters.current();
  rmSync(join(directory, 'a.jwks.json'));
  assert.equal(await clusters.current(), first);
});

const faults: readonly { name: string; files: Readonly<Record<string, unknown>>; says: RegExp }[] = [
  { name: 'no JSON', files: { 'clusters.json': '{' }, says: /clusters.json" is not JSON$/ },
  { name: 'an unknown member', files: clustersFile({ color: 'red' }), says: /"color" is not known$/ },
  {
    name: 'a bad cluster name',
    files: clustersFile({ name: 'A.b' }),
    says: /name: must have lower-case letters/,
  },
  { name: 'no issuer', files: clustersFile({ issuer: '' }), says: /clusters.0.issuer: / },
  {
    name: 'a key set that is not there',
    files: clustersFile({ jwksFile: 'none' }),
    says: /cannot read .*none" \(ENOENT\)/,
  },
  {
    name: 'a cluster that is there twice',
    files: clustersFile({ name: 'b' }),
    says: /cluster "b" is there twice/,
  },
  { name: 'a key set without keys', files: { 'a.jwks.json': {} }, says: /keys: expected array/ },
  { name: 'a private key', files: keys(a.privateJwk), says: /is a private or secret one/ },
  {
    name: 'a secret key',
    files: keys({ kty: 'oct', k: 'AAAA', kid: 'x' }),
    says: /is a private or secret one/,
  },
  { name: 'a key without kid', files: keys({ ...a.publicJwk, kid: undefined }), says: /keys.0.kid: / },
  {
    name: 'an RSA key',
    files: keys({ kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'x' }),
    says: /neither Ed25519 nor P-256/,
  },
  { name: 'another curve', files: keys({ ...b.publicJwk, crv: 'P-384' }), says: /neither Ed25519 nor P-256/ },
  {
    name: 'another alg',
    files: keys({ ...a.publicJwk, alg: 'HS256' }),
    says: /must have the alg "EdDSA" or none/,
  },
  { name: 'a key for encryption', files: keys({ ...a.publicJwk, use: 'enc' }), says: /keys.0.use: / },
  { name: 'a malformed key', files: keys({ ...a.publicJwk, x: '!' }), says: /is malformed/ },
  { name: 'a kid in two clusters', files: keys({ ...a.publicJwk, kid: b.kid }), says: /is enrolled twice/ },
  {
    name: 'one key in two clusters',
    files: keys({ ...b.publicJwk, kid: 'x' }),
    says: /under another kid too/,
  },
];
for (const { name, files, says } of faults) {
  test(`${name} is a fault, told in one line`, async t => {
    const { open, write } = prepare(t);
    for (const [file, content] of Object.entries(files)) write(file, content);
    await assert.rejects(open(), (error: Error) => {
      assert.match(error.message, says);
      assert.ok(!error.message.includes('\n'));
      assert.ok(!error.message.includes(String(a.privateJwk.d)));
      return true;
    });
  });
}

function clustersFile(first: object): Record<string, unknown> {
  const clusters = [
    { name: 'a', issuer: 'issuer-a', jwksFile: 'a.jwks.json', ...first },
    { name: 'b', issuer: 'issuer-b', jwksFile: 'b.jwks.json', acceptAnyNode: true },
  ];
  return { 'clusters.json': { clusters } };
}

function keys(key: object): Record<string, unknown> {
  return { 'a.jwks.json': { keys: [key] } };
}

type Prepared = {
  readonly directory: string;
  readonly lines: readonly string[];
  write(file: string, content: unknown): void;
  open(checkEveryMs?: number): Promise<Clusters>;
};

/** Files that are well: cluster a with an Ed25519 key, cluster b with a P-256 key. */
function prepare(t: TestContext): Prepared {
  const directory = temporaryDirectory(t);
  const { log, lines } = createMemoryLog();
  let writes = 0;
  const write = (file: string, content: unknown): void => {
    const path = join(directory, file);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    // Each write shows in the time of change, however coarse the clock of the filesystem is.
    utimesSync(path, new Date(), new Date(Date.now() + ++writes * 1_000));
  };
  write('a.jwks.json', { keys: [a.publicJwk] });
  write('b.jwks.json', { keys: [{ ...b.publicJwk, alg: 'ES256', use: 'sig' }] });
  write('clusters.json', clustersFile({})['clusters.json']);
  const path = join(directory, 'clusters.json');
  return { directory, lines, write, open: (checkEveryMs = 0) => openClusters(path, { log, checkEveryMs }) };
}

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import type { Problem } from '../../../../src/api/problem.ts';
import { createIdentity } from '../../../../gateway/pools/identity.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';
import { createSigner } from '../../../harness/gateway/signers.ts';
import { runGateway } from '../../../harness/gateway/program.ts';

test('the first token makes a key that nobody else can read, and that others verify by the public set', async t => {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'keys.json');
  const identity = createIdentity('hq', file);
  const twin = createIdentity('hq', file);
  const [token] = await Promise.all([identity.token('acme', false), twin.token('acme', false)]);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(directory), ['keys.json']);
  const keySet = await identity.keySet();
  assert.deepEqual(await twin.keySet(), keySet);
  assert.deepEqual(
    keySet.keys.map(key => Object.keys(key).filter(name => key[name as 'd'] !== undefined)),
    [['kty', 'crv', 'x', 'kid', 'alg', 'use']],
  );
  const options = { audience: 'acme', issuer: 'hq', subject: 'hq', algorithms: ['EdDSA'] };
  const { payload } = await jwtVerify(token, createLocalJWKSet(keySet), options);
  assert.equal((payload.exp ?? 0) - (payload.iat ?? 0), 300);
  assert.equal(await identity.token('acme', false), token);
  assert.notEqual(await identity.token('other', false), token);
});

test('the first key signs and all keys are published, so that they can be rotated', async t => {
  const file = join(temporaryDirectory(t), 'keys.json');
  const [old, next] = [await createSigner('old'), await createSigner('next', 'ES256')];
  const signs = async (...signers: readonly (typeof old)[]): Promise<unknown> => {
    writeFileSync(file, JSON.stringify({ keys: signers.map(({ privateJwk }) => privateJwk) }));
    const identity = createIdentity('hq', file);
    const { keys } = await identity.keySet();
    assert.deepEqual(
      keys.map(({ kid }) => kid),
      signers.map(({ kid }) => kid),
    );
    return decodeProtectedHeader(await identity.token('acme', true)).kid;
  };
  assert.equal(await signs(old, next), old.kid);
  assert.equal(await signs(next, old), next.kid);
  assert.equal(await signs(next), next.kid);
});

test('a clock that goes back does not keep a replaced key in use', async t => {
  const file = join(temporaryDirectory(t), 'keys.json');
  const [old, next] = [await createSigner('old'), await createSigner('next')];
  const write = ({ privateJwk }: typeof old): void =>
    writeFileSync(file, JSON.stringify({ keys: [privateJwk] }));
  const { now } = performance;
  write(old);
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const identity = createIdentity('hq', file);
  const signedBy = async () => decodeProtectedHeader((await identity.signDetached({}, 'content')) ?? '').kid;
  const published = async () => (await identity.keySet()).keys.map(({ kid }) => kid);
  assert.deepEqual([await signedBy(), await published()], [old.kid, [old.kid]]);
  write(next);
  t.mock.timers.setTime(Date.now() - 3_600_000);
  t.mock.method(performance, 'now', () => now.call(performance) + 1_000);
  assert.deepEqual([await signedBy(), await published()], [next.kid, [next.kid]]);
});

test('the error of an unusable key file shows none of its content', async t => {
  const file = join(temporaryDirectory(t), 'keys.json');
  const { privateJwk } = await createSigner('hq');
  const { kid: _, ...nameless } = privateJwk;
  const contents = ['', '{}', '{"keys":[]}', '{"keys":[{}]}', JSON.stringify({ keys: [nameless] })];
  for (const content of contents) {
    writeFileSync(file, content);
    await assert.rejects(createIdentity('hq', file).token('acme', false), ({ code, message }: Problem) => {
      assert.ok(message.includes(file) && !message.includes(String(privateJwk.d)));
      return code === 'UNAVAILABLE';
    });
    assert.equal(readFileSync(file, 'utf8'), content);
  }
});

test('a gateway publishes its keys to everybody from its start, and makes none on request', async t => {
  const pools = { main: { backend: 'memory' } };
  const { url, directory } = await runGateway(t, {
    pools,
    flags: { 'key-file': join(temporaryDirectory(t), 'missing', 'k') },
  });
  const answer = await fetch(`${url}/.well-known/jwks.json`);
  assert.deepEqual([answer.status, await answer.json()], [200, { keys: [] }]);
  const made = await runGateway(t, { pools, flags: { 'key-file': join(temporaryDirectory(t), 'k') } });
  const published = (await (await fetch(`${made.url}/.well-known/jwks.json`)).json()) as { keys: object[] };
  assert.equal(published.keys.length, 1);
  const { privateJwk, publicJwk } = await createSigner('hq');
  const file = join(directory, 'own.json');
  writeFileSync(file, JSON.stringify({ keys: [privateJwk] }));
  const other = await runGateway(t, { pools, flags: { 'key-file': file } });
  const { keys } = (await (await fetch(`${other.url}/.well-known/jwks.json`)).json()) as { keys: object[] };
  assert.deepEqual(keys, [{ ...publicJwk, alg: 'EdDSA', use: 'sig' }]);
  writeFileSync(file, JSON.stringify({ keys: [publicJwk] }));
  // The content is shown for a moment longer.
  const refused = await poll(
    async () => {
      const { status, body } = await fetch(`${other.url}/.well-known/jwks.json`).then(read);
      return status === 200 ? undefined : { status, body };
    },
    { everyMs: 100, timeoutMs: 10_000 },
  );
  assert.equal(refused?.status, 503);
  assert.ok(!refused.body.includes(directory), refused.body);
});

async function read(response: Response): Promise<{ readonly status: number; readonly body: string }> {
  return { status: response.status, body: await response.text() };
}

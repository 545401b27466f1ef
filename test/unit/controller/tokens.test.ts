import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test, type TestContext } from 'node:test';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import type { Problem } from '../../../src/api/problem.ts';
import { createTokenSource, readKey, type TokenSource } from '../../../src/controller/tokens.ts';
import { keyFileOf, makeKey } from './keys.ts';

const lifetimeMs = 60_000;
const sourceOf = (keyFile: string): TokenSource =>
  createTokenSource({ keyFile, issuer: 'iss-a', audience: 'aud-a', lifetimeMs });

for (const alg of ['EdDSA', 'ES256'] as const) {
  test(`a token signed with ${alg} names key, issuer, audience and its short life`, async t => {
    const { jwk, publicKey } = await makeKey(alg, 'k1');
    const token = await sourceOf(await keyFileOf(t, jwk))(false);
    const { payload, protectedHeader } = await jwtVerify(token, publicKey, {
      algorithms: [alg],
      issuer: 'iss-a',
      audience: 'aud-a',
    });
    assert.deepEqual(protectedHeader, { alg, kid: 'k1' });
    assert.equal(Number(payload.exp) - Number(payload.iat), 60);
    assert.ok(Math.abs(Number(payload.iat) - Date.now() / 1_000) < 5);
  });
}

test('a token is used again until a fifth of its life is left', async t => {
  const { jwk } = await makeKey('EdDSA', 'k1');
  const keyFile = await keyFileOf(t, jwk);
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000_000_000 });
  const token = sourceOf(keyFile);
  const first = await token(false);
  t.mock.timers.setTime(1_000_000_000_000 + lifetimeMs * 0.8 - 1);
  assert.equal(await token(false), first);
  t.mock.timers.setTime(1_000_000_000_000 + lifetimeMs * 0.8);
  const second = await token(false);
  assert.notEqual(second, first);
  assert.equal(await token(false), second);
});

test('a key file that was replaced is used at the next renewal, and not before', async t => {
  const [one, two] = await Promise.all([makeKey('EdDSA', 'k1'), makeKey('ES256', 'k2')]);
  const keyFile = await keyFileOf(t, one.jwk);
  const token = sourceOf(keyFile);
  const first = await token(false);
  await writeFile(keyFile, JSON.stringify(two.jwk));
  assert.equal(await token(false), first);
  const renewed = await token(true);
  assert.deepEqual(decodeProtectedHeader(renewed), { alg: 'ES256', kid: 'k2' });
  await jwtVerify(renewed, two.publicKey);
  assert.equal(await token(false), renewed);
});

test('a key file that is in replacement just now is UNAVAILABLE, and works later', async t => {
  const { jwk } = await makeKey('EdDSA', 'k1');
  const keyFile = await keyFileOf(t, '');
  const token = sourceOf(keyFile);
  await assert.rejects(async () => token(false), { code: 'UNAVAILABLE' });
  await writeFile(keyFile, JSON.stringify(jwk));
  assert.equal(decodeProtectedHeader(await token(false)).kid, 'k1');
});

const { jwk: good } = await makeKey('EdDSA', 'k1');
const { jwk: curve } = await makeKey('ES256', 'k1');
const { d: secret = '', ...publicOnly } = good;

const bad: readonly (readonly [name: string, content: unknown, says: RegExp])[] = [
  ['nothing', '', /is not JSON$/],
  ['half a key', JSON.stringify(good).slice(0, -10), /is not JSON$/],
  ['null', null, /is not a private JWK with kid/],
  ['a number', 5, /is not a private JWK/],
  ['a list', [good], /is not a private JWK/],
  ['a set of keys', { keys: [good] }, /is not a private JWK/],
  ['a public key alone', publicOnly, /is not a private JWK/],
  ['a key without kid', { ...good, kid: undefined }, /is not a private JWK/],
  ['an empty kid', { ...good, kid: '' }, /is not a private JWK/],
  ['a kid that is no text', { ...good, kid: 5 }, /is not a private JWK/],
  ['a shared secret', { kty: 'oct', k: 'c2VjcmV0', kid: 'k1', alg: 'HS256' }, /is not a private JWK/],
  ['a key on another curve', { ...curve, crv: 'P-384' }, /is not a private JWK/],
  ['a private part that is cut', { ...good, d: secret.slice(0, 20) }, /holds a key that cannot be used$/],
  ['a private part that is no text', { ...good, d: 5 }, /holds a key that cannot be used$/],
  ['a point that is on no curve', { ...curve, x: curve.y }, /holds a key that cannot be used$/],
];

for (const [name, content, says] of bad) {
  test(`a key file with ${name} is UNAVAILABLE, and the message names the file and shows nothing of it`, async t => {
    await refuses(t, await keyFileOf(t, content), says);
  });
}

test('a key file that is missing is UNAVAILABLE', t =>
  refuses(t, '/nowhere/key.json', /cannot be read \(ENOENT\)$/));

test('a key that may not sign is UNAVAILABLE', async t => {
  const keyFile = await keyFileOf(t, { ...good, key_ops: [] });
  await assert.rejects(
    async () => sourceOf(keyFile)(false),
    (error: Problem) => {
      assert.equal(error.code, 'UNAVAILABLE');
      assert.match(error.detail, /holds a key that (may not sign|cannot be used)$/);
      return true;
    },
  );
});

async function refuses(_t: TestContext, keyFile: string, says: RegExp): Promise<void> {
  await assert.rejects(readKey(keyFile), (error: Problem) => {
    assert.equal(error.code, 'UNAVAILABLE');
    assert.ok(error.detail.startsWith(`key file "${keyFile}" `), error.detail);
    assert.match(error.detail, says);
    assert.ok(!`${error.stack} ${String(error.cause)}`.includes(secret.slice(0, 12)));
    return true;
  });
}

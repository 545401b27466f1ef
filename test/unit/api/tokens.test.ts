import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { Problem } from '../../../src/api/problem.ts';
import { createTokenSource, type TokenSource } from '../../../src/api/http/tokens.ts';
import { createSigner } from '../../harness/gateway/signers.ts';
import { temporaryFile } from '../../harness/temporary.ts';

const lifetimeMs = 60_000;
const sourceOf = (keyFile: string): TokenSource =>
  createTokenSource({ keyFile, issuer: 'iss-a', audience: 'aud-a', lifetimeMs });

for (const alg of ['EdDSA', 'ES256'] as const) {
  test(`a token signed with ${alg} has key, issuer, audience and its short lifetime`, async t => {
    const { privateJwk, publicKey } = await createSigner('k1', alg);
    const token = await sourceOf(temporaryFile(t, privateJwk))(false);
    const { payload, protectedHeader } = await jwtVerify(token, publicKey, {
      algorithms: [alg],
      issuer: 'iss-a',
      subject: 'iss-a',
      audience: 'aud-a',
    });
    assert.deepEqual(protectedHeader, { alg, kid: `k1-${alg}` });
    assert.equal(Number(payload.exp) - Number(payload.iat), 60);
    assert.ok(Math.abs(Number(payload.iat) - Date.now() / 1_000) < 5);
  });
}

test('a token is reused until a fifth of its lifetime is left', async t => {
  const { privateJwk } = await createSigner('k1', 'EdDSA');
  const keyFile = temporaryFile(t, privateJwk);
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

test('a replaced key file is used at the next renewal, and not before', async t => {
  const [one, two] = await Promise.all([createSigner('k1', 'EdDSA'), createSigner('k2', 'ES256')]);
  const keyFile = temporaryFile(t, one.privateJwk);
  const token = sourceOf(keyFile);
  const first = await token(false);
  await writeFile(keyFile, JSON.stringify(two.privateJwk));
  assert.equal(await token(false), first);
  const renewed = await token(true);
  assert.deepEqual(decodeProtectedHeader(renewed), { alg: 'ES256', kid: 'k2-ES256' });
  await jwtVerify(renewed, two.publicKey);
  assert.equal(await token(false), renewed);
});

const { privateJwk: good } = await createSigner('k1', 'EdDSA');
const { privateJwk: curve } = await createSigner('k1', 'ES256');
const { d: secret = '', ...publicOnly } = good;
const [noKey, unusable] = [/is not a private JWK with kid on the curve/, /holds a key that cannot be used$/];

const bad: readonly (readonly [name: string, content: unknown, fault: RegExp])[] = [
  ['nothing', '', noKey],
  ['half a key', JSON.stringify(good).slice(0, -10), noKey],
  ['null', null, noKey],
  ['a list', [good], noKey],
  ['a set of keys', { keys: [good] }, noKey],
  ['a public key alone', publicOnly, noKey],
  ['a key without kid', { ...good, kid: undefined }, noKey],
  ['an empty kid', { ...good, kid: '' }, noKey],
  ['a kid that is no text', { ...good, kid: 5 }, noKey],
  ['a shared secret', { kty: 'oct', k: 'c2VjcmV0', kid: 'k1', alg: 'HS256' }, noKey],
  ['a key on another curve', { ...curve, crv: 'P-384' }, noKey],
  ['a key of another type', { ...good, kty: 'EC' }, noKey],
  ['a private part that is cut', { ...good, d: secret.slice(0, 20) }, unusable],
  ['a private part that is no text', { ...good, d: 5 }, noKey],
  ['a point that is on no curve', { ...curve, x: curve.y }, unusable],
  ['a key that may not sign', { ...good, key_ops: [] }, unusable],
  ['a key for encryption', { ...good, use: 'enc' }, unusable],
];

for (const [name, content, fault] of bad)
  test(`a key file with ${name} is UNAVAILABLE, its error names the file without its content, and a replacement works`, async t => {
    const keyFile = temporaryFile(t, content);
    const token = sourceOf(keyFile);
    const error = await Promise.resolve(token(false)).catch((failure: unknown) => failure);
    assert.ok(error instanceof Problem, String(error));
    assert.equal(error.code, 'UNAVAILABLE');
    assert.ok(error.detail.startsWith(`key file "${keyFile}" `), error.detail);
    assert.match(error.detail, fault);
    assert.ok(!`${error.stack} ${String(error.cause)}`.includes(secret.slice(0, 12)));
    await writeFile(keyFile, JSON.stringify(good));
    assert.equal(decodeProtectedHeader(await token(false)).kid, 'k1-EdDSA');
  });

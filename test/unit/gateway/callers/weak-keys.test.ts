import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { findWeakness } from '../../../../src/api/http/weak-keys.ts';

const encode = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url');
const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' });
const rsaOf = (modulusLength: number, publicExponent = 65_537) =>
  jwkOf(generateKeyPairSync('rsa', { modulusLength, publicExponent }).publicKey);
const curveOf = (namedCurve: string) => jwkOf(generateKeyPairSync('ec', { namedCurve }).publicKey);
const [rsa, ed] = [rsaOf(2_048), jwkOf(generateKeyPairSync('ed25519').publicKey)];

for (const [name, key] of Object.entries({
  'an RSA key of 2,048 bits': rsa,
  'an RSA key of 3,072 bits': rsaOf(3_072),
  'an Ed25519 key': ed,
  'a P-256 key': curveOf('P-256'),
  'a P-384 key with an algorithm of its own': { ...curveOf('P-384'), alg: 'ES384' },
  'a short RSA key for encryption': { ...rsaOf(1_024), use: 'enc' },
}))
  test(`${name} is not weak`, () => assert.equal(findWeakness(key), undefined));

for (const [name, key, says] of [
  ['an RSA key of 1,024 bits', rsaOf(1_024), /is an RSA key of 1024 bits; use one of 2048/],
  ['an RSA key of 2,047 bits', { ...rsa, n: encode(`7f${'ff'.repeat(255)}`) }, /of 2047 bits/],
  [
    'an RSA key that is padded with zeros',
    { ...rsa, n: encode(`00${'00'.repeat(128)}80${'01'.repeat(127)}`) },
    /of 1024 bits/,
  ],
  ['an RSA key of 32,768 bits', { ...rsa, n: encode(`80${'01'.repeat(4_095)}`) }, /of 32768 bits/],
  ['an RSA key with the exponent 0', { ...rsa, e: encode('00') }, /exponent/],
  ['an RSA key with the exponent 1', { ...rsa, e: 'AQ' }, /exponent/],
  ['an RSA key with the exponent 1 behind zeros', { ...rsa, e: encode('00000001') }, /exponent/],
  ['an RSA key with the exponent 3', { ...rsa, e: 'Aw' }, /exponent/],
  ['an RSA key with an even exponent', { ...rsa, e: encode('010002') }, /exponent/],
  ['an RSA key with an exponent as long as its modulus', { ...rsa, e: rsa.n }, /exponent/],
  ['an RSA key with an even modulus', { ...rsa, n: encode(`80${'00'.repeat(255)}`) }, /modulus/],
  ['an RSA key without an exponent', { ...rsa, e: undefined }, /without numbers/],
  ['an RSA key whose modulus is no text', { ...rsa, n: 5 }, /without numbers/],
  ['a P-384 key', curveOf('P-384'), /another curve than P-256/],
  ['a P-521 key for ES256', { ...curveOf('P-521'), alg: 'ES256' }, /another curve than P-256/],
  ['a secp256k1 key', curveOf('secp256k1'), /another curve than P-256/],
  ["Ed25519's neutral point", { ...ed, x: encode(`01${'00'.repeat(31)}`) }, /small order/],
  [
    "Ed25519's neutral point with the other sign",
    { ...ed, x: encode(`01${'00'.repeat(30)}80`) },
    /small order/,
  ],
  [
    'an Ed25519 key of order 8',
    { ...ed, x: encode('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85') },
    /small order/,
  ],
] as const)
  test(`${name} is weak`, () => assert.match(findWeakness(key) ?? '', says));

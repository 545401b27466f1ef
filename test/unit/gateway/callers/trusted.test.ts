import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JWK } from 'jose';
import { createTrust, type TrustedKeys } from '../../../../gateway/callers/trust.ts';
import type { PublicKey } from '../../../../gateway/callers/keys.ts';
import {
  createAuthenticate,
  type Authenticator,
  type KeyOwner,
} from '../../../../gateway/callers/authenticate.ts';
import { callers, enrol } from '../../../harness/gateway.ts';
import { createSigner, type Signer } from '../../../harness/gateway/signers.ts';
import {
  account,
  forgeFor,
  makeIssuerKey,
  signAs,
  withExponentOne,
  type TokenChanges,
} from '../../../fakes/issuer.ts';
import { assertRefused } from './refused.ts';

/** The issuer name that every kubeadm uses. */
const issuer = 'https://kubernetes.default.svc.cluster.local';
const [rsa, other, elliptic] = await Promise.all([
  makeIssuerKey('one'),
  makeIssuerKey('one'),
  makeIssuerKey('two', 'ES256'),
]);
const [ed, small] = [await makeIssuerKey('three', 'EdDSA'), await makeIssuerKey('four', 'PS256')];
const nowS = Math.floor(Date.now() / 1_000);

for (const key of [rsa, elliptic])
  test(`a service account's token by ${key.alg} identifies its cluster's controller, repeatedly`, async () => {
    const authenticate = await authenticateWith({ a: [rsa.publicJwk, elliptic.publicJwk] });
    const token = await signAs(issuer, key);
    for (let time = 0; time < 3; time++)
      assert.deepEqual(await authenticate(`Bearer ${token}`), { ...callers['a'], subject: account });
  });

const badClaims: readonly (readonly [name: string, claims: TokenChanges, says: RegExp])[] = [
  ['another issuer', { iss: `${issuer}/` }, /its "iss" is not the name of a configured issuer/],
  ['no issuer', { iss: undefined }, /its "iss" is not the name of a configured issuer/],
  ['another audience', { aud: ['https://kubernetes.default.svc'] }, /"aud" is not accepted/],
  ['an audience beside ours', { aud: ['fairlead', 'vault'] }, /"aud" is not accepted/],
  ['no audience', { aud: undefined }, /"aud" is missing/],
  ['another subject', { sub: 'system:serviceaccount:fairlead:default' }, /"sub" is not accepted/],
  ['a subject that begins as ours', { sub: `${account}2` }, /"sub" is not accepted/],
  ['no subject', { sub: undefined }, /"sub" is not accepted/],
  ['a time that is over', { iat: nowS - 120, exp: nowS - 60 }, /has expired \("exp"\)/],
  ['no end', { exp: undefined }, /"exp" is missing/],
  ['a lifetime of a year', { exp: nowS + 31_536_000 }, /"exp" is more than 86400 seconds/],
  ['a start to come', { nbf: nowS + 600 }, /"nbf" is not accepted/],
];
for (const [name, claims, says] of badClaims)
  test(`a service account's token with ${name} is refused, and the error names the fault`, async () => {
    const authenticate = await authenticateWith({ a: [rsa.publicJwk], b: [elliptic.publicJwk] });
    await assertRefused(authenticate, await signAs(issuer, rsa, claims), says);
  });

test("a service account's token is valid if clocks differ by a minute, and a refusal has the difference", async () => {
  const authenticate = await authenticateWith({ a: [rsa.publicJwk] });
  for (const aheadS of [12, 58])
    await authenticate(`Bearer ${await signAs(issuer, rsa, { iat: nowS + aheadS, nbf: nowS + aheadS })}`);
  await authenticate(
    `Bearer ${await signAs(issuer, rsa, { iat: nowS - 600, nbf: nowS - 600, exp: nowS - 50 })}`,
  );
  await assertRefused(
    authenticate,
    await signAs(issuer, rsa, { iat: nowS + 90 }),
    /issued (8\d|90) s in the future/,
  );
  await assertRefused(
    authenticate,
    await signAs(issuer, rsa, { nbf: nowS + 90 }),
    /begins (8\d|90) s in the future/,
  );
});

test("a weak key in an issuer's file verifies no token, and is reported", async () => {
  const weak = withExponentOne({ ...rsa, publicJwk: { ...rsa.publicJwk, kid: 'weak' } });
  const faults: string[] = [];
  const trust = trustOf({ a: [weak.publicJwk, elliptic.publicJwk] }, fault => faults.push(fault));
  assert.deepEqual(faults, [
    'a: the key with kid "weak" is an RSA key whose exponent or modulus proves nothing; use one with the exponent 65537',
  ]);
  await assertRefused(authenticateBy(trust), await forgeFor(issuer, weak), /"kid"/);
  await authenticateBy(trust)(`Bearer ${await signAs(issuer, elliptic)}`);
});

const confusions: Readonly<Record<string, () => Promise<string>>> = {
  "another key's signature under the kid": () => signAs(issuer, other),
  'an algorithm that is not for issuers': () => signAs(issuer, ed),
  'another algorithm of the same key': () =>
    signAs(issuer, { ...small, publicJwk: { ...small.publicJwk, kid: 'four' } }),
  'no signature': async () => unsigned(await signAs(issuer, rsa), { alg: 'none', kid: 'one' }),
  'the public key as an HMAC secret': () =>
    signAs(issuer, { ...rsa, alg: 'HS256', privateKey: Buffer.from(String(rsa.publicJwk.n)) as never }),
  'a key in its own header': async () => signAs(issuer, other, { header: { jwk: other.publicJwk } }),
  'an address of keys in its header': async () =>
    signAs(issuer, other, { header: { jku: 'http://127.0.0.1:1/' } }),
};
for (const [name, make] of Object.entries(confusions))
  test(`a service account's token with ${name} is refused`, async () => {
    const all = [rsa, ed, small].map(({ publicJwk: { alg: _alg, ...key } }) => key);
    await assertRefused(await authenticateWith({ a: all }), await make(), /"kid"|not signed|malformed/);
  });

test("RS256 is refused for a caller's own keys, and EdDSA for an issuer's", async () => {
  const signer = await createSigner('a');
  const authenticate = await authenticateWith({ a: [rsa.publicJwk] }, { a: signer });
  await assertRefused(authenticate, await signAs('a', rsa, { header: { kid: signer.kid } }), /"kid"/);
  await assertRefused(authenticate, await signer.sign({ iss: issuer, sub: account }), /"kid"/);
  assert.equal((await authenticate(`Bearer ${await signer.sign()}`)).cluster?.name, 'a');
});

test('clusters that share the name of an issuer, and a kid, are told apart by their keys', async () => {
  const authenticate = await authenticateWith({ a: [rsa.publicJwk], b: [other.publicJwk] });
  for (const [key, name] of [
    [rsa, 'a'],
    [other, 'b'],
  ] as const)
    assert.equal((await authenticate(`Bearer ${await signAs(issuer, key)}`)).cluster?.name, name);
  const stranger = await makeIssuerKey('one');
  await assertRefused(authenticate, await signAs(issuer, stranger), /not signed with the key/);
  const says = /"sub" is not accepted/;
  await assertRefused(authenticate, await signAs(issuer, other, { sub: 'somebody' }), says);
});

test("another cluster's own key may have the kid of a service account's, without an effect on it", async () => {
  const signer = await createSigner('b');
  const named = { ...signer, publicJwk: { ...signer.publicJwk, kid: 'one' } };
  const authenticate = await authenticateWith({ a: [rsa.publicJwk] }, { b: named });
  assert.equal((await authenticate(`Bearer ${await signAs(issuer, rsa)}`)).cluster?.name, 'a');
  assert.equal((await authenticate(`Bearer ${await signer.sign({}, { kid: 'one' })}`)).cluster?.name, 'b');
});

test('a key that another cluster has for the same account stays with it, in every spelling', async () => {
  const n = Buffer.concat([Buffer.alloc(1), Buffer.from(String(rsa.publicJwk.n), 'base64url')]).toString(
    'base64',
  );
  for (const copy of [rsa.publicJwk, { ...rsa.publicJwk, n }]) {
    const faults: string[] = [];
    const report = (fault: string): void => void faults.push(fault);
    const first = trustOf({ b: [rsa.publicJwk] }, report);
    const both = trustOf({ a: [copy, elliptic.publicJwk], b: [rsa.publicJwk] }, report, first);
    assert.deepEqual(faults, [
      'a: the key with kid "one" is already enrolled for the same issuer and subject',
    ]);
    const authenticate = authenticateBy(both);
    assert.equal((await authenticate(`Bearer ${await signAs(issuer, rsa)}`)).cluster?.name, 'b');
    assert.equal((await authenticate(`Bearer ${await signAs(issuer, elliptic)}`)).cluster?.name, 'a');
  }
});

test("an issuer's key stays its cluster's while that cluster's file is broken, or gets another key", async () => {
  const faults: string[] = [];
  const report = ({ caller }: KeyOwner): void => void faults.push(caller.cluster?.name ?? '');
  let last = createTrust([entryOf('a', [rsa.publicJwk])], report);
  const clashing = entryOf('b', [rsa.publicJwk]);
  for (const [own, isAtFault] of [
    [[], true],
    [[], true],
    [[rsa.publicJwk, elliptic.publicJwk], false],
  ] as const)
    last = createTrust([clashing, { ...entryOf('a', own), isAtFault }], report, last);
  assert.deepEqual(faults, ['b', 'b', 'b']);
  assert.equal((await authenticateBy(last)(`Bearer ${await signAs(issuer, rsa)}`)).cluster?.name, 'a');
  last = createTrust([clashing, entryOf('a', [elliptic.publicJwk])], report, last);
  assert.equal((await authenticateBy(last)(`Bearer ${await signAs(issuer, rsa)}`)).cluster?.name, 'b');
});

test('two accounts of one cluster are two callers, even though they share its keys', async () => {
  const subject = 'system:serviceaccount:other:controller';
  const entries = [entryOf('a', [rsa.publicJwk]), { ...entryOf('b', [rsa.publicJwk]), subjects: [subject] }];
  const authenticate = authenticateBy(
    createTrust(entries, ({ caller }) => assert.fail(caller.cluster?.name)),
  );
  assert.equal((await authenticate(`Bearer ${await signAs(issuer, rsa)}`)).cluster?.name, 'a');
  const token = await signAs(issuer, rsa, { sub: subject });
  assert.equal((await authenticate(`Bearer ${token}`)).cluster?.name, 'b');
});

test("an account may have an audience of its own, which replaces the gateway's", async () => {
  const entry = { ...entryOf('a', [rsa.publicJwk]), audience: 'https://storage.example' };
  const authenticate = authenticateBy(createTrust([entry], () => assert.fail()));
  const token = await signAs(issuer, rsa, { aud: 'https://storage.example' });
  assert.equal((await authenticate(`Bearer ${token}`)).cluster?.name, 'a');
  await assertRefused(authenticate, await signAs(issuer, rsa), /"aud" is not accepted/);
});

type Keys = Readonly<Record<string, readonly JWK[]>>;

function entryOf(name: string, keys: readonly JWK[]): TrustedKeys {
  const caller = callers[name] ?? assert.fail(name);
  return { caller, issuer, subjects: [account], keys: keys as readonly PublicKey[] };
}

function trustOf(keys: Keys, report: (fault: string) => void, last?: ReturnType<typeof createTrust>) {
  const entries = Object.entries(keys).map(([name, own]) => entryOf(name, own));
  return createTrust(entries, ({ caller }, fault) => report(`${caller.cluster?.name}: ${fault}`), last);
}

async function authenticateWith(
  keys: Keys,
  signers: Readonly<Record<string, Signer>> = {},
): Promise<Authenticator> {
  const { trusted } = trustOf(keys, assert.fail);
  const enrolment = { ...(await enrol(signers)), trusted };
  return createAuthenticate(() => enrolment, 'fairlead');
}

function authenticateBy({ trusted }: ReturnType<typeof createTrust>): Authenticator {
  const enrolment = { keySet: () => assert.fail(), owners: new Map(), trusted };
  return createAuthenticate(() => enrolment, 'fairlead');
}

function unsigned(token: string, header: object): string {
  return `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${token.split('.')[1]}.`;
}

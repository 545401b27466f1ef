import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SignJWT, UnsecuredJWT, type JWTPayload } from 'jose';
import {
  createAuthenticate,
  type Authenticator,
  type Enrolment,
} from '../../../../gateway/callers/authenticate.ts';
import { clusters, enrol } from '../../../harness/gateway.ts';
import { createSigner, type Signer } from '../../../harness/gateway/signers.ts';
import { assertRefused } from './refused.ts';

const now = (): number => Math.floor(Date.now() / 1_000);

const sound: Readonly<Record<string, readonly ['EdDSA' | 'ES256', JWTPayload?]>> = {
  'by Ed25519': ['EdDSA'],
  'by P-256': ['ES256'],
  'for several audiences': ['EdDSA', { aud: ['other', 'fairlead'] }],
};
for (const [name, [algorithm, claims]] of Object.entries(sound))
  test(`a token that a cluster signed ${name} names the cluster, repeatedly`, async () => {
    const signer = await createSigner('a', algorithm);
    const authenticate = authenticateWith(await enrol({ a: signer }));
    const token = await signer.sign(claims);
    for (let i = 0; i < 3; i++) assert.equal(await nameOf(authenticate, token), 'a');
  });

type BadToken = readonly [name: string, make: (signer: Signer) => Promise<string>, says: RegExp];

const badClaims: readonly (readonly [name: string, claims: object, says: RegExp])[] = [
  ['another audience', { aud: 'other' }, /"aud" is not accepted/],
  ['no audience', { aud: undefined }, /"aud" is missing/],
  ['another issuer', { iss: 'b' }, /"iss" is not accepted/],
  ['no issuer', { iss: undefined }, /"iss" is missing/],
  ['a time that is over', { exp: now() - 60, iat: now() - 120 }, /has expired \("exp"\)/],
  ['no end', { exp: undefined }, /"exp" is missing/],
  ['no time of issue', { iat: undefined }, /"iat" is missing/],
  ['a lifetime over an hour', { exp: now() + 3_700 }, /"exp" is more than 3600 seconds/],
  ['a long age', { iat: now() - 86_400, exp: now() + 60 }, /"iat"/],
  ['a time of issue to come', { iat: now() + 600, exp: now() + 900 }, /"iat" is not accepted/],
  ['a start to come', { nbf: now() + 600 }, /"nbf" is not accepted/],
];

/** Makes the claims of a token whose issuer's clock is ahead by this many seconds, or behind if negative. */
const issuedAt = (aheadS: number) => ({
  iat: now() + aheadS,
  nbf: now() + aheadS,
  exp: now() + aheadS + 300,
});

test('clocks may differ by a minute, and a refusal has the excess', async () => {
  const signer = await createSigner('a');
  const authenticate = authenticateWith(await enrol({ a: signer }));
  for (const aheadS of [12, 58, -58, -358])
    assert.equal(await nameOf(authenticate, await signer.sign(issuedAt(aheadS))), 'a');
  const far: readonly (readonly [object, RegExp])[] = [
    [
      issuedAt(72),
      /"iat" is not accepted: it was issued 7[12] s in the future; .* clock .*differ.* 60 s are/,
    ],
    [
      { nbf: now() + 72 },
      /"nbf" is not accepted: it begins 7[12] s in the future; .* differ, and at most 60 s/,
    ],
    [
      issuedAt(-400),
      /has expired \("exp"\) 10[01] s ago: it is old, or the clock .* differ, and at most 60 s/,
    ],
  ];
  for (const [claims, says] of far) await assertRefused(authenticate, await signer.sign(claims), says);
});

const bad: readonly BadToken[] = [
  ...badClaims.map(([name, claims, says]): BadToken => [name, signer => signer.sign(claims), says]),
  ['no signature', async ({ kid }) => unsecured(kid), /malformed|"alg"|not signed/],
  ['the public key as an HMAC secret', confused, /or cannot be used with its "alg"$/],
  ['an unknown kid', signer => signer.sign({}, { kid: 'other' }), /"kid" is not an enrolled key/],
  ['no kid', signer => signer.sign({}, { kid: undefined }), /no "kid"/],
  [
    "another key's signature under a known kid",
    async ({ kid }) => (await createSigner('a')).sign({}, { kid }),
    /not signed with the key/,
  ],
  ['a changed payload', changedPayload, /not signed with the key/],
  ['nothing but dots', async () => '..', /malformed/],
  ['no structure', async () => 'garbage', /malformed/],
  ['too many characters', async () => 'x'.repeat(9_000), /has 9000 characters, more than 8192$/],
];
for (const [name, make, says] of bad)
  test(`a token with ${name} is refused, and the error names the fault, however many keys are enrolled`, async () => {
    const [signer, b] = [await createSigner('a'), await createSigner('b')];
    const token = await make(signer);
    for (const signers of [{ a: signer }, { a: signer, b }])
      await assertRefused(authenticateWith(await enrol(signers)), token, says);
  });

test('a header without a token is refused', async () => {
  const authenticate = authenticateWith(await enrol({}));
  const none = { code: 'UNAUTHENTICATED', detail: /^there is no bearer token; send the header/ };
  for (const header of [undefined, '', 'Bearer', 'Bearer ', 'Basic dXNlcjpwYXNz', 'Bearer a b', 'token'])
    await assert.rejects(async () => authenticate(header), none, header);
});

test('clusters that share an issuer are told apart by their keys', async () => {
  const [first, second] = [await createSigner('kubernetes'), await createSigner('kubernetes', 'ES256')];
  const authenticate = authenticateWith(await enrol({ one: first, two: second }, 'kubernetes'));
  assert.equal(await nameOf(authenticate, await first.sign()), 'one');
  assert.equal(await nameOf(authenticate, await second.sign()), 'two');
});

test("a cluster's key does not sign for another cluster's issuer", async () => {
  const [a, b] = [await createSigner('a'), await createSigner('b')];
  const authenticate = authenticateWith(await enrol({ a, b }));
  await assertRefused(
    authenticate,
    await a.sign({ iss: 'b' }),
    /"iss" is not accepted: its key is that of cluster "a", not an operator's, and needs the "iss" "a"; operators use a key/,
  );
});

test('a token is refused as soon as its key is no longer enrolled, even if it was accepted before', async () => {
  const signer = await createSigner('a');
  let enrolment = await enrol({ a: signer });
  const authenticate = createAuthenticate(() => enrolment, 'fairlead');
  const token = await signer.sign();
  await authenticate(`Bearer ${token}`);
  enrolment = await enrol({});
  await assertRefused(authenticate, token, /"kid" is not an enrolled key/);
});

test('a cached token is refused once it has expired', async t => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const signer = await createSigner('a');
  const authenticate = authenticateWith(await enrol({ a: signer }));
  const token = await signer.sign({ exp: now() + 30 });
  await authenticate(`Bearer ${token}`);
  t.mock.timers.tick(91_000);
  await assertRefused(authenticate, token, /has expired/);
});

test('a clock that goes back does not prolong a token whose key its issuer has removed', async t => {
  const hourMs = 3_600_000;
  const { now: elapsed } = performance;
  const signer = await createSigner('a', 'ES256');
  const { keySet } = await enrol({ a: signer });
  let keys = keySet;
  const caller = { role: 'controller', cluster: clusters.a } as const;
  const one = {
    caller,
    issuer: 'https://issuer',
    subjects: ['me'],
    keys: (...asked: Parameters<typeof keySet>) => keys(...asked),
  };
  const enrolment = { keySet, owners: new Map(), trusted: new Map([[one.issuer, [one]]]) };
  const authenticate = authenticateWith(enrolment);
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const token = await signer.sign({ iss: one.issuer, sub: 'me' });
  assert.equal(await nameOf(authenticate, token), 'a');
  keys = (await enrol({})).keySet;
  assert.equal(await nameOf(authenticate, token), 'a', 'it is remembered');
  t.mock.timers.setTime(Date.now() - hourMs);
  t.mock.method(performance, 'now', () => elapsed.call(performance) + 30_000);
  await assertRefused(authenticate, token, /"kid" is not an enrolled key/);
});

test('more tokens than the cache holds are still accepted', async () => {
  const signer = await createSigner('a');
  const authenticate = authenticateWith(await enrol({ a: signer }));
  const tokens = await Promise.all(
    Array.from({ length: 1_100 }, (_, index) => signer.sign({ jti: String(index) })),
  );
  for (const token of [...tokens, ...tokens.slice(0, 5)])
    assert.equal(await nameOf(authenticate, token), 'a');
});

function authenticateWith(enrolment: Enrolment): Authenticator {
  return createAuthenticate(() => enrolment, 'fairlead');
}

/** Returns the cluster that sent the token. */
async function nameOf(authenticate: Authenticator, token: string): Promise<string> {
  const caller = await authenticate(`Bearer ${token}`);
  return caller.cluster?.name ?? assert.fail('an operator');
}

function unsecured(kid: string): string {
  const claims = new UnsecuredJWT({ iss: 'a', aud: 'fairlead' })
    .setIssuedAt()
    .setExpirationTime('5m')
    .encode();
  const header = Buffer.from(JSON.stringify({ alg: 'none', kid })).toString('base64url');
  return `${header}.${claims.split('.')[1]}.`;
}

function confused({ kid, publicJwk }: Signer): Promise<string> {
  return new SignJWT({ iss: 'a', aud: 'fairlead' })
    .setProtectedHeader({ alg: 'HS256', kid })
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(Buffer.from(String(publicJwk.x).padEnd(43, 'x')));
}

async function changedPayload(signer: Signer): Promise<string> {
  const [header, , signature] = (await signer.sign()).split('.');
  const payload = { iss: 'a', aud: 'fairlead', iat: now(), exp: now() + 900 };
  return `${header}.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.${signature}`;
}

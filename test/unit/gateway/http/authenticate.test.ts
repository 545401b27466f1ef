import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SignJWT, UnsecuredJWT, type JWTPayload } from 'jose';
import { createAuthenticate, type Authenticate, type Enrolment } from '../../../../gateway/http/auth.ts';
import { createSigner, enrol, type Signer } from '../../../harness/gateway-harness.ts';
import { isProblemThat } from '../../../harness/gateway-problems.ts';

const now = (): number => Math.floor(Date.now() / 1_000);

test('a token that a cluster signed tells the cluster, with either algorithm, again and again', async () => {
  for (const algorithm of ['EdDSA', 'ES256'] as const) {
    const signer = await createSigner('a', algorithm);
    const authenticate = authenticateWith(await enrol({ a: signer }));
    const token = await signer.sign();
    for (let i = 0; i < 3; i++) assert.equal(await nameOf(authenticate, token), 'a');
  }
});

test('one of several audiences is enough', async () => {
  const signer = await createSigner('a');
  const token = await signer.sign({ aud: ['other', 'fairlead'] });
  assert.equal(await nameOf(authenticateWith(await enrol({ a: signer })), token), 'a');
});

const badClaims: readonly { name: string; claims: () => JWTPayload; says: RegExp }[] = [
  { name: 'another audience', claims: () => ({ aud: 'other' }), says: /"aud" is not accepted/ },
  {
    name: 'no audience',
    claims: () => ({ aud: undefined }) as unknown as JWTPayload,
    says: /"aud" is missing/,
  },
  { name: 'another issuer', claims: () => ({ iss: 'b' }), says: /"iss" is not accepted/ },
  {
    name: 'no issuer',
    claims: () => ({ iss: undefined }) as unknown as JWTPayload,
    says: /"iss" is missing/,
  },
  {
    name: 'a time that is over',
    claims: () => ({ exp: now() - 60, iat: now() - 120 }),
    says: /has expired \("exp"\)/,
  },
  { name: 'no end', claims: () => ({ exp: undefined }) as unknown as JWTPayload, says: /"exp" is missing/ },
  {
    name: 'no time of issue',
    claims: () => ({ iat: undefined }) as unknown as JWTPayload,
    says: /"iat" is missing/,
  },
  {
    name: 'a lifetime over an hour',
    claims: () => ({ exp: now() + 3_700 }),
    says: /"exp" is more than 3600 seconds/,
  },
  { name: 'a long age', claims: () => ({ iat: now() - 86_400, exp: now() + 60 }), says: /"iat"/ },
  {
    name: 'a time of issue to come',
    claims: () => ({ iat: now() + 600, exp: now() + 900 }),
    says: /"iat" is not accepted/,
  },
  { name: 'a start to come', claims: () => ({ nbf: now() + 600 }), says: /"nbf" is not accepted/ },
];
for (const { name, claims, says } of badClaims) {
  test(`a token with ${name} is refused, and the claim is named`, async () => {
    const signer = await createSigner('a');
    const token = await signer.sign(claims());
    await assertRefused(authenticateWith(await enrol({ a: signer })), token, says);
  });
}

const badTokens: readonly { name: string; make: (signer: Signer) => Promise<string>; says: RegExp }[] = [
  { name: 'no signature', make: async ({ kid }) => unsecured(kid), says: /malformed|"alg"|not signed/ },
  { name: 'the public key as an HMAC secret', make: confused, says: /"alg" is not the one of its key/ },
  {
    name: 'an unknown kid',
    make: signer => signer.sign({}, { kid: 'other' }),
    says: /"kid" is not an enrolled key/,
  },
  {
    name: 'no kid',
    make: signer => signer.sign({}, { kid: undefined } as unknown as { kid: string }),
    says: /no "kid"/,
  },
  {
    name: "another key's signature under a known kid",
    make: async ({ kid }) => (await createSigner('a')).sign({}, { kid }),
    says: /not signed with the key/,
  },
  { name: 'a changed payload', make: changedPayload, says: /not signed with the key/ },
  { name: 'nothing but dots', make: async () => '..', says: /malformed/ },
  { name: 'no structure', make: async () => 'garbage', says: /malformed/ },
  { name: 'too many characters', make: async () => 'x'.repeat(9_000), says: /too long/ },
];
for (const { name, make, says } of badTokens) {
  test(`a token with ${name} is refused`, async () => {
    const signer = await createSigner('a');
    await assertRefused(authenticateWith(await enrol({ a: signer })), await make(signer), says);
  });
}

for (const header of [undefined, '', 'Bearer', 'Bearer ', 'Basic dXNlcjpwYXNz', 'Bearer a b', 'token']) {
  test(`the header ${header} holds no token`, async () => {
    const authenticate = authenticateWith(await enrol({}));
    await assert.rejects(
      authenticate(header),
      isProblemThat('UNAUTHENTICATED', /^there is no bearer token$/),
    );
  });
}

test('clusters that share an issuer are told apart by their keys', async () => {
  const [first, second] = [await createSigner('kubernetes'), await createSigner('kubernetes', 'ES256')];
  const authenticate = authenticateWith(await enrol({ one: first, two: second }, 'kubernetes'));
  assert.equal(await nameOf(authenticate, await first.sign()), 'one');
  assert.equal(await nameOf(authenticate, await second.sign()), 'two');
});

test('an operator is no cluster', async () => {
  const signer = await createSigner('operator');
  const enrolment = await enrol({ operator: signer });
  assert.equal(await authenticateWith(enrolment)(`Bearer ${await signer.sign()}`), 'operator');
});

test("a cluster's key does not sign for another cluster's issuer", async () => {
  const [a, b] = [await createSigner('a'), await createSigner('b')];
  const authenticate = authenticateWith(await enrol({ a, b }));
  await assertRefused(authenticate, await a.sign({ iss: 'b' }), /"iss" is not accepted/);
});

test('a token is refused as soon as its key is enrolled no more, though it was accepted before', async () => {
  const signer = await createSigner('a');
  let enrolment = await enrol({ a: signer });
  const authenticate = createAuthenticate(() => enrolment, 'fairlead');
  const token = await signer.sign();
  await authenticate(`Bearer ${token}`);
  enrolment = await enrol({});
  await assertRefused(authenticate, token, /"kid" is not an enrolled key/);
});

test('a remembered token is refused once it has expired', async t => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const signer = await createSigner('a');
  const authenticate = authenticateWith(await enrol({ a: signer }));
  const token = await signer.sign({ exp: now() + 30 });
  await authenticate(`Bearer ${token}`);
  t.mock.timers.tick(60_000);
  await assertRefused(authenticate, token, /has expired/);
});

test('more tokens than are remembered are still accepted', async () => {
  const signer = await createSigner('a');
  const authenticate = authenticateWith(await enrol({ a: signer }));
  const tokens = await Promise.all(
    Array.from({ length: 1_100 }, (_, index) => signer.sign({ jti: String(index) })),
  );
  for (const token of [...tokens, ...tokens.slice(0, 5)])
    assert.equal(await nameOf(authenticate, token), 'a');
});

function authenticateWith(enrolment: Enrolment): Authenticate {
  return createAuthenticate(() => enrolment, 'fairlead');
}

/** The cluster that sent the token. */
async function nameOf(authenticate: Authenticate, token: string): Promise<string> {
  const caller = await authenticate(`Bearer ${token}`);
  return caller === 'operator' ? assert.fail('an operator') : caller.name;
}

/** The detail says what is wrong, and nothing of the token. */
async function assertRefused(authenticate: Authenticate, token: string, says: RegExp): Promise<void> {
  await assert.rejects(authenticate(`Bearer ${token}`), (error: Error) => {
    assert.ok(isProblemThat('UNAUTHENTICATED', says)(error), error.message);
    assert.ok(token.length < 3 || !error.message.includes(token));
    return true;
  });
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

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { discoverKeys } from '../../../../gateway/callers/discovery.ts';
import { createTrust, discoveryFaults } from '../../../../gateway/callers/trust.ts';
import { createAuthenticate } from '../../../../gateway/callers/authenticate.ts';
import { callers } from '../../../harness/gateway.ts';
import {
  account,
  forgeFor,
  makeIssuerKey,
  signAs,
  startIssuer,
  withExponentOne,
  type Issuer,
  type IssuerKey,
} from '../../../fakes/issuer.ts';

const [first, second] = await Promise.all([makeIssuerKey('first'), makeIssuerKey('second', 'ES256')]);
const jwks = '/openid/v1/jwks';

test('keys that an issuer publishes as Kubernetes does are found, once for many tokens', async t => {
  const { ask, issuer } = await open(t);
  const names = await Promise.all(Array.from({ length: 20 }, () => ask(first)));
  assert.deepEqual(new Set(names), new Set(['a']));
  assert.deepEqual(issuer.requests, ['/.well-known/openid-configuration', jwks]);
});

test('an RSA key with the exponent 1 verifies no token, is reported, and affects no other key', async t => {
  const { ask, call, issuer, fault } = await open(t);
  const weak = withExponentOne(await makeIssuerKey('weak'));
  const forged = await forgeFor(issuer.url, weak);
  await jwtVerify(forged, createLocalJWKSet({ keys: [weak.publicJwk] }));
  issuer.publish(weak.publicJwk, first.publicJwk);
  assert.equal(await ask(first), 'a');
  await assert.rejects(call(forged), { code: 'UNAUTHENTICATED', detail: /"kid"/ });
  assert.match(fault() ?? '', /publishes a weak key, which is ignored: it is an RSA key whose exponent/);
});

test("a flood of tokens with unknown kids fetches the issuer's keys once in a cool-down", async t => {
  const { ask, issuer } = await open(t);
  await ask(first);
  const flood = async (): Promise<void> => {
    const asked = Array.from({ length: 50 }, (_, index) => ask(first, `unknown-${index}`));
    const isRefused = { code: 'UNAUTHENTICATED', detail: /"kid"/ };
    await Promise.all(asked.map(one => assert.rejects(one, isRefused)));
  };
  const count = (): number => issuer.requests.filter(path => path === jwks).length;
  await flood();
  assert.equal(count(), 1);
  for (const expected of [2, 3]) {
    t.mock.timers.tick(11_000);
    await Promise.all([flood(), flood()]);
    await flood();
    assert.equal(count(), expected);
  }
});

test('a new key is valid without a restart, and a removed one is refused within a minute', async t => {
  const { ask, again, issuer } = await open(t);
  const token = await again(first);
  issuer.publish(second.publicJwk);
  t.mock.timers.tick(11_000);
  assert.equal(await ask(second), 'a');
  t.mock.timers.tick(48_000);
  await assert.rejects(token(), { code: 'UNAUTHENTICATED', detail: /"kid"/ }, 'the token was good before');
  await assert.rejects(ask(first), { code: 'UNAUTHENTICATED' });
});

test('a removed key is refused within a minute even while its tokens keep coming', async t => {
  const { ask, again, issuer } = await open(t);
  const token = await again(first);
  issuer.publish(second.publicJwk);
  let goodS = 0;
  for (let passedS = 1; passedS <= 60; passedS++) {
    t.mock.timers.tick(1_000);
    const isGood = await token().then(
      () => true,
      () => false,
    );
    if (isGood) goodS = passedS;
  }
  assert.ok(goodS < 60, `good for ${goodS} s`);
  await assert.rejects(ask(first), { code: 'UNAUTHENTICATED' });
});

test('known keys stay valid while the issuer is away for an hour, which is reported, and it recovers by itself', async t => {
  const { ask, fault, issuer } = await open(t);
  await ask(first);
  issuer.answer(response => response.destroy());
  for (let minute = 0; minute < 60; minute++) {
    t.mock.timers.tick(60_000);
    assert.equal(await ask(first), 'a');
  }
  assert.match(String(fault()), /^"http:\S+" cannot be reached: it [a-z ]+; \w/);
  await assert.rejects(ask(second), { code: 'UNAUTHENTICATED', detail: /"kid"/ });
  issuer.answer(undefined);
  issuer.publish(first.publicJwk, second.publicJwk);
  t.mock.timers.tick(11_000);
  assert.equal(await ask(second), 'a');
  assert.equal(fault(), undefined);
});

test('an issuer that does not answer is awaited once while its keys are known', async t => {
  const { ask, fault, issuer } = await open(t, { timeoutMs: 100 });
  await ask(first);
  issuer.answer(() => {});
  t.mock.timers.tick(60_000);
  assert.equal(await ask(first), 'a');
  assert.match(String(fault()), /cannot be reached|aborted/);
  const asked = issuer.requests.length;
  t.mock.timers.tick(5_000);
  for (let time = 0; time < 20; time++) assert.equal(await ask(first), 'a');
  assert.equal(issuer.requests.length, asked);
});

const json = (content: unknown) => (response: ServerResponse) => void response.end(JSON.stringify(content));
const withKeys = (keys: unknown) => (issuer: Issuer) => (response: ServerResponse, path: string) =>
  path === jwks ? json(keys)(response) : json({ issuer: issuer.url, jwks_uri: issuer.url + jwks })(response);
type BadAnswer = (issuer: Issuer, elsewhere: string) => (response: ServerResponse, path: string) => void;
const bad: Readonly<Record<string, readonly [BadAnswer, RegExp]>> = {
  'leads elsewhere': [
    (_, elsewhere) => response => response.writeHead(302, { location: elsewhere }).end(),
    /cannot be reached/,
  ],
  'answers more than it may': [
    () => response => void response.end('x'.repeat(2 ** 19)),
    /answers more than 262144 bytes/,
  ],
  'is another one': [
    (_, elsewhere) => json({ issuer: elsewhere, jwks_uri: elsewhere }),
    /describes the issuer ".*", not "/,
  ],
  'names keys on this machine by another way': [
    ({ url }) => json({ issuer: url, jwks_uri: 'https://127.0.0.1:1/keys' }),
    /which must also start with http:/,
  ],
  'names keys in a file': [
    ({ url }) => json({ issuer: url, jwks_uri: 'file:///etc/passwd' }),
    /which must also start with http:/,
  ],
  'names keys of another machine in the clear': [
    ({ url }) => json({ issuer: url, jwks_uri: 'http://192.0.2.1/keys' }),
    /is another machine/,
  ],
  'answers with text that is not JSON': [
    () => response => void response.end('<html>'),
    /describes the issuer "", not "/,
  ],
  'has no such page': [() => response => response.writeHead(404).end('no'), /answers 404$/],
  'publishes no keys': [withKeys({}), /answers with something other than a set of public keys$/],
  'publishes a private key': [
    withKeys({ keys: [first.privateJwk] }),
    /answers with something other than a set of public keys$/,
  ],
  'publishes a secret': [
    withKeys({ keys: [{ kty: 'oct', k: 'AAAA', kid: 'first' }] }),
    /answers with something other than a set/,
  ],
  'publishes an endless answer': [endless, /answers more than/],
};
for (const [name, [how, says]] of Object.entries(bad))
  test(`an issuer that ${name} has no available keys, and the error names no key`, async t => {
    const { ask, fault, issuer } = await open(t);
    const elsewhere = await startIssuer(t, first.publicJwk);
    issuer.answer(how(issuer, `${elsewhere.url}/.well-known/openid-configuration`));
    await assert.rejects(ask(first), {
      code: 'UNAVAILABLE',
      detail: /^the keys of the token's issuer "\S+" cannot/,
    });
    assert.match(String(fault()), says);
    assert.ok(!String(fault()).includes(String(first.privateJwk.d)));
    assert.deepEqual(elsewhere.requests, []);
  });

test('a set may have keys for other uses, which verify nothing', async t => {
  const { ask, issuer } = await open(t);
  const { kid: _, ...unnamed } = second.publicJwk;
  issuer.publish(
    first.publicJwk,
    { ...second.publicJwk, use: 'enc' },
    { ...unnamed, kid: 'other', use: 'enc' },
  );
  assert.equal(await ask(first), 'a');
  await assert.rejects(ask(second), { code: 'UNAUTHENTICATED' });
});

test('an issuer is kept from one reading of the configuration to the next', async t => {
  const { entry, trust, ask, issuer } = await open(t);
  await ask(first);
  const again = createTrust([entry], () => assert.fail(), trust);
  assert.deepEqual([...again.discoveries], [...trust.discoveries]);
  assert.equal(issuer.requests.length, 2);
});

function endless(issuer: Issuer) {
  return (response: ServerResponse, path: string): void => {
    if (path !== jwks) return json({ issuer: issuer.url, jwks_uri: issuer.url + jwks })(response);
    const more = (): void => {
      while (!response.destroyed && response.write(' '.repeat(2 ** 14)));
    };
    response.on('drain', more);
    more();
  };
}

/**
 * Opens a gateway's verification of tokens for a cluster whose issuer publishes `first`; the test controls the time.
 */
async function open(t: TestContext, { timeoutMs }: { readonly timeoutMs?: number } = {}) {
  const issuer = await startIssuer(t, first.publicJwk);
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const entry = {
    caller: callers['a'] ?? assert.fail(),
    issuer: issuer.url,
    subjects: [account],
    keys: undefined,
  };
  const discoveries = new Map([[issuer.url, discoverKeys(issuer.url, timeoutMs)]]);
  const trust = createTrust([entry], () => assert.fail(), {
    trusted: new Map(),
    owners: new Map(),
    discoveries,
  });
  const enrolment = { keySet: () => assert.fail(), owners: new Map(), trusted: trust.trusted };
  const authenticate = createAuthenticate(() => enrolment, 'fairlead');
  const sign = (key: IssuerKey, kid = key.publicJwk.kid) => signAs(issuer.url, key, { header: { kid } });
  const nameOf = async (token: string) => (await authenticate(`Bearer ${token}`)).cluster?.name;
  return {
    issuer,
    entry,
    trust,
    /** Returns the cluster of a new token that the key signed, under this kid or its own. */
    ask: async (key: IssuerKey, kid?: string) => nameOf(await sign(key, kid)),
    /** Authenticates repeatedly with one token, which is valid at first. */
    async again(key: IssuerKey) {
      const token = await sign(key);
      await nameOf(token);
      return () => nameOf(token);
    },
    call: nameOf,
    fault: () => discoveryFaults(trust)[0]?.[1],
  };
}

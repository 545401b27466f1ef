import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { createTrust } from '../../../../gateway/callers/trust.ts';
import { makeIssuerKey } from '../../../fakes/issuer.ts';
import { startProvider, type Provider, type ProviderFaults } from '../../../harness/gateway/provider.ts';
import { assertProblem, openGateway, type Answer, type Gateway } from '../../../harness/gateway.ts';
import { prepareConsole } from '../../../harness/gateway/console.ts';
import { temporaryDirectory } from '../../../harness/temporary.ts';

const nobody = 'nobody';
const host = 'storage.example';
const ownPage = { 'sec-fetch-site': 'same-origin', host };
/** A browser that comes back from the provider. */
const fromProvider = { 'sec-fetch-site': 'cross-site', host };
const url = `https://${host}`;
const client = { id: 'fairlead', redirect: `${url}/console/oidc/callback` };
const [key, otherKey] = await Promise.all([makeIssuerKey('one', 'ES256'), makeIssuerKey('one', 'ES256')]);

type Opened = Pick<Gateway, 'ask' | 'send'> & { readonly provider: Provider };

/** Opens a gateway whose operators `ann` and `bob` have accounts at a provider. */
async function open(t: TestContext, secret?: string): Promise<Opened> {
  const provider = await startProvider(t, key, { ...client, ...(secret !== undefined && { secret }) });
  const secretFile = `${temporaryDirectory(t)}/secret`;
  if (secret !== undefined) writeFileSync(secretFile, `${secret}\n`);
  const trust = createTrust(
    [
      {
        caller: { role: 'operator' },
        issuer: provider.url,
        subjects: ['ann', 'bob'],
        keys: undefined,
        console: { clientId: client.id, url, ...(secret !== undefined && { secretFile }) },
      },
    ],
    (_, fault) => assert.fail(fault),
  );
  const create = prepareConsole(t);
  const { ask, send } = await openGateway(t, {
    openConsole: ({ enrolment, ...parts }) =>
      create({ ...parts, enrolment: () => ({ ...enrolment(), trusted: trust.trusted }) }),
  });
  return { ask, send, provider };
}

function cookiesOf({ headers }: Pick<Answer, 'headers'>): ReadonlyMap<string, string> {
  return new Map(
    headers.getSetCookie().map(cookie => {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      return [name, value];
    }),
  );
}

/** Begins a login, and lets the provider answer. Returns the browser's cookie and the address to which it is sent. */
async function begin({ ask }: Opened, headers: Readonly<Record<string, string>> = ownPage) {
  const begun = await ask('GET /console/oidc', { as: nobody, headers });
  assert.equal(begun.status, 303, JSON.stringify(begun.body));
  const [[name, secret] = []] = cookiesOf(begun);
  const atProvider = begun.headers.get('location') ?? '';
  const answer = await fetch(atProvider, { redirect: 'manual' });
  return { begun, atProvider, cookie: `${name}=${secret}`, back: answer.headers.get('location') ?? '' };
}

async function comeBack({ ask }: Opened, back: string, cookie: string) {
  const { pathname, search } = new URL(back);
  const answer = await ask(`GET ${pathname}${search}`, { as: nobody, headers: { ...fromProvider, cookie } });
  const session = cookiesOf(answer).get('__Host-fairlead-session');
  return { answer, session, location: answer.headers.get('location') };
}

/** Fails unless the browser is sent back to the login without a session. */
function assertRefused(
  { answer, session, location }: Awaited<ReturnType<typeof comeBack>>,
  fault = 'refused',
) {
  assert.deepEqual([answer.status, location, session], [303, `/console#login=${fault}`, undefined]);
  assert.equal(cookiesOf(answer).get('__Host-fairlead-login'), '', 'the login is over');
}

for (const secret of [undefined, 's3cret: ä&+'])
  test(`an operator logs in at the provider ${secret === undefined ? 'of a public client' : 'of a client with a secret'}`, async t => {
    const opened = await open(t, secret);
    const { begun, atProvider, cookie, back } = await begin(opened);
    assert.match(
      begun.headers.get('set-cookie') ?? '',
      /^__Host-fairlead-login=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    assert.ok(!atProvider.includes(cookie.split('=')[1] ?? ''), 'the secret stays in the browser');
    const { session, location } = await comeBack(opened, back, cookie);
    assert.equal(location, '/console');
    const headers = { ...ownPage, cookie: `__Host-fairlead-session=${session}` };
    const who = await opened.ask('GET /console/session', { as: nobody, headers });
    assert.deepEqual(who.body, { subject: 'ann', role: 'operator' });
    assert.equal((await opened.ask('GET /v1/admin/pools', { as: nobody, headers })).status, 200);
  });

test('a login needs the browser that began it, and its code is used once', async t => {
  const opened = await open(t);
  const [own, others] = [await begin(opened), await begin(opened)];
  // An attacker makes a victim's browser open the answer to the attacker's own login.
  assertRefused(await comeBack(opened, own.back, ''));
  assertRefused(await comeBack(opened, own.back, others.cookie));
  assertRefused(await comeBack(opened, own.back, '__Host-fairlead-login='));
  // Another host of the domain can set a cookie without the prefix only.
  assertRefused(await comeBack(opened, own.back, own.cookie.replace('__Host-', '')));
  // Another login's code, with the state of this browser's own.
  const swapped = new URL(own.back);
  swapped.searchParams.set('code', new URL(others.back).searchParams.get('code') ?? '');
  assertRefused(await comeBack(opened, swapped.href, own.cookie));
  assert.ok((await comeBack(opened, own.back, own.cookie)).session);
  assertRefused(await comeBack(opened, own.back, own.cookie));
});

const nowS = (): number => Math.floor(Date.now() / 1_000);
const faults: Readonly<Record<string, (provider: Provider) => ProviderFaults>> = {
  'an answer of another issuer': () => ({ answer: { iss: 'https://evil.example' } }),
  'an answer without the issuer that the provider promises': () => ({ answer: { iss: undefined } }),
  'an answer without a code': () => ({ answer: { code: undefined } }),
  'an answer that says that access is denied': () => ({
    answer: { code: undefined, error: 'access_denied' },
  }),
  'an answer with an unknown code': () => ({ answer: { code: 'other' } }),
  'an answer with another state': () => ({ answer: { state: 'other' } }),
  'a token for another client': () => ({ claims: { aud: 'other' } }),
  'a token for several clients': () => ({ claims: { aud: [client.id, 'other'] } }),
  'a token that another client asked for': () => ({ claims: { azp: 'other' } }),
  'a token of another login': () => ({ claims: { nonce: 'other' } }),
  'a token without a nonce': () => ({ claims: { nonce: undefined } }),
  'a token of another issuer': () => ({ claims: { iss: 'https://evil.example' } }),
  'a token that has expired': () => ({ claims: { exp: nowS() - 120 } }),
  'a token that was made an hour ago': () => ({ claims: { iat: nowS() - 3_600 } }),
  'a token that another key has signed': () => ({ key: otherKey }),
  'a token of another algorithm': () => ({ claims: { header: { alg: 'none' } } }),
  'a token of somebody who is no operator': () => ({ claims: { sub: 'eve' } }),
  'a token without a subject': () => ({ claims: { sub: undefined } }),
  'an answer without a token': () => ({ token: response => response.end('{"access_token":"x"}') }),
  'a page in place of a token': () => ({ token: response => response.end('<html>') }),
};

for (const [name, faultOf] of Object.entries(faults))
  test(`${name} opens no session`, async t => {
    const opened = await open(t);
    Object.assign(opened.provider.faults, faultOf(opened.provider));
    const { back, cookie } = await begin(opened);
    assertRefused(await comeBack(opened, back, cookie));
  });

test('a provider that fails is not taken for a refusal', async t => {
  const opened = await open(t);
  const { back, cookie } = await begin(opened);
  opened.provider.faults.token = response => void response.writeHead(503).end();
  assertRefused(await comeBack(opened, back, cookie), 'unavailable');
  opened.provider.faults.token = response => void response.destroy();
  assertRefused(await comeBack(opened, back, cookie), 'unavailable');
});

const endpoints: Readonly<Record<string, object>> = {
  'is of another issuer': { issuer: 'https://evil.example' },
  'names an address that others can read': { authorization_endpoint: 'http://login.example/authorize' },
  'names no address for tokens': { token_endpoint: undefined },
};

for (const [name, metadata] of Object.entries(endpoints))
  test(`no login begins at a provider whose description ${name}`, async t => {
    const opened = await open(t);
    opened.provider.faults.metadata = metadata;
    const answer = await opened.ask('GET /console/oidc', { as: nobody, headers: ownPage });
    assertProblem(answer, 503, 'UNAVAILABLE');
    assert.match(String(answer.body['detail']), /^the OpenID provider cannot be used: /);
  });

test('the provider sends browsers back to the configured address, not to the host that they asked', async t => {
  const opened = await open(t);
  const { atProvider } = await begin(opened, { ...ownPage, host: 'evil.example' });
  assert.equal(new URL(atProvider).searchParams.get('redirect_uri'), client.redirect);
});

test('another site cannot begin a login', async t => {
  const { ask } = await open(t);
  for (const site of ['cross-site', 'same-site']) {
    const answer = await ask('GET /console/oidc', {
      as: nobody,
      headers: { ...ownPage, 'sec-fetch-site': site },
    });
    assertProblem(answer, 401, 'UNAUTHENTICATED');
  }
});

test('only so many logins wait for the provider at the same time', async t => {
  const opened = await open(t);
  const begun: Awaited<ReturnType<typeof begin>>[] = [];
  for (let count = 0; count < 17; count++) begun.push(await begin(opened));
  const held: (() => void)[] = [];
  opened.provider.faults.token = response => void held.push(() => response.writeHead(400).end('{}'));
  const [last, ...waiting] = begun.map(
    ({ back, cookie }) =>
      () =>
        comeBack(opened, back, cookie),
  );
  const answers = waiting.map(finish => finish());
  while (held.length < 16) await new Promise(setImmediate);
  const refused = await last?.();
  assert.equal(held.length, 16, 'the provider is not asked');
  assert.equal(refused?.location, '/console#login=unavailable');
  for (const end of held) end();
  for (const answer of await Promise.all(answers)) assertRefused(answer);
});

test('the console offers the login only where the configuration has one', async t => {
  const offered = await (await open(t)).ask('GET /console/ways', { as: nobody });
  assert.deepEqual(offered.body, { oidc: true });
  const { ask } = await openGateway(t, { openConsole: prepareConsole(t) });
  assert.deepEqual((await ask('GET /console/ways', { as: nobody })).body, { oidc: false });
  assertProblem(await ask('GET /console/oidc', { as: nobody, headers: ownPage }), 404, 'NOT_FOUND');
  const { location } = await comeBack({ ask } as Opened, `${client.redirect}?code=x&state=y`, '');
  assert.equal(location, '/console#login=refused');
});

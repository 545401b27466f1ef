import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../../../src/api/problem.ts';
import { assertProblem, openGateway, type Answer, type Gateway } from '../../../harness/gateway.ts';
import { prepareConsole, signCode } from '../../../harness/gateway/console.ts';
import { signerOf } from '../../../harness/gateway/signers.ts';

const nobody = 'nobody';
const ownPage = { 'sec-fetch-site': 'same-origin', host: 'storage.example', 'content-length': '1000' };

async function openWithConsole(t: Parameters<typeof openGateway>[0]) {
  return openGateway(t, { openConsole: prepareConsole(t), volumes: ['pvc'] });
}

/** Logs in, and returns the cookie that the browser would send. */
async function logIn({ ask }: Pick<Gateway, 'ask'>, body: object): Promise<string> {
  const answer = await ask('POST /console/session', { as: nobody, headers: ownPage, body });
  assert.equal(answer.status, 204, JSON.stringify(answer.body));
  return cookieOf(answer);
}

function cookieOf({ headers }: Answer): string {
  return (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

test('a code opens a session, whose cookie calls the API as its operator', async t => {
  const gateway = await openWithConsole(t);
  const cookie = await logIn(gateway, { code: await signCode('operator') });
  const headers = { ...ownPage, cookie };
  const who = await gateway.ask('GET /console/session', { as: nobody, headers });
  assert.deepEqual(who.body, { subject: 'operator-EdDSA', role: 'operator' });
  const { status, body } = await gateway.ask('GET /v1/admin/volumes', { as: nobody, headers });
  assert.deepEqual([status, (body['volumes'] as object[]).length], [200, 1]);
  const deletion = { as: nobody, headers, body: { dryRun: false } };
  assert.equal((await gateway.ask('PUT /v1/admin/volumes/a.pvc/deletion', deletion)).status, 200);
  const log = await gateway.ask('GET /v1/admin/audit-log', { as: nobody, headers });
  const [entry] = log.body['entries'] as readonly { readonly subject: string }[];
  assert.equal(entry?.subject, 'operator-EdDSA', 'the audit log names the key');
});

test('a code opens one session only', async t => {
  const gateway = await openWithConsole(t);
  const code = await signCode('operator');
  await logIn(gateway, { code });
  const again = { as: nobody, headers: ownPage, body: { code } };
  const answer = await gateway.ask('POST /console/session', again);
  assertProblem(answer, 401, 'UNAUTHENTICATED');
  assert.match(String(answer.body['detail']), /used before/);
});

const refusedCodes: Readonly<Record<string, () => Promise<object>>> = {
  'a code without an id': async () => ({ code: await signCode('operator', { jti: undefined }) }),
  'a code that lives for an hour': async () => ({
    code: await signCode('operator', { exp: Math.floor(Date.now() / 1_000) + 3_600 }),
  }),
  'a code of a cluster': async () => ({ code: await signCode('a') }),
  'a token for the API in place of a code': async () => ({ code: await (await signerOf('operator')).sign() }),
  'a code in place of a token': async () => ({ token: await signCode('operator') }),
  'a token of a cluster': async () => ({ token: await (await signerOf('a')).sign() }),
  'an empty code': async () => ({ code: '' }),
};

for (const [name, proof] of Object.entries(refusedCodes))
  test(`${name} opens no session`, async t => {
    const { ask } = await openWithConsole(t);
    const answer = await ask('POST /console/session', { as: nobody, headers: ownPage, body: await proof() });
    assertProblem(answer, 401, 'UNAUTHENTICATED');
    assert.equal(cookieOf(answer), '');
  });

test('a token opens a session that ends with the token', async t => {
  const gateway = await openWithConsole(t);
  const token = await (await signerOf('operator')).sign();
  const answer = await gateway.ask('POST /console/session', {
    as: nobody,
    headers: ownPage,
    body: { token },
  });
  const seconds = Number(/Max-Age=(\d+)/.exec(answer.headers.get('set-cookie') ?? '')?.[1]);
  assert.ok(seconds > 590 && seconds <= 600, `${seconds}`);
});

test('a reader sees everything and changes nothing', async t => {
  const gateway = await openWithConsole(t);
  const cookie = await logIn(gateway, { code: await signCode('reader of operators') });
  const headers = { ...ownPage, cookie };
  assert.equal((await gateway.ask('GET /v1/admin/pools', { as: nobody, headers })).status, 200);
  const drain = { as: nobody, headers, body: { dryRun: false } };
  assertProblem(await gateway.ask('PUT /v1/admin/pools/main/drain', drain), 404, 'NOT_FOUND');
});

test('the cookie is hidden from scripts, stays with this site, and is sent over TLS only except on this machine', async t => {
  const gateway = await openWithConsole(t);
  const open = async (host: string): Promise<string> => {
    const headers = { ...ownPage, host };
    const answer = await gateway.ask('POST /console/session', {
      as: nobody,
      headers,
      body: { code: await signCode('operator') },
    });
    return answer.headers.get('set-cookie') ?? '';
  };
  for (const host of ['storage.example', 'storage.example:7700', '10.0.0.1:7700'])
    assert.match(
      await open(host),
      /; Path=\/; HttpOnly; Secure; SameSite=Strict$|Max-Age=28800; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
  for (const host of ['127.0.0.1:7700', 'localhost:7700', '[::1]:7700'])
    assert.doesNotMatch(await open(host), /Secure/, host);
});

const foreign: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'another site': { 'sec-fetch-site': 'cross-site' },
  'another host of this site': { 'sec-fetch-site': 'same-site' },
  'an origin elsewhere': { origin: 'https://evil.example' },
  'a sandboxed frame': { origin: 'null' },
  'a change that says no origin': {},
  'a change by a link or an address bar': { 'sec-fetch-site': 'none' },
};

for (const [name, headers] of Object.entries(foreign))
  test(`a session changes nothing for a page of ${name}`, async t => {
    const gateway = await openWithConsole(t);
    const cookie = await logIn(gateway, { code: await signCode('operator') });
    const { host, 'content-length': length } = ownPage;
    const request = {
      as: nobody,
      headers: { host, 'content-length': length, ...headers, cookie },
      body: { dryRun: false },
    };
    assertProblem(await gateway.ask('PUT /v1/admin/volumes/a.pvc/deletion', request), 401, 'UNAUTHENTICATED');
    assertProblem(
      await gateway.ask('POST /console/session', { ...request, body: { code: await signCode('operator') } }),
      401,
      'UNAUTHENTICATED',
    );
    assertProblem(await gateway.ask('DELETE /console/session', request), 401, 'UNAUTHENTICATED');
    assert.equal((await gateway.ask('GET /v1/volumes/a.pvc')).status, 200);
  });

test('where browsers send no site, the origin of the page itself is enough', async t => {
  const gateway = await openWithConsole(t);
  const { 'sec-fetch-site': _, ...plain } = ownPage;
  const headers = { ...plain, origin: 'http://storage.example' };
  const body = { code: await signCode('operator') };
  assert.equal((await gateway.ask('POST /console/session', { as: nobody, headers, body })).status, 204);
});

test('a session that was closed is refused at every replica', async t => {
  const gateway = await openWithConsole(t);
  const cookie = await logIn(gateway, { code: await signCode('operator') });
  const headers = { ...ownPage, cookie };
  const closed = await gateway.ask('DELETE /console/session', { as: nobody, headers });
  assert.deepEqual([closed.status, cookieOf(closed)], [204, '__Host-fairlead-session=']);
  const replica = await gateway.replica();
  for (const { ask } of [gateway, replica]) {
    const answer = await ask('GET /v1/admin/pools', { as: nobody, headers });
    assertProblem(answer, 401, 'UNAUTHENTICATED');
    assert.match(String(answer.body['detail']), /was closed; log in again/);
  }
});

test('while the store does not answer, an operator can see that, change nothing, and log out', async t => {
  const fault = { isDown: false };
  const orFault = <T>(work: () => Promise<T>): Promise<T> =>
    fault.isDown ? Promise.reject(new Problem('UNAVAILABLE', 'the store does not answer')) : work();
  const gateway = await openGateway(t, {
    openConsole({ engine, ...rest }) {
      const reader = {
        all: (...query: Parameters<typeof engine.reader.all>) => orFault(() => engine.reader.all(...query)),
      };
      const transaction: typeof engine.transaction = work => orFault(() => engine.transaction(work));
      return prepareConsole(t)({ ...rest, engine: { reader, transaction } });
    },
  });
  const cookie = await logIn(gateway, { code: await signCode('operator') });
  const headers = { ...ownPage, cookie };
  fault.isDown = true;
  const who = await gateway.ask('GET /console/session', { as: nobody, headers });
  assert.deepEqual(who.body, { subject: 'operator-EdDSA', role: 'reader' });
  const drain = { as: nobody, headers, body: { dryRun: false } };
  assertProblem(await gateway.ask('PUT /v1/admin/pools/main/drain', drain), 404, 'NOT_FOUND');
  const closed = await gateway.ask('DELETE /console/session', { as: nobody, headers });
  assertProblem(closed, 503, 'UNAVAILABLE');
  assert.equal(cookieOf(closed), '__Host-fairlead-session=');
});

test('a forged cookie and one that another host could set are refused, and a token in the header counts before a cookie', async t => {
  const gateway = await openWithConsole(t);
  const forged = { ...ownPage, cookie: `__Host-fairlead-session=${await signCode('operator')}` };
  const renamed = {
    ...ownPage,
    cookie: (await logIn(gateway, { code: await signCode('operator') })).slice(7),
  };
  for (const headers of [forged, renamed])
    assertProblem(await gateway.ask('GET /v1/admin/pools', { as: nobody, headers }), 401, 'UNAUTHENTICATED');
  assert.equal((await gateway.ask('GET /v1/admin/pools', { as: 'operator', headers: forged })).status, 200);
});

test('the pages run only their own scripts, and no site can frame them', async t => {
  const { send } = await openWithConsole(t);
  for (const path of ['/console', '/console/volumes/a.pvc', '/console/assets/console-ABC.js']) {
    const { status, headers } = await send(`GET ${path}`, { as: nobody });
    const policy = headers.get('content-security-policy') ?? '';
    assert.equal(status, 200, path);
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe|\*|https?:/);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
  }
});

test('files with a hash in their name are kept for good, and the page is asked for each time', async t => {
  const { send, ask } = await openWithConsole(t);
  const [page, file] = await Promise.all(
    ['/console', '/console/assets/console-ABC.js'].map(path => send(`GET ${path}`, { as: nobody })),
  );
  assert.equal(page?.headers.get('cache-control'), 'no-cache');
  assert.equal(file?.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  assertProblem(await ask('GET /console/assets/console-OLD.js', { as: nobody }), 404, 'NOT_FOUND');
});

test('without the console, its paths are unknown and its cookie proves nothing', async t => {
  const gateway = await openWithConsole(t);
  const cookie = await logIn(gateway, { code: await signCode('operator') });
  const bare = await openGateway(t);
  assertProblem(await bare.ask('GET /console', { as: nobody }), 401, 'UNAUTHENTICATED');
  assertProblem(
    await bare.ask('GET /v1/admin/pools', { as: nobody, headers: { ...ownPage, cookie } }),
    401,
    'UNAUTHENTICATED',
  );
});

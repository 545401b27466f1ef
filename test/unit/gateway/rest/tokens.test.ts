import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { test, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import { decodeJwt } from 'jose';
import type { Problem } from '../../../../src/api/problem.ts';
import type { Backend } from '../../../../gateway/backend.ts';
import { rest } from '../../../../gateway/backends/rest.ts';
import { json, problem, startStorageApi, type Step, type StorageApi } from '../../../fakes/storage-api.ts';
import { makeIdentity } from '../../../fakes/storages/far-gateway.ts';
import { createMemoryLog, temporaryDirectory } from '../../../harness/gateway.ts';
import { listen } from '../../../harness/listen.ts';
import { makeCertificate } from '../../../fakes/storages/certificate.ts';

const offer = { version: '1', accessModes: [], accessTypes: [], features: [], volumes: [] };
const refused = problem('UNAUTHENTICATED', 'the token has expired');

const grant = (token: string) => json(200, { access_token: token, token_type: 'bearer', expires_in: 3_600 });
/** The log of the pools of all tests. */
const { log, lines } = createMemoryLog();

async function open(
  t: TestContext,
  directory: string,
  given: Readonly<Record<string, unknown>>,
): Promise<Backend> {
  const { identity } = await makeIdentity(t, 'hq');
  const settings = rest.settings.parse({ tries: 1, ...given });
  const backend = await rest.open(settings, { name: 'acme', log, directory, identity });
  t.after(() => backend.close?.());
  return backend;
}

function tokensOf({ received }: StorageApi): readonly (string | undefined)[] {
  return received.map(({ headers }) => headers.authorization?.replace('Bearer ', ''));
}

test('without other settings the gateway signs its identity, for the audience or the address', async t => {
  const api = await startStorageApi(t, [json(200, offer)]);
  for (const [given, aud] of [
    [{}, api.url],
    [{ audience: 'fairlead' }, 'fairlead'],
  ] as const) {
    await open(t, temporaryDirectory(t), { url: api.url, ...given });
    const claims = decodeJwt(tokensOf(api).at(-1) ?? '');
    assert.deepEqual([claims.iss, claims.sub, claims.aud], ['hq', 'hq', aud]);
  }
});

test('a refused token is read again from its file, once', async t => {
  const directory = temporaryDirectory(t);
  const api = await startStorageApi(t, [json(200, offer), json(200, offer), refused]);
  writeFileSync(join(directory, 'token'), 'one\n');
  const backend = await open(t, directory, { url: api.url, token: 'token' });
  await api.until(2);
  writeFileSync(join(directory, 'token'), 'two\n');
  await assert.rejects(Array.fromAsync(backend.list?.() ?? []), { code: 'UNAVAILABLE' });
  assert.deepEqual(tokensOf(api), ['one', 'one', 'two', 'two']);
});

test('an authorization server issues tokens, and each token serves until it is refused', async t => {
  const directory = temporaryDirectory(t);
  const server = await startStorageApi(t, [grant('one'), grant('two')]);
  const api = await startStorageApi(t, [json(200, offer), json(200, offer), refused, json(200, offer)]);
  writeFileSync(join(directory, 'secret'), 'p&ss\n');
  const oauth = { url: `${server.url}/token`, clientId: 'hq', clientSecret: 'secret', scope: 'storage' };
  const backend = await open(t, directory, { url: api.url, oauth });
  await api.until(2);
  assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), []);
  assert.deepEqual(tokensOf(api), ['one', 'one', 'one', 'two']);
  const [asked] = server.received;
  const basic = Buffer.from('hq:p%26ss').toString('base64');
  assert.deepEqual(
    [asked?.method, asked?.url, asked?.headers.authorization, asked?.body],
    ['POST', '/token', `Basic ${basic}`, 'grant_type=client_credentials&scope=storage'],
  );
});

test('a check asks the authorization server for one token', async t => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'secret'), 'secret');
  const server = await startStorageApi(t, [grant('one'), grant('two')]);
  const api = await startStorageApi(t, [json(200, offer)]);
  const oauth = { url: server.url, clientId: 'hq', clientSecret: 'secret' };
  const settings = rest.settings.parse({ url: api.url, oauth });
  assert.deepEqual(await rest.check?.(settings, { name: 'acme', log, directory }), []);
  assert.deepEqual([server.received.length, tokensOf(api)], [1, ['one']]);
});

test('without a token of the authorization server nothing is sent', async t => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'secret'), 'no');
  const server = await startStorageApi(t, [json(401, { error: 'invalid_client' }), json(200, {})]);
  const api = await startStorageApi(t, [json(200, offer)]);
  const oauth = { url: server.url, clientId: 'hq', clientSecret: 'secret' };
  for (let count = 0; count < 2; count++)
    await assert.rejects(open(t, directory, { url: api.url, oauth }), { code: 'UNAVAILABLE' });
  assert.equal(api.received.length, 0);
});

test('for every answer of an authorization server, the secret and the token are in no error and no log line', async t => {
  const directory = temporaryDirectory(t);
  const secret = 'canary/secret';
  writeFileSync(join(directory, 'secret'), secret);
  const echo = (status: number): Step => {
    return (request, response) => {
      const said = { error_description: `${request.headers.authorization} ${secret}`, access_token: '' };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(said));
    };
  };
  const elsewhere = json(302, {}, { location: `http://127.0.0.1:1/?secret=${encodeURIComponent(secret)}` });
  const echoesToken = problem('UNAUTHENTICATED', 'no "canary.token" here');
  const closed = await startStorageApi(t, []);
  await closed.close();
  const told: string[] = [];
  const tell = async (grants: readonly Step[], url?: string): Promise<void> => {
    const server = await startStorageApi(t, grants);
    const api = await startStorageApi(t, [json(200, offer), json(200, offer), echoesToken]);
    const oauth = { url: url ?? server.url, clientId: 'hq', clientSecret: 'secret' };
    const failure: unknown = await open(t, directory, { url: api.url, oauth })
      .then(backend => Array.fromAsync(backend.list?.() ?? []))
      .catch((error: unknown) => error);
    assert.equal((failure as Problem).code, 'UNAVAILABLE', String(failure));
    told.push(inspect(failure, { depth: 9, showHidden: true }));
  };
  for (const answer of [echo(400), echo(200), json(200, secret), elsewhere]) await tell([answer]);
  await tell([grant('canary.token')]);
  await tell([], closed.url);
  const basic = Buffer.from(`hq:${encodeURIComponent(secret)}`).toString('base64');
  for (const line of [...told, ...lines])
    for (const kept of [secret, encodeURIComponent(secret), basic, 'canary.token'])
      assert.ok(!line.includes(kept), line);
});

test("a certificate proves the caller's identity, is read for each new connection, and needs no token", async t => {
  const directory = temporaryDirectory(t);
  for (const name of ['server', 'hq', 'stranger']) makeCertificate(directory, name);
  const at = (name: string): string => join(directory, name);
  const use = (name: string): void => {
    copyFileSync(at(`${name}.crt`), at('own.crt'));
    copyFileSync(at(`${name}.key`), at('own.key'));
  };
  const callers: (readonly [string | undefined, string | undefined])[] = [];
  const server = createServer(
    {
      cert: readFileSync(at('server.crt')),
      key: readFileSync(at('server.key')),
      ca: readFileSync(at('hq.crt')),
      requestCert: true,
      rejectUnauthorized: true,
    },
    (request, response) => {
      const { CN } = (request.socket as TLSSocket).getPeerCertificate().subject;
      callers.push([String(CN), request.headers.authorization]);
      const headers = { 'content-type': 'application/json', connection: 'close' };
      response.writeHead(200, headers).end(JSON.stringify(offer));
    },
  );
  const url = `https://${await listen(t, server)}`;
  const tls = { ca: 'server.crt', cert: 'own.crt', key: 'own.key' };
  use('hq');
  const backend = await open(t, directory, { url, tls });
  await Array.fromAsync(backend.list?.() ?? []);
  assert.deepEqual(new Set(callers.map(caller => caller.join())), new Set(['hq,']));
  use('stranger');
  await assert.rejects(Array.fromAsync(backend.list?.() ?? []), { code: 'UNAVAILABLE' });
  use('hq');
  await Array.fromAsync(backend.list?.() ?? []);
  await assert.rejects(open(t, directory, { url, tls: { ca: 'server.crt' } }), { code: 'UNAVAILABLE' });
  await assert.rejects(open(t, directory, { url }), { code: 'UNAVAILABLE' });
});

test('an unreadable certificate is named', async t => {
  const directory = temporaryDirectory(t);
  const opening = open(t, directory, { url: 'https://127.0.0.1:1', token: 'x', tls: { ca: 'no-such.pem' } });
  writeFileSync(join(directory, 'x'), 'token');
  await assert.rejects(opening, {
    code: 'UNAVAILABLE',
    detail: /"[^"]*no-such\.pem" cannot be read: it does not exist, or its directory does not/,
  });
});

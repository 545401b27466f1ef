import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overloadedProblem, Problem, toDocument } from '../../../src/api/problem.ts';
import {
  json,
  ownHost,
  problem,
  reset,
  sampleVolume,
  startStorageApi,
  type Step,
} from '../../fakes/storage-api.ts';
import { callerOf, canary, scripted, spec } from './calling.ts';

const ok = json(200, sampleVolume());
const busy = (retryAfter?: string): Step =>
  json(503, {}, { ...(retryAfter !== undefined && { 'retry-after': retryAfter }) });

/** Announces a long body, begins it, and cuts the connection. */
const cut: Step = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"id":', () => response.socket?.resetAndDestroy());
};

test('a 401 leads to one silent retry with a renewed token', async t => {
  const script = [problem('UNAUTHENTICATED', 'expired'), ok];
  const { api, get } = await scripted(t, script, async renew => (renew ? 'new' : 'old'));
  await get();
  const tokens = api.received.map(request => request.headers.authorization);
  assert.deepEqual(tokens, ['Bearer old', 'Bearer new']);
});

test('a 401 for the renewed token too is UNAVAILABLE with the reason', async t => {
  const { api, get } = await scripted(t, [problem('UNAUTHENTICATED', 'claim "aud" is "x"')]);
  await assert.rejects(get(), { code: 'UNAVAILABLE', detail: /claim "aud" is "x"/ });
  assert.equal(api.received.length, 2);
});

test('a 503 with Retry-After is retried, not before that time', async t => {
  const { api, get } = await scripted(t, [busy('1'), ok]);
  const startMs = performance.now();
  await get();
  assert.ok(performance.now() - startMs >= 990);
  assert.equal(api.received.length, 2);
});

test("a 429 with Retry-After is retried, and each attempt has its caller's remaining time", async t => {
  const later = json(429, toDocument(overloadedProblem('too much to do', 0)), { 'retry-after': '0' });
  const { api, get } = await scripted(t, [later, ok]);
  await get();
  const left = api.received.map(request => Number(request.headers['x-timeout-ms']));
  assert.equal(left.length, 2);
  assert.ok(
    left.every(ms => ms > 0 && ms <= 60_000),
    String(left),
  );
});

for (const retryAfter of [undefined, 'Wed, 21 Oct 2026 07:28:00 GMT', '3600']) {
  test(`a 503 with the Retry-After ${retryAfter} is not retried`, async t => {
    const { api, get } = await scripted(t, [busy(retryAfter), ok]);
    await assert.rejects(get(), { code: 'UNAVAILABLE' });
    assert.equal(api.received.length, 1);
  });
}

for (const [name, step] of Object.entries({ 'says 503': busy('0'), resets: reset })) {
  test(`a server that always ${name} is UNAVAILABLE after four tries`, async t => {
    const { api, get } = await scripted(t, [step]);
    await assert.rejects(get(), error => {
      assert.ok(error instanceof Problem);
      assert.equal(error.code, 'UNAVAILABLE');
      assert.doesNotMatch(`${error.stack}${(error.cause as Error | undefined)?.stack}`, new RegExp(canary));
      return true;
    });
    assert.equal(api.received.length, 4);
  });
}

test('a connection that is reset in the middle of a request, or of a body, leads to a retry', async t => {
  const { api, create } = await scripted(t, [reset, cut, ok]);
  await create();
  assert.equal(api.received.length, 3);
  for (const { body } of api.received) assert.deepEqual(JSON.parse(body), spec);
});

test('a refused connection is retried, and succeeds once the server is up', async t => {
  const host = ownHost();
  const first = await startStorageApi(t, [ok], { host, port: 0 });
  await first.close();
  let tries = 0;
  const { get } = callerOf(t, first.url, async () => {
    if (++tries === 3) await startStorageApi(t, [ok], { host, port: first.port });
    return canary;
  });
  await get();
  assert.equal(tries, 3);
});

test('a server that is down is UNAVAILABLE with that reason', async t => {
  const api = await startStorageApi(t, [ok], { host: ownHost(), port: 0 });
  await api.close();
  await assert.rejects(callerOf(t, api.url).get(), {
    code: 'UNAVAILABLE',
    detail: /cannot be reached: "http:\S+" refuses connections; start the server there/,
  });
});

test('an idle connection that the server closes just as a request is written is no error', async t => {
  const { api, get } = await scripted(t, [ok]);
  for (let round = 0; round < 20; round++) {
    await get();
    for (const socket of api.connections) socket.destroy();
  }
  await get();
  assert.equal(api.received.length, 21);
});

test('successive calls share their connections, whether they succeed or fail', async t => {
  const failure = problem('NOT_FOUND', 'x'.repeat(100_000));
  const { api, get } = await scripted(t, [...Array.from({ length: 20 }, () => ok), failure]);
  for (let round = 0; round < 20; round++) await get();
  for (let round = 0; round < 20; round++) await assert.rejects(get(), { code: 'NOT_FOUND' });
  assert.ok(api.connections.size <= 2, `${api.connections.size} connections are open`);
});

test('the error says why a token cannot be made', async t => {
  const { api, get } = await scripted(t, [ok], async () => {
    throw new Problem('UNAVAILABLE', 'key file "/k" is not JSON');
  });
  await assert.rejects(get(), { detail: 'key file "/k" is not JSON' });
  assert.equal(api.received.length, 0);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../../src/api/problem.ts';
import {
  json,
  ownHost,
  problem,
  reset,
  sampleVolume,
  startStorageApi,
  type Step,
} from '../../fakes/storage-api.ts';
import { canary, clientOf, within } from './calling.ts';

const ok = json(200, sampleVolume());
const busy = (retryAfter?: string): Step =>
  json(503, {}, { ...(retryAfter !== undefined && { 'retry-after': retryAfter }) });

/** Announces a long body, begins it, and cuts the connection. */
const cut: Step = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"id":', () => response.socket?.resetAndDestroy());
};

test('a 401 is met with one silent retry and a renewed token', async t => {
  const api = await startStorageApi(t, [problem('UNAUTHENTICATED', 'expired'), ok]);
  const client = clientOf(t, api.url, async renew => (renew ? 'new' : 'old'));
  await client.getVolume({ volumeId: 'a.pvc-1' }, within(5_000));
  assert.deepEqual(
    api.received.map(request => request.headers.authorization),
    ['Bearer old', 'Bearer new'],
  );
});

test('a 401 for the renewed token too is UNAVAILABLE and tells the reason', async t => {
  const api = await startStorageApi(t, [problem('UNAUTHENTICATED', 'claim "aud" is "x"')]);
  const work = clientOf(t, api.url).getVolume({ volumeId: 'a.pvc-1' }, within(5_000));
  await assert.rejects(work, { code: 'UNAVAILABLE', detail: /claim "aud" is "x"/ });
  assert.equal(api.received.length, 2);
});

test('a 503 with Retry-After is tried again, not before the time is over', async t => {
  const api = await startStorageApi(t, [busy('1'), ok]);
  const startMs = performance.now();
  await clientOf(t, api.url).getVolume({ volumeId: 'a.pvc-1' }, within(5_000));
  assert.ok(performance.now() - startMs >= 990);
  assert.equal(api.received.length, 2);
});

for (const retryAfter of [undefined, 'Wed, 21 Oct 2026 07:28:00 GMT', '3600']) {
  test(`a 503 with the Retry-After ${retryAfter} is told at once`, async t => {
    const api = await startStorageApi(t, [busy(retryAfter), ok]);
    const work = clientOf(t, api.url).getVolume({ volumeId: 'a.pvc-1' }, within(5_000));
    await assert.rejects(work, { code: 'UNAVAILABLE' });
    assert.equal(api.received.length, 1);
  });
}

test('a server that says 503 for ever is asked four times', async t => {
  const api = await startStorageApi(t, [busy('0')]);
  await assert.rejects(clientOf(t, api.url).getVolume({ volumeId: 'a.pvc-1' }, within(5_000)), {
    code: 'UNAVAILABLE',
  });
  assert.equal(api.received.length, 4);
});

test('a connection that is reset in the middle of a request is tried again', async t => {
  const api = await startStorageApi(t, [reset, reset, ok]);
  await clientOf(t, api.url).createVolume(
    { volumeId: 'a.pvc-1', body: { name: 'pvc-1', capabilities: [] } },
    within(5_000),
  );
  assert.deepEqual(
    api.received.map(request => request.body),
    Array.from({ length: 3 }, () => '{"name":"pvc-1","capabilities":[]}'),
  );
});

test('a connection that is reset in the middle of a body is tried again', async t => {
  const api = await startStorageApi(t, [cut, ok]);
  await clientOf(t, api.url).getVolume({ volumeId: 'a.pvc-1' }, within(5_000));
  assert.equal(api.received.length, 2);
});

test('a server that always resets is UNAVAILABLE after four tries', async t => {
  const api = await startStorageApi(t, [reset]);
  const work = clientOf(t, api.url).getVolume({ volumeId: 'a.pvc-1' }, within(5_000));
  await assert.rejects(work, error => {
    assert.ok(error instanceof Problem);
    assert.equal(error.code, 'UNAVAILABLE');
    assert.doesNotMatch(`${error.stack}${(error.cause as Error).stack}`, new RegExp(canary));
    return true;
  });
  assert.equal(api.received.length, 4);
});

test('a refused connection is tried again, and works when the server is up', async t => {
  const host = ownHost();
  const first = await startStorageApi(t, [ok], { host, port: 0 });
  await first.close();
  let tries = 0;
  const client = clientOf(t, first.url, async () => {
    if (++tries === 3) await startStorageApi(t, [ok], { host, port: first.port });
    return canary;
  });
  await client.getVolume({ volumeId: 'a.pvc-1' }, within(5_000));
  assert.equal(tries, 3);
});

test('a server that is down is UNAVAILABLE and says so', async t => {
  const api = await startStorageApi(t, [ok], { host: ownHost(), port: 0 });
  await api.close();
  const work = clientOf(t, api.url).getVolume({ volumeId: 'a.pvc-1' }, within(5_000));
  await assert.rejects(work, { code: 'UNAVAILABLE', detail: /cannot be reached \(ECONNREFUSED\)/ });
});

test('an idle connection that the server closes just as a request is written is no error', async t => {
  const api = await startStorageApi(t, [ok]);
  const client = clientOf(t, api.url);
  for (let round = 0; round < 20; round++) {
    await client.getVolume({ volumeId: 'a.pvc-1' }, within(5_000));
    for (const socket of api.connections) socket.destroy();
  }
  await client.getVolume({ volumeId: 'a.pvc-1' }, within(5_000));
  assert.equal(api.received.length, 21);
});

test('calls one after the other share their connections', async t => {
  const api = await startStorageApi(t, [ok]);
  const client = clientOf(t, api.url);
  for (let round = 0; round < 50; round++) await client.getVolume({ volumeId: 'a.pvc-1' }, within(5_000));
  assert.ok(api.connections.size <= 2, `${api.connections.size} connections are open`);
});

test('answers that are errors leave their connection usable too', async t => {
  const api = await startStorageApi(t, [problem('NOT_FOUND', 'x'.repeat(100_000))]);
  const client = clientOf(t, api.url);
  for (let round = 0; round < 20; round++)
    await assert.rejects(client.getVolume({ volumeId: 'a.pvc-1' }, within(5_000)), { code: 'NOT_FOUND' });
  assert.ok(api.connections.size <= 2, `${api.connections.size} connections are open`);
});

test('a token that cannot be made is what the error tells', async t => {
  const api = await startStorageApi(t, [ok]);
  const client = clientOf(t, api.url, async () => {
    throw new Problem('UNAVAILABLE', 'key file "/k" is not JSON');
  });
  await assert.rejects(client.getVolume({ volumeId: 'a.pvc-1' }, within(5_000)), {
    detail: 'key file "/k" is not JSON',
  });
  assert.equal(api.received.length, 0);
});

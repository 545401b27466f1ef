import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { test } from 'node:test';
import { hang, json, reset, sampleVolume, startStorageApi, type Step } from '../../fakes/storage-api.ts';
import { canary, clientOf, within } from './calling.ts';

const ok = json(200, sampleVolume());
const accepted = json(202, sampleVolume({ state: 'creating' }));
const spec = { name: 'pvc-1', capabilities: [] };

/** Sends headers, and then a byte now and then for ever. */
const trickle: Step = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 10);
  response.once('close', () => clearInterval(timer));
};

for (const [name, step] of [
  ['that never answers', hang],
  ['whose body trickles', trickle],
] as const) {
  test(`a server ${name} is DEADLINE_EXCEEDED`, async t => {
    const api = await startStorageApi(t, [step]);
    const work = clientOf(t, api.url).getVolume({ volumeId: 'a.pvc-1' }, within(300));
    await assert.rejects(work, { code: 'DEADLINE_EXCEEDED' });
  });

  test(`a caller that goes away from a server ${name} is CANCELLED and frees the connection`, async t => {
    const api = await startStorageApi(t, [step]);
    const abort = new AbortController();
    const work = clientOf(t, api.url).getVolume({ volumeId: 'a.pvc-1' }, within(30_000, abort.signal));
    await api.until(1);
    const closed = Promise.all([...api.connections].map(socket => once(socket, 'close')));
    abort.abort();
    await assert.rejects(work, { code: 'CANCELLED', detail: 'the caller went away' });
    await closed;
  });
}

test('the deadline holds while a token is made', async t => {
  const api = await startStorageApi(t, [ok]);
  const client = clientOf(t, api.url, () => new Promise(() => {}));
  await assert.rejects(client.getVolume({ volumeId: 'a.pvc-1' }, within(200)), { code: 'DEADLINE_EXCEEDED' });
  assert.equal(api.received.length, 0);
});

test('a caller that goes away while a token is made is CANCELLED', async t => {
  const api = await startStorageApi(t, [ok]);
  const abort = new AbortController();
  const client = clientOf(t, api.url, () => {
    setImmediate(() => abort.abort());
    return new Promise(() => {});
  });
  await assert.rejects(client.getVolume({ volumeId: 'a.pvc-1' }, within(30_000, abort.signal)), {
    code: 'CANCELLED',
  });
});

test('a deadline that is over sends nothing', async t => {
  const api = await startStorageApi(t, [ok]);
  let tokens = 0;
  const client = clientOf(t, api.url, async () => `${tokens++}`);
  await assert.rejects(client.getVolume({ volumeId: 'a.pvc-1' }, within(-1)), { code: 'DEADLINE_EXCEEDED' });
  assert.equal(api.received.length + tokens, 0);
});

test('a caller that is gone already sends nothing', async t => {
  const api = await startStorageApi(t, [ok]);
  const work = clientOf(t, api.url).getVolume({ volumeId: 'a.pvc-1' }, within(5_000, AbortSignal.abort()));
  await assert.rejects(work, { code: 'CANCELLED' });
  assert.equal(api.received.length, 0);
});

test('a caller that goes away between two tries is CANCELLED at once', async t => {
  const api = await startStorageApi(t, [json(503, {}, { 'retry-after': '20' })]);
  const abort = new AbortController();
  const work = clientOf(t, api.url).getVolume({ volumeId: 'a.pvc-1' }, within(30_000, abort.signal));
  await api.until(1);
  setTimeout(() => abort.abort(), 50);
  await assert.rejects(work, { code: 'CANCELLED' });
  assert.equal(api.received.length, 1);
});

test('what is still running is asked for again until it is done', async t => {
  const api = await startStorageApi(t, [accepted, { status: 202 }, ok]);
  const volume = await clientOf(t, api.url).createVolume({ volumeId: 'a.pvc-1', body: spec }, within(10_000));
  assert.equal(volume.state, 'ready');
  assert.equal(new Set(api.received.map(({ method, url, body }) => `${method} ${url} ${body}`)).size, 1);
  assert.equal(api.received.length, 3);
});

test('a deletion that is still running is asked for again until it is done', async t => {
  const api = await startStorageApi(t, [json(202, { state: 'deleting' }), { status: 204 }]);
  await clientOf(t, api.url).deleteVolume({ volumeId: 'a.pvc-1' }, within(10_000));
  assert.equal(api.received.length, 2);
});

test('what is still running at the deadline is ABORTED, before the caller gives up', async t => {
  const api = await startStorageApi(t, [accepted]);
  const work = clientOf(t, api.url).createVolume({ volumeId: 'a.pvc-1', body: spec }, within(900));
  // Whoever gives up at the deadline says DEADLINE_EXCEEDED.
  await assert.rejects(work, { code: 'ABORTED', detail: /still running/ });
});

test('a caller that goes away from what is still running is CANCELLED at once', async t => {
  const api = await startStorageApi(t, [accepted]);
  const abort = new AbortController();
  const work = clientOf(t, api.url).createVolume(
    { volumeId: 'a.pvc-1', body: spec },
    within(30_000, abort.signal),
  );
  await api.until(2);
  abort.abort();
  await assert.rejects(work, { code: 'CANCELLED' });
});

test('no call leaves a listener on its signal, however it ends', async t => {
  const api = await startStorageApi(t, [ok, reset, accepted, ok, json(404, {})]);
  const client = clientOf(t, api.url);
  const { signal } = new AbortController();
  await client.getVolume({ volumeId: 'a.pvc-1' }, within(5_000, signal));
  await client.createVolume({ volumeId: 'a.pvc-1', body: spec }, within(5_000, signal));
  await assert.rejects(client.getVolume({ volumeId: 'a.pvc-1' }, within(5_000, signal)));
  assert.equal(api.received.length, 5);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});

test('a client that is closed ends what is still asked, at once', async t => {
  const api = await startStorageApi(t, [hang]);
  const client = clientOf(t, api.url, async () => canary);
  const work = assert.rejects(client.getVolume({ volumeId: 'a.pvc-1' }, within(30_000)), {
    code: 'UNAVAILABLE',
  });
  await api.until(1);
  await client.close();
  await work;
});

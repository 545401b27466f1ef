import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { test } from 'node:test';
import { hang, json, reset, sampleVolume, type Step } from '../../fakes/storage-api.ts';
import { scripted, within } from './calling.ts';

const ok = json(200, sampleVolume());
const accepted = json(202, sampleVolume({ state: 'creating' }));

/** Sends headers, and then a byte now and then forever. */
const trickle: Step = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 10);
  response.once('close', () => clearInterval(timer));
};

for (const [name, step] of Object.entries({ 'that never answers': hang, 'whose body trickles': trickle })) {
  test(`a server ${name} is DEADLINE_EXCEEDED`, async t => {
    const { get } = await scripted(t, [step]);
    await assert.rejects(get(300), { code: 'DEADLINE_EXCEEDED' });
  });

  test(`a caller that leaves a server ${name} is CANCELLED and frees the connection`, async t => {
    const { api, get } = await scripted(t, [step]);
    const abort = new AbortController();
    const work = get(30_000, abort.signal);
    await api.until(1);
    const closed = Promise.all([...api.connections].map(socket => once(socket, 'close')));
    abort.abort();
    await assert.rejects(work, { code: 'CANCELLED', detail: 'the caller went away' });
    await closed;
  });
}

test('a call ends while a token is made, by its deadline and by its caller', async t => {
  const begun = Promise.withResolvers<void>();
  const { api, get } = await scripted(t, [ok], () => {
    begun.resolve();
    return new Promise(() => {});
  });
  await assert.rejects(get(200), { code: 'DEADLINE_EXCEEDED' });
  const abort = new AbortController();
  const cancelled = assert.rejects(get(30_000, abort.signal), { code: 'CANCELLED' });
  await begun.promise;
  abort.abort();
  await cancelled;
  assert.equal(api.received.length, 0);
});

test('a call that is over before it begins requests no token and sends nothing', async t => {
  let tokens = 0;
  const { api, get } = await scripted(t, [ok], async () => `${tokens++}`);
  await assert.rejects(get(-1), { code: 'DEADLINE_EXCEEDED' });
  await assert.rejects(get(5_000, AbortSignal.abort()), { code: 'CANCELLED' });
  assert.equal(api.received.length + tokens, 0);
});

for (const [name, step, requests] of [
  ['between two tries', json(503, {}, { 'retry-after': '20' }), 1],
  ['while the work goes on', accepted, 2],
] as const) {
  test(`a caller that leaves ${name} is CANCELLED at once`, async t => {
    const { api, create } = await scripted(t, [step]);
    const abort = new AbortController();
    const work = create(30_000, abort.signal);
    await api.until(requests);
    setTimeout(() => abort.abort(), 50);
    await assert.rejects(work, { code: 'CANCELLED' });
    assert.equal(api.received.length, requests);
  });
}

test('a request is repeated until a running operation is done', async t => {
  const { api, create } = await scripted(t, [accepted, { status: 202 }, ok]);
  assert.equal((await create(10_000)).state, 'ready');
  assert.equal(new Set(api.received.map(({ method, url, body }) => `${method} ${url} ${body}`)).size, 1);
  assert.equal(api.received.length, 3);
});

test('a deletion is repeated until it is done', async t => {
  const { api, client } = await scripted(t, [
    json(202, sampleVolume({ state: 'deleting' })),
    { status: 204 },
  ]);
  await client.deleteVolume({ volumeId: 'a.pvc-1' }, within(10_000));
  assert.equal(api.received.length, 2);
});

test('an operation that still runs at the deadline is ABORTED, before the caller gives up', async t => {
  const { create } = await scripted(t, [accepted]);
  // A caller that gives up at the deadline gets DEADLINE_EXCEEDED.
  await assert.rejects(create(900), { code: 'ABORTED', detail: /still running/ });
});

test('no call leaves a listener on its signal, however it ends', async t => {
  const { api, get, create } = await scripted(t, [ok, reset, accepted, ok, json(404, {})]);
  const { signal } = new AbortController();
  await get(5_000, signal);
  await create(5_000, signal);
  await assert.rejects(get(5_000, signal));
  assert.equal(api.received.length, 5);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});

test('closing a client ends the calls that are under way', async t => {
  const { api, client, get } = await scripted(t, [hang]);
  const work = assert.rejects(get(30_000), { code: 'UNAVAILABLE' });
  await api.until(1);
  await client.close();
  await work;
});

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test, type TestContext } from 'node:test';
import { sendRequest } from '../../../src/kit/http/exchange.ts';
import { openProxy, type NetworkFault } from '../../../src/kit/http/proxy.ts';
import { listen } from '../../harness/listen.ts';

const body = JSON.stringify({ name: 'x'.repeat(1_000) });

test('a cut answer does not arrive, and the request is done', async t => {
  const { seen, error } = await send(t, { kind: 'cut-answer' });
  assert.deepEqual(seen, [body]);
  assert.match(error ?? '', /closed the connection before it answered/v);
});

test('a caller that disconnects has sent the whole request', async t => {
  const { arrived, error } = await send(t, { kind: 'hang-up' });
  assert.deepEqual(await arrived, body);
  assert.match(error ?? '', /closed the connection before it answered/v);
});

test("half of a cut request's body arrives, and never the rest", async t => {
  const { seen, cut, error } = await send(t, { kind: 'cut-request' });
  assert.equal((await cut).length, Math.floor(body.length / 2));
  assert.deepEqual(seen, []);
  assert.match(error ?? '', /closed the connection before it answered/v);
});

test('a request that is delivered twice is answered once', async t => {
  const { seen, status } = await send(t, { kind: 'duplicate' });
  assert.deepEqual(seen, [body, body]);
  assert.equal(status, 200);
});

test('a request that is sent in small pieces arrives completely', async t => {
  const { seen, status } = await send(t, { kind: 'drip' });
  assert.deepEqual(seen, [body]);
  assert.equal(status, 200);
});

test('a held request arrives when it is released', async t => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const order: string[] = [];
  const sending = send(t, { kind: 'hold', until: () => promise }).then(({ status }) =>
    order.push(`answered ${status}`),
  );
  await send(t, { kind: 'drip' });
  order.push('let go');
  resolve();
  await sending;
  assert.deepEqual(order, ['let go', 'answered 200']);
});

test('a held request can wait with an open connection', async t => {
  const connected = Promise.withResolvers<void>();
  const server = createServer((_, response) => response.end('{}')).once('connection', () =>
    connected.resolve(),
  );
  const target = { url: new URL(`http://${await listen(t, server)}`) };
  const proxy = await openProxy(target, { kind: 'hold', until: () => connected.promise, isDialled: true });
  const outgoing = { method: 'PUT', path: '/v1/volumes/v', headers: {}, body };
  const travel = { timeoutMs: 20_000, signal: new AbortController().signal, port: proxy.port };
  assert.equal((await sendRequest(target, outgoing, travel)).answer?.status, 200);
});

test('a held request is released even if the vendor refuses the connection', async () => {
  const released = Promise.withResolvers<void>();
  const until = async (): Promise<void> => released.resolve();
  const target = { url: new URL('http://127.0.0.1:1') };
  const proxy = await openProxy(target, { kind: 'hold', until, isDialled: true });
  const outgoing = { method: 'PUT', path: '/v1/volumes/v', headers: {}, body };
  const travel = { timeoutMs: 20_000, signal: new AbortController().signal, port: proxy.port };
  const made = await sendRequest(target, outgoing, travel);
  await released.promise;
  assert.match(made.error ?? '', /closed the connection before it answered/v);
});

/** Sends a request through the proxy to a server that answers 200; returns the request that the server received and the caller's answer. */
async function send(t: TestContext, fault: NetworkFault) {
  const seen: string[] = [];
  const [arrived, cut] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.once('error', () => cut.resolve(text));
    request.once('end', () => {
      seen.push(text);
      arrived.resolve(text);
      response.end('{}');
    });
  });
  const target = { url: new URL(`http://${await listen(t, server)}`) };
  const proxy = await openProxy(target, fault);
  const outgoing = { method: 'PUT', path: '/v1/volumes/v', headers: {}, body };
  const travel = { timeoutMs: 20_000, signal: new AbortController().signal, port: proxy.port };
  const made = await sendRequest(target, outgoing, travel);
  await proxy.done;
  return { seen, status: made.answer?.status, error: made.error, arrived: arrived.promise, cut: cut.promise };
}

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test, type TestContext } from 'node:test';
import { detachedAttachments, requireConsistent } from '../../../src/kit/http/contradiction.ts';
import { tokenCredentials } from '../../../src/kit/http/credentials.ts';
import type { Exchange } from '../../../src/kit/http/exchange.ts';
import { createWire } from '../../../src/kit/http/wire.ts';
import { createLedger } from '../../../src/kit/http/ledger.ts';
import { listen } from '../../harness/listen.ts';

const volume = '/v1/volumes/v';
const attachment = `${volume}/attachments/n%201`;

test('a volume or an attachment that was answered as done and reads as unfinished is a fault of FL-1.3-2', () => {
  for (const [path, state] of [
    [volume, 'creating'],
    [attachment, 'attaching'],
  ] as const)
    for (const status of [200, 201])
      assert.throws(() => requireConsistent([exchangeOf('PUT', path, status)], read(path, state)), {
        requirement: 'FL-1.3-2',
      });
});

test('a volume that was detached and reads as attached is a fault of FL-4.3-1', () => {
  const trail = [exchangeOf('PUT', attachment, 201), exchangeOf('DELETE', attachment, 204)];
  assert.throws(() => requireConsistent(trail, read(attachment, 'attached')), { requirement: 'FL-4.3-1' });
  const refused = [...trail, exchangeOf('PUT', attachment, 409, { code: 'ALREADY_EXISTS' })];
  assert.throws(() => requireConsistent(refused, read(attachment, 'attached')), { requirement: 'FL-4.3-1' });
});

test('an attachment is detached after a 204, and until a request that may have attached it again', () => {
  const trail = [exchangeOf('PUT', attachment, 201), exchangeOf('DELETE', attachment, 204)];
  const detached = [{ volumeId: 'v', nodeId: 'n 1' }];
  assert.deepEqual(detachedAttachments([...trail, exchangeOf('DELETE', volume, 204)]), detached);
  for (const [code, left] of [
    ['FAILED_PRECONDITION', detached],
    ['UNAVAILABLE', []],
  ] as const)
    assert.deepEqual(detachedAttachments([...trail, exchangeOf('PUT', attachment, 409, { code })]), left);
  assert.deepEqual(detachedAttachments([...trail, exchangeOf('PUT', attachment, 201)]), []);
  assert.deepEqual(detachedAttachments([...trail, exchangeOf('PUT', attachment)]), []);
});

test('an answer contradicts none to another path, to an earlier change, to a lost one, or to one under way', () => {
  for (const trail of [
    [exchangeOf('PUT', `${volume}2`, 201)],
    [exchangeOf('PUT', volume, 201), exchangeOf('DELETE', volume, 202)],
    [exchangeOf('PUT', volume, 202)],
    [exchangeOf('PUT', volume)],
  ])
    requireConsistent(trail, read(volume, 'creating'));
  const again = [exchangeOf('DELETE', attachment, 204), exchangeOf('PUT', attachment, 201)];
  requireConsistent(again, read(attachment, 'attached'));
});

test('a read contradicts no change that was open during the read', async t => {
  const { start, judge } = await openVendor(t, volume, 'creating');
  const [first, second] = [await start('PUT', 201), await start('DELETE', 204)];
  await first();
  await judge();
  await second();
  await (
    await start('PUT', 201)
  )();
  const third = await start('PUT', 201);
  await judge();
  await third();
  await assert.rejects(judge, { requirement: 'FL-1.3-2' });
});

test('a read contradicts no change that overlapped another one', async t => {
  const { start, judge } = await openVendor(t, attachment, 'attached');
  const [attach, detach] = [await start('PUT', 201), await start('DELETE', 204)];
  await attach();
  await detach();
  await judge();
  await (
    await start('DELETE', 204)
  )();
  await assert.rejects(judge, { requirement: 'FL-4.3-1' });
});

/** Opens a vendor that answers reads of the path with this state at once, and a change when its caller ends it. */
async function openVendor(t: TestContext, path: string, state: string) {
  const held: (() => void)[] = [];
  let received = Promise.withResolvers<void>();
  const server = createServer(({ method, headers }, response) => {
    if (method === 'GET') return response.end(JSON.stringify({ state }));
    held.push(() => response.writeHead(Number(headers['x-status'])).end());
    return received.resolve();
  });
  const trail: Exchange[] = [];
  const { send } = createWire({
    target: { url: new URL(`http://${await listen(t, server)}`) },
    credentials: tokenCredentials('a-token'),
    timeoutMs: 10_000,
    signal: t.signal,
    trail,
    ledger: createLedger(),
  });
  return {
    /** Sends a change. Resolves once the vendor has received it; the result answers it. */
    async start(method: string, status: number): Promise<() => Promise<unknown>> {
      received = Promise.withResolvers();
      const sending = send({ method, path, headers: { 'x-status': String(status) } });
      await received.promise;
      const answer = held.pop();
      return () => {
        answer?.();
        return sending;
      };
    },
    judge: async () => requireConsistent(trail, await send({ method: 'GET', path, headers: {} })),
  };
}

function read(path: string, state: string): Exchange {
  return exchangeOf('GET', path, 200, { state });
}

/** Makes an exchange with an answer of this status, or with a lost one. */
function exchangeOf(method: string, path: string, ...[status, body]: readonly [number?, object?]): Exchange {
  const answer = status === undefined ? {} : { answer: { status, headers: {}, text: '', body } };
  return { request: { method, path, headers: {} }, ...answer, tookMs: 1 };
}

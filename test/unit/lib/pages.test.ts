import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { pause } from '../../../src/lib/concurrency.ts';
import { silentLog, type Log } from '../../../src/lib/log.ts';
import { startPages, type Page } from '../../../src/lib/pages.ts';

const ok: Page = { status: 200, text: 'ok\n' };
/** More than the buffers of a connection hold. */
const large: Page = { status: 200, text: 'x'.repeat(2 ** 24) };

test('connections without a request make no probe fail', async t => {
  const { port, probe } = await open(t);
  const silent = await connectAll(t, port, 100);
  for (let count = 0; count < 3; count++) assert.equal(await probe(), 'ok\n');
  assert.ok(silent.some(socket => !socket.closed));
});

test('connections that never read their answer make no probe fail', async t => {
  const { port, probe } = await open(t);
  const unread = await connectAll(t, port, 200);
  for (const socket of unread) socket.pause().write('GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n');
  for (let count = 0; count < 10; count++) assert.equal(await probe(), 'ok\n');
});

test('a slow probe is not closed for callers of other pages', async t => {
  const slow = Promise.withResolvers<Page>();
  const { port, url } = await open(t, { '/healthz': () => slow.promise });
  const asked = fetch(`${url}/healthz`);
  await pause(50);
  await connectAll(t, port, 100);
  slow.resolve(ok);
  assert.equal(await (await asked).text(), 'ok\n');
});

test('concurrent callers get one page, and a page of metrics is made at most once a second', async t => {
  const made = { '/healthz': 0, '/metrics': 0 };
  const count = (path: keyof typeof made) => async (): Promise<Page> => {
    await pause(50);
    return { status: 200, text: String(++made[path]) };
  };
  const { url } = await open(t, { '/healthz': count('/healthz'), '/metrics': count('/metrics') });
  const read = async (path: string): Promise<string> => (await fetch(`${url}${path}`)).text();
  const readMany = (path: string): Promise<string[]> =>
    Promise.all(Array.from({ length: 8 }, () => read(path)));
  assert.deepEqual(new Set(await readMany('/metrics')), new Set(['1']));
  assert.equal(await read('/metrics'), '1');
  assert.equal((await readMany('/healthz')).length, 8);
  assert.ok(made['/healthz'] < 8);
  const before = made['/healthz'];
  assert.equal(await read('/healthz'), String(before + 1), 'a probe is never an old one');
  await pause(1_100);
  assert.equal(await read('/metrics'), '2');
});

test('callers that ask continuously are slowed down, and a probe is not', async t => {
  const { url, probe } = await open(t);
  const endMs = performance.now() + 1_000;
  let answered = 0;
  const ask = async (): Promise<void> => {
    while (performance.now() < endMs) {
      await (await fetch(`${url}/metrics/none`)).text();
      answered++;
    }
  };
  const asking = Array.from({ length: 8 }, ask);
  for (let count = 0; count < 10; count++) assert.equal(await probe(), 'ok\n');
  await Promise.all(asking);
  // 20 at once, then 20 a second; some more if the machine pauses.
  assert.ok(answered < 100, `${answered} answers`);
});

test('an exchange that takes more than 5 s is ended', async t => {
  const { port } = await open(t);
  const [socket] = await connectAll(t, port, 1);
  socket?.pause().write('GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n');
  await pause(6_000);
  let bytes = 0;
  socket?.on('data', data => (bytes += data.length)).resume();
  if (socket && !socket.closed) await once(socket, 'close');
  assert.ok(bytes < large.text.length, `${bytes} bytes`);
});

test('a failed page is 500 once and made anew, and only the log has the reason', async t => {
  const faults: string[] = [];
  const error: Log['error'] = (_, fields) => faults.push(`${fields?.['path']}: ${fields?.detail}`);
  let isBroken = true;
  const page = async (): Promise<Page> => {
    if (isBroken) throw new Error('broken');
    return ok;
  };
  const { url } = await open(t, { '/healthz': page }, { ...silentLog, error });
  const failed = await fetch(`${url}/healthz?x`);
  assert.equal(failed.status, 500);
  assert.equal(await failed.text(), 'the page could not be made\n');
  assert.deepEqual(faults, ['/healthz: Error: broken']);
  isBroken = false;
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
});

async function open(
  t: TestContext,
  others: Readonly<Record<string, () => Promise<Page>>> = {},
  log = silentLog,
) {
  const all = { '/healthz': async () => ok, '/metrics': async () => large, ...others };
  const pages = new Map(Object.entries(all));
  const { address, close } = await startPages({ host: '127.0.0.1', port: 0 }, pages, log);
  t.after(close);
  const url = `http://${address}`;
  const probe = async (): Promise<string> => {
    const signal = AbortSignal.timeout(60_000);
    return (await fetch(`${url}/healthz`, { signal, headers: { connection: 'close' } })).text();
  };
  return { url, port: Number(address.split(':')[1]), probe };
}

async function connectAll(t: TestContext, port: number, count: number): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
  t.after(() => sockets.forEach(socket => socket.destroy()));
  for (const socket of sockets) socket.on('error', () => {});
  await Promise.all(sockets.map(socket => once(socket, 'connect')));
  return sockets;
}

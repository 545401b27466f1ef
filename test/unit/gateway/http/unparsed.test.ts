import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { answerUnparsed } from '../../../../gateway/http/unparsed.ts';
import { createClient } from '../../../../src/api/client.ts';
import { createMemoryLog } from '../../../harness/gateway-harness.ts';
import { isProblemThat } from '../../../harness/gateway-problems.ts';

type Started = { readonly port: number; readonly lines: readonly string[] };

/** A server that answers every request it can read with "fine", slowly where the path says so. */
async function start(t: TestContext): Promise<Started> {
  const server = createServer(
    { requestTimeout: 200, connectionsCheckingInterval: 50 },
    (request, response) => {
      response.write('fi');
      if (request.url !== '/slow') response.end('ne');
    },
  );
  const { log, lines } = createMemoryLog();
  answerUnparsed(server, log);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, lines };
}

/** Everything that is answered to these bytes, until the connection is closed. */
async function send(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes);
  return text(socket);
}

const rows = [
  ['no HTTP at all', 'hello\r\n\r\n', 400, /^what came is no HTTP request$/],
  ['an unknown method', 'BREW /v1 HTTP/1.1\r\nhost: x\r\n\r\n', 400, /no HTTP request/],
  [
    'two lengths',
    'PUT /v1 HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
    400,
    /no HTTP request/,
  ],
  [
    'headers without an end',
    `GET /v1 HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(64 * 1024)}\r\n\r\n`,
    431,
    /too large$/,
  ],
  ['a request that does not end', 'GET /v1 HTTP/1.1\r\nhost: x\r\n', 408, /did not come in time$/],
] as const;
for (const [name, bytes, status, says] of rows) {
  test(`${name} is answered ${status} with a problem document, and the connection closed`, async t => {
    const { port, lines } = await start(t);
    const answer = await send(port, bytes);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `));
    assert.match(head, /^content-type: application\/problem\+json$/m);
    assert.match(head, new RegExp(`^content-length: ${body.length}$`, 'm'));
    const problem = JSON.parse(body) as Readonly<Record<string, unknown>>;
    assert.match(String(problem['detail']), says);
    assert.equal(problem['status'], status);
    assert.equal(problem['code'], 'UNAVAILABLE');
    assert.match(head, new RegExp(`^x-request-id: ${String(problem['requestId'])}$`, 'm'));
    assert.equal(lines.filter(line => line.includes(String(problem['requestId']))).length, 1);
  });
}

test('rubbish after a good request is answered after it', async t => {
  const { port } = await start(t);
  const socket = connect(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await once(socket, 'readable');
  const first = String(socket.read());
  assert.match(first, /^HTTP\/1\.1 200 /);
  socket.write('rubbish\r\n\r\n');
  assert.match(await text(socket), /"detail":"what came is no HTTP request"/);
});

test('into an answer that is being written nothing is put', async t => {
  const { port } = await start(t);
  const answer = await send(port, 'GET /slow HTTP/1.1\r\nhost: x\r\n\r\nrubbish\r\n\r\n').catch(String);
  assert.doesNotMatch(answer, /problem/);
});

test('a connection that is reset is no news', async t => {
  const { port, lines } = await start(t);
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write('GET /v1 HTT');
  socket.resetAndDestroy();
  assert.match(await send(port, 'hello\r\n\r\n'), /^HTTP\/1\.1 400 /);
  assert.equal(lines.length, 1);
});

test('our own client takes it for a failure that decides nothing', async t => {
  const { port } = await start(t);
  const url = `http://127.0.0.1:${port}`;
  const client = createClient({ url, token: async () => 'x'.repeat(64 * 1024) });
  t.after(() => client.close());
  const asked = client.getCapabilities({ deadlineMs: Date.now() + 5_000 });
  await assert.rejects(asked, isProblemThat('UNAVAILABLE', /headers of the request are too large/));
});

import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import {
  leaveUnread,
  limitConnections,
  maxConnections,
  whileOpen,
} from '../../../../gateway/http/connections.ts';
import { runGateway } from '../../../harness/gateway/program.ts';
import { listen } from '../../../harness/listen.ts';

test('above the maximum of connections the longest idle one is closed, never one with a request', async t => {
  const { open, answers } = await serve(t, 3);
  const busy = await open();
  busy.write('GET /busy HTTP/1.1\r\nhost: x\r\n\r\n');
  const served = await answers();
  const [silent, half] = [await open(), await open()];
  half.write('GET / HTTP/1.1\r\nhost:');
  const newer = await open();
  await once(silent, 'close');
  const newest = await open();
  await once(half, 'close');
  served.end('good');
  assert.match(String((await once(busy, 'data'))[0]), /200 OK/);
  assert.deepEqual(
    [newer, newest].map(socket => socket.destroyed),
    [false, false],
  );
});

test('the new connection is closed if no connection is idle', async t => {
  const { open, answers } = await serve(t, 1);
  const busy = await open();
  busy.write('GET /busy HTTP/1.1\r\nhost: x\r\n\r\n');
  const served = await answers();
  await once(await open(), 'close');
  served.end('good');
  assert.match(String((await once(busy, 'data'))[0]), /200 OK/);
});

test('few of many refusals are answered at a time, and waiting refusals give way to other requests', async t => {
  const { open, answers, connections } = await serve(t, 2);
  const refused = await open();
  refused.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  const { req } = await answers();
  let given = 0;
  const refusals = Array.from({ length: 2_000 }, async () => {
    await connections.refuse(req);
    given++;
  });
  await new Promise(setImmediate);
  assert.ok(given > 0 && given < 2_000, `${given} were given at once`);
  const other = await open();
  await open();
  await once(refused, 'close');
  assert.equal(other.destroyed, false);
  await Promise.all(refusals);
});

test('a connection that sends requests without waiting for answers is closed, and few of them are served', async t => {
  const { open, asked } = await serve(t, 3);
  const caller = await open();
  caller.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(2_000));
  await once(caller, 'close');
  assert.ok(asked.length > 0 && asked.length <= 8, `${asked.length} were served`);
});

test('a gateway allows ten seconds for a head and a minute for a request', async t => {
  const { url } = await runGateway(t, { flags: { 'public-docs': 'true' } });
  const asked = Promise.withResolvers<Server>();
  const note = (message: unknown): void => asked.resolve((message as { readonly server: Server }).server);
  subscribe('http.server.request.start', note);
  t.after(() => unsubscribe('http.server.request.start', note));
  await (await fetch(`${url}/openapi.json`)).arrayBuffer();
  const { headersTimeout, requestTimeout } = await asked.promise;
  assert.deepEqual({ headersTimeout, requestTimeout }, { headersTimeout: 10_000, requestTimeout: 60_000 });
});

test('connections get half of the descriptors, up to a maximum', () => {
  assert.equal(maxConnections(limits('128')), 64);
  assert.ok(maxConnections(limits('1000000')) <= 1_024);
  assert.ok(maxConnections() > 0);
});

test('data that a caller sends after its answer is not read, and does not cost it the answer', async t => {
  const { open, answers } = await serve(t, 3);
  const caller = await open();
  caller.write(`PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: ${2 ** 30}\r\n\r\n`);
  const served = await answers();
  leaveUnread(served.req, served);
  served.writeHead(401).end('no token');
  caller.write(Buffer.alloc(2 ** 23));
  const { socket } = served.req;
  const [[answer]] = await Promise.all([once(caller, 'data'), once(socket, 'close')]);
  assert.match(String(answer), /401 Unauthorized[^]*Connection: close[^]*no token/i);
  assert.ok(socket.bytesRead < 2 ** 18, `${socket.bytesRead} bytes were read`);
});

test('an answer to a complete request ends no connection', async t => {
  const { open, answers } = await serve(t, 3);
  const caller = await open();
  for (const status of [401, 200]) {
    caller.write('PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc');
    const served = await answers();
    if (!served.req.complete) await once(served.req.resume(), 'end');
    leaveUnread(served.req, served);
    served.writeHead(status).end();
    assert.match(String((await once(caller, 'data'))[0]), new RegExp(`^HTTP/1.1 ${status}`));
  }
});

/** Makes Linux's description of a process's limits. */
function limits(soft: string): string {
  return `Max open files            ${soft}      524288      files`;
}

/** Serves requests that wait for their answer. */
async function serve(t: TestContext, max: number) {
  const asked: ServerResponse[] = [];
  const server = createServer(
    whileOpen((_, response) => {
      asked.push(response);
      server.emit('asked');
    }),
  );
  const connections = limitConnections(server, max);
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const { port } = new URL(`http://${await listen(t, server)}`);
  return {
    connections,
    asked,
    async open(): Promise<Socket> {
      const accepted = once(server, 'connection');
      const socket = connect(Number(port), '127.0.0.1');
      sockets.push(socket);
      socket.on('error', () => {}).resume();
      await accepted;
      return socket;
    },
    async answers(): Promise<ServerResponse> {
      if (asked.length === 0) await once(server, 'asked');
      return asked.shift() ?? assert.fail();
    },
  };
}

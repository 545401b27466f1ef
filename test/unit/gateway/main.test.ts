import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { backends } from '../../../gateway/backends/index.ts';
import { maxBodyBytes } from '../../../src/api/operations.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { describeStartFault } from '../../../src/lib/lifecycle.ts';
import { mounted, temporaryDirectory, volumeSpec } from '../../harness/gateway.ts';
import { signerOf } from '../../harness/gateway/signers.ts';
import { callWithin, prepareGateway, runGateway, type GatewayRun } from '../../harness/gateway/program.ts';
import { listen } from '../../harness/listen.ts';

const signer = await signerOf('a');

test('the client and the gateway understand each other, from the first create to the last delete', async t => {
  const { client } = await runGateway(t, { directory: await prepare(t) });
  const id = 'a.pvc-1';
  const capabilities = await client.getCapabilities({}, callWithin());
  assert.partialDeepStrictEqual(capabilities.pools, [{ name: 'images', backend: 'image' }]);
  const { availableBytes } = await client.getCapacity({ body: {} }, callWithin());
  const volume = await client.createVolume({ volumeId: id, body: volumeSpec('pvc-1') }, callWithin());
  assert.deepEqual(
    await client.createVolume({ volumeId: id, body: volumeSpec('pvc-1') }, callWithin()),
    volume,
  );
  assert.equal(
    (await client.getCapacity({ body: {} }, callWithin())).availableBytes,
    availableBytes - volume.sizeBytes,
  );
  await client.putNode({ nodeId: 'n1', body: { maxVolumes: 2 } }, callWithin());
  assert.deepEqual(await client.getNode({ nodeId: 'n1' }, callWithin()), { id: 'n1', maxVolumes: 2 });
  const key = { volumeId: id, nodeId: 'n1' };
  const use = { capability: mounted, readonly: false };
  const { attachment } = await client.attachVolume({ ...key, body: use }, callWithin());
  assert.equal(attachment?.protocol, 'loop');
  const { volumes } = await client.listVolumes({ limit: 5 }, callWithin());
  assert.deepEqual(volumes, [await client.getVolume({ volumeId: id }, callWithin())]);
  assert.deepEqual(
    await client.validateVolume({ volumeId: id, body: { capabilities: [mounted] } }, callWithin()),
    {
      confirmed: true,
    },
  );
  await assert.rejects(client.deleteVolume({ volumeId: id }, callWithin()), { code: 'FAILED_PRECONDITION' });
  await client.detachVolumeFromAllNodes({ volumeId: id }, callWithin());
  await client.deleteVolume({ volumeId: id }, callWithin());
  await client.deleteNode({ nodeId: 'n1' }, callWithin());
  await assert.rejects(client.getVolume({ volumeId: id }, callWithin()), { code: 'NOT_FOUND' });
});

test('gateways without a configured name have unique names at a storage, and keep them', async t => {
  const names: string[] = [];
  const { memory } = backends;
  const open: typeof memory.open = (settings, pool) => {
    names.push(pool.identity?.name ?? '');
    return memory.open(settings, pool);
  };
  const [one, other] = [await prepare(t), await prepare(t)];
  for (const directory of [one, other, one]) {
    await prepareGateway(t, { pools: { images: { backend: 'memory' } } }, directory);
    const options = { plugins: { memory: { ...memory, open } } };
    await (await runGateway(t, { directory, ...options })).end();
  }
  const own = names.filter(name => /^gateway-[0-9a-f]{8}$/.test(name));
  assert.equal(own.length, 3);
  assert.equal(own[2], own[0]);
  assert.notEqual(own[1], own[0]);
});

test('a gateway whose store has volumes in an unconfigured pool does not start', async t => {
  const directory = await prepare(t);
  const running = await runGateway(t, { directory });
  const { create } = running;
  await create('a.one');
  await running.end();
  await prepareGateway(t, { pools: { other: { backend: 'memory' } } }, directory);
  await assert.rejects(runGateway(t, { directory }), (error: AggregateError) => {
    assert.deepEqual(error.errors, [
      'pool "images" is not configured, but the store has volumes in it (1); configure it again',
    ]);
    return true;
  });
});

test('a store that knows nothing of its pool does not start until the pool is adopted', async t => {
  const directory = await prepare(t);
  const first = await runGateway(t, { directory });
  await first.create('a.one');
  await first.end();
  const own = '.owner';
  const mark = readFileSync(join(directory, 'images', own), 'utf8');
  const other = { store: join(directory, 'other.sqlite') };
  await assertNoStart(
    t,
    { directory, flags: other },
    /^pools\.images: it is marked as the pool of another store/,
  );
  assert.equal(existsSync(other.store), false, 'a start that is refused leaves no store');
  rmSync(join(directory, 'images', own));
  await assertNoStart(
    t,
    { directory, flags: other },
    /^pools\.images: it holds "a\.one", but the store has nothing in it/,
  );
  assert.equal(existsSync(join(directory, 'images', own)), false);

  const agreed = await runGateway(t, { directory });
  assert.equal(readFileSync(join(directory, 'images', own), 'utf8'), mark);
  await agreed.end();
  await (await runGateway(t, { directory, flags: { ...other, 'adopt-pools': 'images' } })).end();
  await (await runGateway(t, { directory, flags: other })).end();
  await assertNoStart(t, { directory }, /is marked as the pool of another store/);
});

test('a pool whose storage is missing, or belongs to another pool, does not start', async t => {
  const directory = await prepare(t);
  const first = await runGateway(t, { directory });
  await first.create('a.one');
  await first.end();
  renameSync(join(directory, 'images'), join(directory, 'unmounted'));
  mkdirSync(join(directory, 'images'));
  await assertNoStart(
    t,
    { directory },
    /^pools\.images: it holds none of the volumes and snapshots that the store has in it/,
  );
  const images = { backend: 'image', dir: join(directory, 'images') };
  await prepareGateway(
    t,
    { pools: { images: { ...images, dir: join(directory, 'unmounted') }, other: images } },
    directory,
  );
  await (await runGateway(t, { directory })).end();
  await prepareGateway(
    t,
    { pools: { images, other: { ...images, dir: join(directory, 'unmounted') } } },
    directory,
  );
  const swapped = /pools\.images: it is marked as .* another pool.*/;
  await assert.rejects(runGateway(t, { directory }), ({ errors }: AggregateError) => {
    assert.equal(errors.length, 2);
    return swapped.test(String(errors[0]));
  });
});

test('a pool may be renamed while it is empty', async t => {
  const directory = await prepare(t);
  const first = await runGateway(t, { directory });
  await first.end();
  const pool = { backend: 'image', dir: join(directory, 'images') };
  await prepareGateway(t, { pools: { renamed: pool } }, directory);
  const running = await runGateway(t, { directory });
  const { create } = running;
  await create('a.one');
  await running.end();
  await prepareGateway(t, { pools: { again: pool } }, directory);
  await assertNoStart(t, { directory }, /^pools\.again: it is marked as .* another pool/);
});

test('a caller that disconnects in the middle of a request leaves nothing half done', async t => {
  const running = await runGateway(t, { directory: await prepare(t) });
  const { create, client } = running;
  const { port } = new URL(running.url);
  const token = await signer.sign();
  const body = JSON.stringify(volumeSpec('pvc-1'));
  const head = `PUT /v1/volumes/a.pvc-1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: ${body.length}\r\n\r\n`;
  const whole = head + body;
  for (const sent of [20, head.length, head.length + 10, whole.length]) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(whole.slice(0, sent), () => socket.destroy());
    await once(socket, 'close');
  }
  const volume = await create('a.pvc-1');
  assert.equal(volume.state, 'ready');
  assert.equal((await client.listVolumes({}, callWithin())).volumes.length, 1);
});

test('the gateway reports its state on a port of its own, and names no volume', async t => {
  const directory = await prepare(t);
  const running = await runGateway(t, { directory, flags: { 'metrics-listen': '127.0.0.1:0' } });
  const { create, client } = running;
  const page = async (path: string): Promise<{ status: number; text: string }> => {
    const answer = await fetch(`http://${running.ready['metrics']}${path}`);
    return { status: answer.status, text: await answer.text() };
  };
  assert.deepEqual(await page('/healthz'), { status: 200, text: 'ok\n' });
  assert.deepEqual(await page('/readyz'), { status: 200, text: 'store: ok\n' });
  await create('a.secretive');
  assert.equal((await fetch(`${running.url}/v1/volumes/a.secretive`)).status, 401);
  assert.equal((await fetch(`${running.url}/metrics`)).status, 401);
  const { text } = await page('/metrics');
  for (const line of [
    'fairlead_gateway_requests_total{operation="createVolume",code="OK"} 1',
    'fairlead_gateway_requests_total{operation="getVolume",code="UNAUTHENTICATED"} 1',
    'fairlead_gateway_requests_total{operation="other",code="UNAUTHENTICATED"} 1',
    'fairlead_gateway_refused_tokens_total{reason="missing"} 2',
    'fairlead_gateway_backend_calls_total{pool="images",method="create",code="OK"} 1',
    'fairlead_gateway_store_up 1',
    'fairlead_gateway_volumes{pool="images",cluster="a"} 1',
    'fairlead_gateway_reserved_bytes{pool="images",cluster="a"} 1048576',
    'fairlead_gateway_pool_reached{pool="images"} 1',
    'fairlead_gateway_oldest_claim_seconds 0',
    'fairlead_gateway_key_faults 0',
    'fairlead_gateway_clock_skew_seconds 0',
  ])
    assert.ok(text.split('\n').includes(line), text);
  assert.match(text, /^process_resident_memory_bytes \d+$/m);
  assert.match(text, /^fairlead_gateway_store_calls_total\{kind="transaction",code="OK"\} \d+$/m);
  assert.match(text, /^fairlead_gateway_pool_capacity_bytes\{pool="images"\} \d+$/m);
  assert.doesNotMatch(text, /secretive/);
  renameSync(join(directory, 'store.sqlite'), join(directory, 'moved'));
  const seesIt = async () =>
    /^fairlead_gateway_store_up 0$/m.test((await page('/metrics')).text) || undefined;
  assert.ok(await poll(seesIt, { everyMs: 10, timeoutMs: 10_000 }));
  assert.equal((await page('/healthz')).status, 200);
  const { status, text: reason } = await page('/readyz');
  assert.deepEqual(
    [status, reason],
    [503, 'store: the file of the store was removed, moved or replaced; restart the gateway\n'],
  );
  await assert.rejects(client.deleteVolume({ volumeId: 'a.secretive' }, callWithin()), {
    code: 'UNAVAILABLE',
  });
  assert.equal(existsSync(join(directory, 'images', 'a.secretive.img')), true);
});

test('a request with two hosts or tokens is refused, and so is a path of raw bytes', async t => {
  const running = await runGateway(t, { directory: await prepare(t) });
  const { hostname, port, host } = new URL(running.url);
  const authorization = `Authorization: Bearer ${await signer.sign()}`;
  const rows = [
    ['GET /v1/volumes', [`Host: ${host}`, authorization], 200],
    ['GET /v1/volumes', [`Host: ${host}`, 'Host: elsewhere', authorization], 400],
    ['GET /v1/volumes', [`Host: ${host}`, `Host: ${host}`, authorization], 400],
    ['GET /v1/volumes', [`Host: ${host}`, authorization, 'Authorization: Bearer x.y.z'], 401],
    ['GET /v1/nodes/\xE9', [`Host: ${host}`, authorization], 400],
  ] as const;
  for (const [route, headers, status] of rows) {
    const socket = connect(Number(port), hostname);
    socket.setEncoding('latin1');
    socket.write([`${route} HTTP/1.1`, ...headers, 'Connection: close', '', ''].join('\r\n'), 'latin1');
    const answer = (await Array.fromAsync(socket)).join('');
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `), headers.join(', '));
  }
});

test('an unread body, with a wrong token or too long, delays no other request', async t => {
  const running = await runGateway(t, { directory: await prepare(t) });
  const { create } = running;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const put = async (authorization: string, length: number, chunked: boolean): Promise<number> => {
    const sent = request(`${running.url}/v1/volumes/a.pvc-1`, {
      method: 'PUT',
      agent,
      headers: { authorization, ...(!chunked && { 'content-length': length }) },
    });
    // A peer that closes the connection in the middle of a body has answered before.
    sent.on('error', () => {});
    sent.end('x'.repeat(length));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    await once(answer, 'close');
    return answer.statusCode ?? 0;
  };
  const good = `Bearer ${await signer.sign()}`;
  for (const chunked of [false, true]) {
    assert.equal(await put('Bearer x.y.z', 100_000, chunked), 401);
    assert.equal(await put(good, maxBodyBytes + 1, chunked), 400);
    assert.equal(await put(good, 10, chunked), 400);
  }
  const volume = await create('a.pvc-1');
  assert.equal(volume.state, 'ready');
});

test('a body without a valid token, or too long, is read only as far as it came with the head', async t => {
  const running = await runGateway(t, { directory: await prepare(t) });
  const { host, hostname, port } = new URL(running.url);
  for (const [token, status] of [
    ['x.y.z', 401],
    [await signer.sign(), 400],
  ] as const) {
    const accepted = nextRequest(t, '/v1/volumes/a.pvc-1');
    const caller = connect(Number(port), hostname);
    caller.on('error', () => {});
    caller.write(
      `PUT /v1/volumes/a.pvc-1 HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\ncontent-length: ${2 ** 30}\r\n\r\n`,
    );
    const { socket } = await accepted;
    caller.write(Buffer.alloc(2 ** 23));
    const [[answer]] = await Promise.all([once(caller, 'data'), once(socket, 'close')]);
    assert.match(String(answer), new RegExp(`^HTTP/1.1 ${status}`));
    assert.ok(socket.bytesRead < 2 ** 19, `${socket.bytesRead} bytes were read`);
  }
});

test('the gateway ends even if a connection is open', async t => {
  const running = await runGateway(t, { directory: await prepare(t) });
  const { client } = running;
  await client.getCapabilities({}, callWithin());
  await running.end();
  await assert.rejects(client.getCapabilities({}, { deadlineMs: Date.now() + 500 }), {
    code: /UNAVAILABLE|DEADLINE_EXCEEDED/,
  });
});

test('a port in use is reported in one line, and nothing stays open', async t => {
  const directory = await prepare(t);
  const address = await listen(t, createServer());
  for (const setting of ['listen', 'metrics-listen'])
    await assertNoStart(
      t,
      { directory, flags: { [setting]: address } },
      new RegExp(`^${address} is already in use$`),
    );
  const { create } = await runGateway(t, { directory });
  await create('a.pvc-1');
});

test('an unusable store or certificate is reported in one line', async t => {
  const directory = await prepare(t);
  const noStore = /^cannot use the store "\/no\/store.sqlite": unable to open database file$/;
  await assertNoStart(t, { directory, flags: { store: '/no/store.sqlite' } }, noStore);
  const tls = { 'tls-cert-file': '/no/cert', 'tls-key-file': '/no/key' };
  await assertNoStart(t, { directory, flags: tls }, /\/no\/cert/);
});

/** Returns the next request for the path, as Node.js reports it. */
async function nextRequest(t: TestContext, path: string): Promise<IncomingMessage> {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage>();
  const see = (message: unknown): void => {
    const { request: seen } = message as { readonly request: IncomingMessage };
    if (seen.url === path) resolve(seen);
  };
  subscribe('http.server.request.start', see);
  t.after(() => unsubscribe('http.server.request.start', see));
  return promise;
}

async function assertNoStart(t: TestContext, run: GatewayRun, says: RegExp): Promise<void> {
  await assert.rejects(runGateway(t, run), error => {
    const [first] = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error];
    return says.test(describeStartFault(first));
  });
}

/** Makes a directory with all files of a gateway. */
async function prepare(t: TestContext): Promise<string> {
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, 'images'));
  const images = { backend: 'image', dir: join(directory, 'images') };
  return prepareGateway(t, { pools: { images } }, directory);
}

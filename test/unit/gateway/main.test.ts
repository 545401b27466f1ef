import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { gatewaySettings, type GatewayConfig } from '../../../gateway/config.ts';
import { startGateway } from '../../../gateway/main.ts';
import { createClient, type StorageClient } from '../../../src/api/client.ts';
import type { Call } from '../../../src/api/http.ts';
import { maxBodyBytes } from '../../../src/api/operations.ts';
import { describeStartFault, type Running } from '../../../src/lib/lifecycle.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { createSigner, mounted, temporaryDirectory, volumeSpec } from '../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../harness/gateway-problems.ts';

const signer = await createSigner('a');

test('the client and the gateway speak the same language, from the first create to the last delete', async t => {
  const { client } = await start(t, prepare(t));
  const id = 'a.pvc-1';
  const capabilities = await client.getCapabilities({}, call());
  assert.deepEqual(
    capabilities.pools.map(({ name, backend }) => [name, backend]),
    [['images', 'image']],
  );
  const { availableBytes } = await client.getCapacity({ body: {} }, call());
  const volume = await client.createVolume({ volumeId: id, body: volumeSpec('pvc-1') }, call());
  assert.deepEqual(await client.createVolume({ volumeId: id, body: volumeSpec('pvc-1') }, call()), volume);
  assert.equal(
    (await client.getCapacity({ body: {} }, call())).availableBytes,
    availableBytes - volume.sizeBytes,
  );
  await client.putNode({ nodeId: 'n1', body: { maxVolumes: 2 } }, call());
  assert.deepEqual(await client.getNode({ nodeId: 'n1' }, call()), { id: 'n1', maxVolumes: 2 });
  const key = { volumeId: id, nodeId: 'n1' };
  const { attachment } = await client.attachVolume(
    { ...key, body: { capability: mounted, readonly: false } },
    call(),
  );
  assert.equal(attachment?.protocol, 'loop');
  const { volumes } = await client.listVolumes({ limit: 5 }, call());
  assert.deepEqual(volumes, [await client.getVolume({ volumeId: id }, call())]);
  assert.deepEqual(await client.validateVolume({ volumeId: id, body: { capabilities: [mounted] } }, call()), {
    confirmed: true,
  });
  await assert.rejects(client.deleteVolume({ volumeId: id }, call()), isProblem('FAILED_PRECONDITION'));
  await client.detachVolumeFromAllNodes({ volumeId: id }, call());
  await client.deleteVolume({ volumeId: id }, call());
  await client.deleteNode({ nodeId: 'n1' }, call());
  await assert.rejects(client.getVolume({ volumeId: id }, call()), isProblem('NOT_FOUND'));
});

test('what was made is there after the gateway was started again', async t => {
  const directory = prepare(t);
  const first = await start(t, directory);
  const volume = await first.client.createVolume({ volumeId: 'a.pvc-1', body: volumeSpec('pvc-1') }, call());
  await first.running.close();
  const second = await start(t, directory);
  assert.deepEqual(await second.client.getVolume({ volumeId: 'a.pvc-1' }, call()), volume);
});

test('a gateway that is told where its storage is says so of all that it makes', async t => {
  const { client } = await start(t, prepare(t, { pool: { topology: { 'x.example/zone': 'a' } } }));
  const place = { 'x.example/zone': 'a' };
  assert.ok((await client.getCapabilities({}, call())).features.includes('topology'));
  const here = volumeSpec('here', {
    topology: { requisite: [{ ...place, 'x.example/protocol-loop': 'true' }] },
  });
  assert.deepEqual((await client.createVolume({ volumeId: 'a.here', body: here }, call())).topology, [place]);
  const away = volumeSpec('away', { topology: { requisite: [{ 'x.example/zone': 'b' }] } });
  await assert.rejects(
    client.createVolume({ volumeId: 'a.away', body: away }, call()),
    isProblem('RESOURCE_EXHAUSTED'),
  );
  const cut = await client.createSnapshot(
    { snapshotId: 'a.cut', body: { name: 'cut', volumeId: 'a.here' } },
    call(),
  );
  assert.deepEqual(cut.topology, [place]);
  assert.ok((await client.getCapacity({ body: { topology: place } }, call())).availableBytes > 0);
  const none = await client.getCapacity({ body: { topology: { 'x.example/zone': 'b' } } }, call());
  assert.deepEqual(none, { availableBytes: 0 });
});

test('a gateway whose store has volumes in a pool that is not configured does not start', async t => {
  const directory = prepare(t);
  const { client, running } = await start(t, directory);
  await client.createVolume({ volumeId: 'a.one', body: volumeSpec('one') }, call());
  await running.close();
  writePools(directory, { other: { backend: 'memory' } });
  await assert.rejects(startGateway(configOf(directory), silentLog), (error: AggregateError) => {
    assert.deepEqual(error.errors, ['pool "images" is not configured, but the store has volumes in it (1)']);
    return true;
  });
});

test('many clients that create at once get as many volumes', async t => {
  const { client } = await start(t, prepare(t));
  const names = Array.from({ length: 64 }, (_, index) => `pvc-${index}`);
  await Promise.all(
    names.map(name => client.createVolume({ volumeId: `a.${name}`, body: volumeSpec(name) }, call())),
  );
  assert.equal((await client.listVolumes({}, call())).volumes.length, names.length);
});

test('a token that is not accepted tells which claim is wrong', async t => {
  const { running } = await start(t, prepare(t));
  const client = createClient({ url: urlOf(running), token: () => signer.sign({ aud: 'other' }) });
  t.after(() => client.close());
  await assert.rejects(
    client.getCapabilities({}, call()),
    isProblemThat('UNAVAILABLE', /"aud" is not accepted/),
  );
});

test('a caller that goes away in the middle of a request leaves nothing half done', async t => {
  const { running, client } = await start(t, prepare(t));
  const { port } = new URL(urlOf(running));
  const token = await signer.sign();
  const body = JSON.stringify(volumeSpec('pvc-1'));
  const head = `PUT /v1/volumes/a.pvc-1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: ${body.length}\r\n\r\n`;
  const whole = head + body;
  for (const sent of [20, head.length, head.length + 10, whole.length]) {
    await new Promise<void>(resolve => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write(whole.slice(0, sent), () => socket.destroy());
      });
      socket.once('close', () => resolve());
    });
  }
  const volume = await client.createVolume({ volumeId: 'a.pvc-1', body: volumeSpec('pvc-1') }, call());
  assert.equal(volume.state, 'ready');
  assert.equal((await client.listVolumes({}, call())).volumes.length, 1);
});

test('a body that nobody reads, of a bad token or too long, holds up no other request', async t => {
  const { running, client } = await start(t, prepare(t));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const put = async (authorization: string, length: number, chunked: boolean): Promise<number> => {
    const sent = request(`${urlOf(running)}/v1/volumes/a.pvc-1`, {
      method: 'PUT',
      agent,
      headers: { authorization, ...(!chunked && { 'content-length': length }) },
    });
    // Whoever closes the connection in the middle of a body has answered before.
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
  const volume = await client.createVolume({ volumeId: 'a.pvc-1', body: volumeSpec('pvc-1') }, call());
  assert.equal(volume.state, 'ready');
});

test('the gateway ends though a connection is open', async t => {
  const { running, client } = await start(t, prepare(t));
  await client.getCapabilities({}, call());
  await running.close();
  await assert.rejects(
    client.getCapabilities({}, { deadlineMs: Date.now() + 500 }),
    isProblem('UNAVAILABLE', 'DEADLINE_EXCEEDED'),
  );
});

test('a port that is taken is told in one line, and nothing stays open', async t => {
  const directory = prepare(t);
  const other = createServer();
  await new Promise<void>(resolve => {
    other.listen(0, '127.0.0.1', () => resolve());
  });
  t.after(() => other.close());
  const { port } = other.address() as AddressInfo;
  const starting = startGateway(
    configOf(directory, { flags: { '--listen': `127.0.0.1:${port}` } }),
    silentLog,
  );
  await assert.rejects(starting, error => {
    assert.equal(describeStartFault(error), `127.0.0.1:${port} is already in use`);
    return true;
  });
  const { client } = await start(t, directory);
  await client.createVolume({ volumeId: 'a.pvc-1', body: volumeSpec('pvc-1') }, call());
});

const faults: readonly { readonly name: string; readonly change: Change; readonly says: RegExp }[] = [
  {
    name: 'a store that cannot be opened',
    change: { flags: { '--store': '/no/store.sqlite' } },
    says: /^cannot use the store "\/no\/store.sqlite": unable to open database file$/,
  },
  {
    name: 'a certificate that is not there',
    change: { flags: { '--tls-cert-file': '/no/cert', '--tls-key-file': '/no/key' } },
    says: /\/no\/cert/,
  },
];
for (const { name, change, says } of faults) {
  test(`${name} is one line`, async t => {
    const starting = startGateway(configOf(prepare(t, change), change), silentLog);
    await assert.rejects(starting, error => says.test(describeStartFault(error)));
  });
}

/** What is other than usual: members of the pool, and flags. */
type Change = {
  readonly pool?: Readonly<Record<string, unknown>>;
  readonly flags?: Readonly<Record<string, string>>;
};

/** A directory with all that a gateway needs. */
function prepare(t: TestContext, { pool }: Change = {}): string {
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, 'images'));
  writeFileSync(join(directory, 'a.jwks.json'), JSON.stringify({ keys: [signer.publicJwk] }));
  writePools(directory, { images: { backend: 'image', dir: join(directory, 'images'), ...pool } });
  return directory;
}

function writePools(directory: string, pools: object): void {
  const clusters = { a: { keys: 'a.jwks.json' } };
  writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify({ pools, clusters }));
}

function configOf(directory: string, { flags = {} }: Change = {}): GatewayConfig {
  const all = {
    '--listen': '127.0.0.1:0',
    '--store': join(directory, 'store.sqlite'),
    '--config': join(directory, 'gateway.yaml'),
    ...flags,
  };
  const { values, faults: found } = readSettings(gatewaySettings, {
    argv: Object.entries(all).flat(),
    env: {},
  });
  assert.ok(values, found?.join('\n') ?? '');
  return values;
}

async function start(
  t: TestContext,
  directory: string,
  change: Change = {},
): Promise<{ running: Running; client: StorageClient }> {
  const running = await startGateway(configOf(directory, change), silentLog);
  const client = createClient({ url: urlOf(running), token: () => signer.sign() });
  t.after(async () => {
    await client.close();
    await running.close();
  });
  return { running, client };
}

function urlOf({ ready }: Running): string {
  return ready['gateway'] ?? '';
}

function call(): Call {
  return { deadlineMs: Date.now() + 10_000 };
}

import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Backend } from '../../../gateway/backend.ts';
import { backends } from '../../../gateway/backends/index.ts';
import { openMemory } from '../../../gateway/backends/memory.ts';
import { createClient } from '../../../src/api/client.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { callWithin, prepareGateway, runGateway } from '../../harness/gateway/program.ts';
import { temporaryDirectory, volumeSpec } from '../../harness/gateway.ts';
import { signerOf } from '../../harness/gateway/signers.ts';
import { listen } from '../../harness/listen.ts';
import { freePort } from '../../harness/machine.ts';
import { startProgram } from '../../harness/program.ts';

test('a gateway with four hanging pools answers at once, serves its other pool, and lists the four as waiting', async t => {
  const url = await serveSilence(t);
  const hanging = ['w', 'x', 'y', 'z'].map(name => [name, { backend: 'rest', url }] as const);
  const pools = { one: { backend: 'memory' }, ...Object.fromEntries(hanging) };
  const directory = await prepareGateway(t, { pools });
  const [api, metrics] = [await freePort(), await freePort()];
  const flags = {
    listen: `127.0.0.1:${api}`,
    'metrics-listen': `127.0.0.1:${metrics}`,
    config: join(directory, 'gateway.yaml'),
    store: join(directory, 'store.sqlite'),
  };
  const program = startProgram('gateway', flags);
  t.after(() => program.end('SIGKILL'));
  await untilAnswered(`http://127.0.0.1:${metrics}/healthz`);
  assert.doesNotMatch(program.stderr(), /"msg":"ready"/, 'the gateway still looks for its other pools');
  await untilAnswered(`http://127.0.0.1:${metrics}/readyz`);
  const clientOf = async (name: string) => {
    const client = createClient({
      url: `http://127.0.0.1:${api}`,
      token: async () => (await signerOf(name)).sign(),
    });
    t.after(() => client.close());
    return client;
  };
  const [a, operator] = [await clientOf('a'), await clientOf('operators')];
  const body = { ...volumeSpec('v'), parameters: { pool: 'one' } };
  const volume = await a.createVolume({ volumeId: 'a.v', body }, callWithin());
  assert.equal(volume.state, 'ready');
  const other = { ...volumeSpec('o'), parameters: { pool: 'x' } };
  await assert.rejects(a.createVolume({ volumeId: 'a.o', body: other }, callWithin(1_000)), {
    code: 'UNAVAILABLE',
    message: /^pool "x" is not open yet: its storage has not answered since the gateway started/,
  });
  const { pools: found } = await operator.listPools({ limit: 10 }, callWithin());
  const states = found.map(({ id, state }) => `${id} ${state}`);
  assert.deepEqual(states, ['one open', 'w waiting', 'x waiting', 'y waiting', 'z waiting']);
  await program.ready;
});

test('a start that a slow pool refuses lets running requests end before it closes their pool', async t => {
  const events: string[] = [];
  const [creating, foreign] = [Promise.withResolvers<void>(), Promise.withResolvers<Backend>()];
  const openings = [Promise.resolve(openMemory({ capacity: 2 ** 30 })), foreign.promise];
  const close = async (): Promise<void> => void events.push('closed');
  const openWatched = async (): Promise<Backend> => {
    const memory = openMemory({ capacity: 2 ** 40 });
    return {
      ...memory,
      close,
      async create(volume) {
        events.push('creating');
        await creating.promise;
        events.push('created');
        return memory.create(volume);
      },
    };
  };
  const { memory } = backends;
  const plugins = {
    watched: { ...memory, open: openWatched },
    foreign: {
      ...memory,
      open: () => openings.shift() ?? Promise.reject(new Error('it is opened too often')),
    },
  };
  const port = await freePort();
  const pools = { one: { backend: 'watched' }, two: { backend: 'foreign' } };
  const starting = runGateway(t, { pools, plugins, flags: { listen: `127.0.0.1:${port}` } });
  starting.catch(() => {});
  const url = `http://127.0.0.1:${port}`;
  await untilAnswered(`${url}/.well-known/jwks.json`);
  events.length = 0;
  const client = createClient({ url, token: async () => (await signerOf('a')).sign() });
  t.after(() => client.close());
  const body = { ...volumeSpec('v'), parameters: { pool: 'one' } };
  const created = client.createVolume({ volumeId: 'a.v', body }, callWithin());
  await poll(() => events.length > 0 || undefined, { everyMs: 5, timeoutMs: 10_000 });
  foreign.reject(new Error('it is the pool of another store'));
  await sleep(200);
  creating.resolve();
  assert.equal((await created).state, 'ready');
  await assert.rejects(starting, (error: AggregateError) => {
    assert.match(String(error.errors), /pools\.two: it is the pool of another store/);
    return true;
  });
  assert.deepEqual(events, ['creating', 'created', 'closed']);
});

test('a first start that a slow pool refuses leaves neither a store nor a mark in a quick pool', async t => {
  const directory = temporaryDirectory(t);
  const [images, store] = [join(directory, 'images'), join(directory, 'store.sqlite')];
  mkdirSync(images, { recursive: true });
  const plugins = { ...backends, slow: { ...backends.memory, open: failSlowly } };
  const pools = { images: { backend: 'image', dir: images }, slow: { backend: 'slow' } };
  const starting = runGateway(t, { directory, pools, plugins, flags: { store } });
  await assert.rejects(starting, (error: AggregateError) => {
    assert.match(String(error.errors), /pools\.slow: it is the pool of another store/);
    return true;
  });
  assert.equal(existsSync(store), false, 'there is no store');
  assert.equal(existsSync(join(images, '.owner')), false, 'there is no mark');
});

async function failSlowly(): Promise<Backend> {
  await sleep(1_500);
  throw new Error('it is the pool of another store');
}

/** Serves a port that accepts connections and never answers. */
async function serveSilence(t: TestContext): Promise<string> {
  const open = new Set<Socket>();
  const server = createServer(socket => void open.add(socket.on('error', () => {})));
  t.after(() => open.forEach(socket => socket.destroy()));
  return `http://${await listen(t, server)}`;
}

async function untilAnswered(url: string): Promise<void> {
  const answer = (): Promise<true | undefined> =>
    fetch(url).then(
      ({ ok }) => ok || undefined,
      () => undefined,
    );
  assert.ok(await poll(answer, { everyMs: 10, timeoutMs: 60_000 }));
}

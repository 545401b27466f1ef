import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { StorageClient } from '../../../../src/api/client.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { callWithin, runGateway } from '../../../harness/gateway/program.ts';
import { json, ownHost, startStorageApi } from '../../../fakes/storage-api.ts';
import { volumeSpec } from '../../../harness/gateway.ts';

const offer = {
  version: '1',
  accessModes: ['SINGLE_NODE_WRITER'],
  accessTypes: ['mount'],
  features: ['expand'],
  zeroed: true,
};
const inPool = (name: string, pool: string) => ({
  volumeId: `a.${name}`,
  body: volumeSpec(name, { parameters: { pool } }),
});

test('a gateway starts even if a storage is down, serves its other pools, and opens that one once it is up', async t => {
  const host = ownHost();
  const { port, close } = await startStorageApi(t, [json(200, offer)], { host, port: 0 });
  await close();
  const client = await start(t, `http://${host}:${port}`);
  await client.createVolume(inPool('one', 'near'), callWithin());
  await assert.rejects(client.createVolume(inPool('two', 'far'), callWithin()), { code: 'UNAVAILABLE' });
  const { pools } = await client.getCapabilities({}, callWithin());
  assert.deepEqual(
    pools.map(({ name }) => name),
    ['near'],
  );
  // The storage's capabilities, and an empty list.
  await startStorageApi(t, [json(200, { ...offer, volumes: [] })], { host, port });
  const names = await poll(
    async () => {
      const { pools: now } = await client.getCapabilities({}, callWithin());
      return now.length === 2 ? now.map(({ name }) => name) : undefined;
    },
    { everyMs: 100, timeoutMs: 20_000 },
  );
  assert.deepEqual(names, ['near', 'far']);
});

test('a hanging storage delays no other pool', async t => {
  const far = await startStorageApi(t, [
    (request, response) => {
      if (request.method !== 'GET') return;
      const body = request.url?.startsWith('/v1/volumes') === true ? { volumes: [] } : offer;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    },
  ]);
  const client = await start(t, far.url, { requestTimeout: '60s', workTimeout: '60s' });
  const isOpen = async () => (await client.getCapabilities({}, callWithin())).pools.length === 2 || undefined;
  assert.ok(await poll(isOpen, { everyMs: 20, timeoutMs: 60_000 }));
  const leaving = new AbortController();
  let ended = 0;
  const hung = Array.from({ length: 32 }, (_, index) =>
    client
      .createVolume(inPool(`hung-${index}`, 'far'), { ...callWithin(), signal: leaving.signal })
      .catch(() => undefined)
      .finally(() => ended++),
  );
  for (let index = 0; index < 50; index++)
    await client.createVolume(inPool(`near-${index}`, 'near'), callWithin());
  assert.equal(ended, 0);
  leaving.abort();
  await Promise.all(hung);
});

test('a storage with an endless list delays no other pool', async t => {
  let page = 0;
  const far = await startStorageApi(t, [
    (request, response) => {
      const isList = request.url?.startsWith('/v1/volumes') === true;
      const body = isList ? { volumes: [], nextPageToken: String(page++) } : offer;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    },
  ]);
  const client = await start(t, far.url);
  await client.createVolume(inPool('one', 'near'), callWithin());
  await assert.rejects(client.createVolume(inPool('two', 'far'), callWithin()), { code: 'UNAVAILABLE' });
  assert.ok(page > 10);
});

async function start(
  t: TestContext,
  url: string,
  times = { requestTimeout: '2s', workTimeout: '4s' },
): Promise<StorageClient> {
  const far = { backend: 'rest', url, tries: 1, ...times };
  return (await runGateway(t, { pools: { near: { backend: 'memory' }, far } })).client;
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient, type StorageClient } from '../../../../src/api/client.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { serve, type RunningGateway } from '../../../fakes/storages/far-gateway.ts';
import { hang, json, ownHost, startStorageApi } from '../../../fakes/storage-api.ts';
import {
  createSigner,
  temporaryDirectory,
  volumeSpec,
  type Signer,
} from '../../../harness/gateway/gateway.ts';
import { isProblem } from '../../../harness/gateway/problems.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const offer = {
  version: '1',
  accessModes: ['SINGLE_NODE_WRITER'],
  accessTypes: ['mount'],
  features: ['expand'],
  zeroed: true,
};
const call = () => ({ deadlineMs: Date.now() + 10_000 });
const inPool = (name: string, pool: string) => ({
  volumeId: `a.${name}`,
  body: volumeSpec(name, { parameters: { pool } }),
});

test('a gateway starts even if a storage is down, serves its other pools, and opens that one once it is up', async t => {
  const signer = await createSigner('a');
  const host = ownHost();
  const { port, close } = await startStorageApi(t, [json(200, offer)], { host, port: 0 });
  await close();
  const gateway = await start(t, signer, `http://${host}:${port}`);
  const client = clientOf(t, gateway, signer);
  await client.createVolume(inPool('one', 'near'), call());
  await assert.rejects(client.createVolume(inPool('two', 'far'), call()), isProblem('UNAVAILABLE'));
  const { pools } = await client.getCapabilities({}, call());
  assert.deepEqual(
    pools.map(({ name }) => name),
    ['near'],
  );
  // The storage's capabilities, and an empty list.
  await startStorageApi(t, [json(200, { ...offer, volumes: [] })], { host, port });
  const names = await poll(
    async () => {
      const { pools: now } = await client.getCapabilities({}, call());
      return now.length === 2 ? now.map(({ name }) => name) : undefined;
    },
    { everyMs: 100, timeoutMs: 20_000 },
  );
  assert.deepEqual(names, ['near', 'far']);
});

test('a hanging storage delays no other pool', async t => {
  const signer = await createSigner('a');
  const script = [json(200, offer), json(200, { volumes: [] }), json(200, offer), hang];
  const far = await startStorageApi(t, script);
  const gateway = await start(t, signer, far.url);
  const client = clientOf(t, gateway, signer);
  const hung = Array.from({ length: 32 }, (_, index) =>
    client
      .createVolume(inPool(`hung-${index}`, 'far'), { deadlineMs: Date.now() + 3_000 })
      .then(
        () => assert.fail('it cannot be created'),
        isProblem('ABORTED', 'DEADLINE_EXCEEDED', 'UNAVAILABLE'),
      ),
  );
  for (let index = 0; index < 50; index++) await client.createVolume(inPool(`near-${index}`, 'near'), call());
  assert.ok((await Promise.all(hung)).every(Boolean));
});

test('a storage with an endless list delays no other pool', async t => {
  const signer = await createSigner('a');
  let page = 0;
  const far = await startStorageApi(t, [
    (request, response) => {
      const isList = request.url?.startsWith('/v1/volumes') === true;
      const body = isList ? { volumes: [], nextPageToken: String(page++) } : offer;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    },
  ]);
  const client = clientOf(t, await start(t, signer, far.url), signer);
  await client.createVolume(inPool('one', 'near'), call());
  await assert.rejects(client.createVolume(inPool('two', 'far'), call()), isProblem('UNAVAILABLE'));
  assert.ok(page > 10);
});

async function start(t: Parameters<typeof serve>[0], signer: Signer, url: string): Promise<RunningGateway> {
  const keys = join(temporaryDirectory(t), 'a.jwks.json');
  writeFileSync(keys, JSON.stringify({ keys: [signer.publicJwk] }));
  const far = { backend: 'rest', url, tries: 1, requestTimeout: '2s', workTimeout: '4s' };
  return serve(t, { pools: { near: { backend: 'memory' }, far }, clusters: { a: { keys } } });
}

function clientOf(t: Parameters<typeof serve>[0], { url }: RunningGateway, signer: Signer): StorageClient {
  const client = createClient({ url, token: () => signer.sign() });
  t.after(() => client.close());
  return client;
}

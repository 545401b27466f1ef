import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json as readJson } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { tokenCredentials } from '../../../src/kit/http/credentials.ts';
import { openDisk } from '../../../src/kit/fixtures/disk.ts';
import type { Kit } from '../../../src/kit/fixtures/kit.ts';
import type { Target } from '../../../src/kit/http/exchange.ts';
import { verify } from '../../../src/kit/run.ts';
import { sampleVolume } from '../../fakes/storage-api.ts';
import { runOptions } from '../../fakes/storages/kit.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { listen } from '../../harness/listen.ts';

const size = 2 ** 20;

test('a volume that a vendor creates against the rules is removed, too', async t => {
  const volumes = new Set<string>();
  const url = await serveWithoutTokens(t, volumes);
  const report = await verify(
    runOptions({
      target: { url },
      credentials: tokenCredentials('a-token'),
      prefix: 'verify.verify-',
      timeoutMs: 5_000,
      only: ['FL-2.1-1'],
    }),
  );
  assert.deepEqual(
    report.results.map(({ id, outcome }) => `${id} ${outcome}`),
    ['FL-2.1-1 FAIL'],
  );
  assert.deepEqual([[...volumes], report.left], [[], []]);
});

test("data is written only to a file of the volume's size", async t => {
  const directory = temporaryDirectory(t);
  const at = (name: string): string => join(directory, name);
  for (const name of ['image', 'long', 'short']) writeFileSync(at(name), name);
  truncateSync(at('image'), size);
  truncateSync(at('long'), size + 1);
  mkdirSync(at('directory'));
  symlinkSync('/dev/null', at('device'));
  for (const name of ['long', 'short', 'device'])
    await assert.rejects(openDisk(kitFor(at(name)), 'v'), /is a file of 1048576 bytes/, name);
  await assert.rejects(openDisk(kitFor(at('directory')), 'v'), /this machine cannot open/);
  const disk = await openDisk(kitFor(at('image')), 'v');
  await disk.write(0, Buffer.from('own'));
  await disk.close();
  assert.equal(readFileSync(at('image'), 'utf8').slice(0, 5), 'ownge');
});

test('a missing file is a fault only if this machine has opened another volume of the vendor', async t => {
  const directory = temporaryDirectory(t);
  const [image, missing] = [join(directory, 'image'), join(directory, 'missing')];
  writeFileSync(image, '');
  truncateSync(image, size);
  const target = { url: new URL('http://vendor.example') };
  await assert.rejects(openDisk(kitFor(missing, target), 'v'), { kind: 'skip' });
  await (await openDisk(kitFor(image, target), 'v')).close();
  await assert.rejects(openDisk(kitFor(missing, target), 'v'), { kind: 'fault' });
  await assert.rejects(openDisk(kitFor(missing), 'v'), { kind: 'skip' });
});

/** Makes a kit whose vendor attaches this path. */
function kitFor(path: string, target: Target = { url: new URL('http://vendor.example') }): Kit {
  const attachment = { protocol: 'loop', path, sizeBytes: size };
  const kit = {
    hasData: true,
    canWrite: () => true,
    target,
    createNode: async () => 'n',
    attach: async () => ({ attachment }),
    done: async () => ({}),
  };
  return kit as unknown as Kit;
}

/**
 * Serves a vendor without features that creates volumes for every caller, and refuses other requests without a valid
 * token.
 */
async function serveWithoutTokens(t: TestContext, volumes: Set<string>): Promise<URL> {
  const ways = { accessModes: ['SINGLE_NODE_WRITER'], accessTypes: ['mount'] };
  const server = createServer(async (request, response) => {
    const { method, url = '', headers } = request;
    const answer = (status: number, body?: object): void => {
      const type = status > 399 ? 'application/problem+json' : 'application/json';
      response.writeHead(status, body && { 'content-type': type }).end(body && JSON.stringify(body));
    };
    const [, , kind, id = '', ...more] = url.split('/');
    const isVolume = kind === 'volumes' && id !== '' && more.length === 0;
    if (method === 'PUT' && isVolume) {
      const { name } = (await readJson(request)) as { readonly name: string };
      volumes.add(id);
      return answer(201, sampleVolume({ id, name }));
    }
    if (headers.authorization === undefined) return answer(401, { status: 401, code: 'UNAUTHENTICATED' });
    if (kind === 'capabilities') return answer(200, { version: '1', features: [], ...ways });
    if (kind === 'volumes' && method === 'GET' && !isVolume) return answer(200, { volumes: [] });
    if (method === 'DELETE') volumes.delete(id);
    return method === 'DELETE' ? answer(204) : answer(404, { status: 404, code: 'NOT_FOUND' });
  });
  return new URL(`http://${await listen(t, server)}`);
}

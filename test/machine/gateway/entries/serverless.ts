import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createSigner, type Signer } from '../../../harness/gateway/signers.ts';
import type { PostgresServer } from '../../../harness/postgres.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { runGateway, type RunningGateway } from '../../../harness/gateway/program.ts';
import { inMemory } from '../../../fakes/storages/reference.ts';
import { listen } from '../../../harness/listen.ts';

/** The input and the surroundings of a gateway without a process of its own. */
type Setup = {
  /** Its variables: the files, and the URL of a database of its own. */
  readonly env: Readonly<Record<string, string>>;
  readonly signer: Signer;
  readonly storage: Storage;
  query(sql: string): ReturnType<PostgresServer['query']>;
};

/** The storage behind REST, from its administrator's point of view. */
export type Storage = {
  readonly url: string;
  /** From now on volumes are created, but their answers wait until the returned function is called. */
  hold(): () => void;
  /** Returns the ids of its volumes, once there are any. */
  volumes(): Promise<readonly string[]>;
};

/**
 * Prepares a database that is reached over TCP, and a storage behind REST, which is another gateway, for an entry with
 * its files in this directory.
 */
export async function prepare(t: TestContext, server: PostgresServer, directory: string): Promise<Setup> {
  const urlFile = await server.createDatabase();
  const database = /\/(\w+)\?/.exec(readFileSync(urlFile, 'utf8'))?.[1] ?? '';
  const port = await forward(t, join(server.directory, '.s.PGSQL.5432'));
  const vendor = await runGateway(t);
  const storage = await watch(t, vendor);
  const signer = await createSigner('east');
  const pool = { backend: 'rest', url: storage.url, allowHttp: true, token: 'vendor.token', ...inMemory };
  const files = {
    'gateway.yaml': JSON.stringify({
      pools: { acme: pool },
      clusters: { east: { keys: 'east.jwks.json', acceptAnyNode: true } },
    }),
    'east.jwks.json': JSON.stringify({ keys: [signer.publicJwk] }),
    'keys.json': JSON.stringify({ keys: [(await createSigner('gateway')).privateJwk] }),
    'vendor.token': await vendor.signers.a.sign(),
    'store.url': `postgres://postgres:none@127.0.0.1:${port}/${database}`,
  };
  return {
    env: {
      FAIRLEAD_FILES: JSON.stringify(files),
      FAIRLEAD_GATEWAY_NAME: 'a',
      FAIRLEAD_KEY_FILE: join(directory, 'keys.json'),
    },
    signer,
    storage,
    query: sql => server.query(sql, database),
  };
}

async function watch(t: TestContext, vendor: RunningGateway): Promise<Storage> {
  let released = Promise.resolve();
  const server = createHttpServer((asked, response) => {
    const { method, headers, url = '' } = asked;
    const forwarded = request(new URL(url, vendor.url), { method, headers }, async answer => {
      if (method === 'PUT') await released;
      answer.pipe(response.writeHead(answer.statusCode ?? 500, answer.headers));
    });
    asked.pipe(forwarded);
  });
  const address = await listen(t, server);
  const list = async (): Promise<readonly string[] | undefined> => {
    const headers = { authorization: `Bearer ${await vendor.signers.a.sign()}` };
    const response = await fetch(new URL('/v1/volumes', vendor.url), { headers });
    const { volumes } = (await response.json()) as { readonly volumes: readonly { readonly id: string }[] };
    return volumes.length > 0 ? volumes.map(({ id }) => id) : undefined;
  };
  return {
    url: `http://${address}`,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      released = promise;
      return resolve;
    },
    volumes: async () => (await poll(list, { everyMs: 20, timeoutMs: 120_000 })) ?? [],
  };
}

/** Forwards a TCP port to a Unix socket, because these runtimes support only TCP. */
async function forward(t: TestContext, path: string): Promise<number> {
  const sockets = new Set<Socket>();
  const listener = createServer(socket => {
    const far = connect(path);
    for (const one of [socket, far]) {
      sockets.add(one);
      one.on('error', () => one.destroy()).on('close', () => sockets.delete(one));
    }
    socket.pipe(far).pipe(socket);
  });
  t.after(() => sockets.forEach(socket => socket.destroy()));
  return Number((await listen(t, listener)).split(':')[1]);
}

/** Sends a request as the runtime's front end does and returns the answer. */
export type Ask = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ status: number; body: Record<string, unknown> }>;

/** Sends requests to an address. */
export function askAt(address: string, signer: Signer): Ask {
  return async (method, path, body) => {
    const response = await fetch(address + path, {
      method,
      headers: { authorization: `Bearer ${await signer.sign()}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
  };
}

const capabilities = [{ accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' }];

/** Makes the body that creates a volume of this name. */
export const spec = (name: string) => ({ name, requiredBytes: 2 ** 20, capabilities });

/** Tests an entry: a volume's whole life, many concurrent requests, and unfinished work that a sweep completes. */
export async function liveThrough({
  ask,
  query,
  sweep,
}: Pick<Setup, 'query'> & { ask: Ask; sweep(): Promise<unknown> }) {
  const volume = '/v1/volumes/east.one';
  const created = await ask('PUT', volume, spec('one'));
  assert.deepEqual([created.status, created.body['id']], [201, 'east.one'], JSON.stringify(created.body));
  assert.equal((await ask('PUT', volume, spec('one'))).status, 200);
  const attachment = `${volume}/attachments/n1~${'K'.repeat(43)}`;
  const attached = await ask('PUT', attachment, { capability: capabilities[0], readonly: false });
  assert.equal(attached.status, 201, JSON.stringify(attached.body));
  const { signature } = attached.body['attachment'] as { readonly signature?: string };
  assert.match(signature ?? '', /^[\w-]+\.\.[\w-]{86}$/);
  const many = await Promise.all(
    Array.from({ length: 8 }, (_, index) => ask('PUT', `/v1/volumes/east.m${index}`, spec(`m${index}`))),
  );
  assert.deepEqual(
    many.map(({ status }) => status),
    Array(8).fill(201),
  );
  assert.equal((await ask('DELETE', volume)).body['code'], 'FAILED_PRECONDITION');
  assert.equal((await ask('DELETE', attachment)).status, 204);
  // The state after an instance that ended before the storage had answered.
  await query("update volumes set state = 'deleting' where id = 'east.m1'");
  await sweep();
  assert.equal((await ask('GET', '/v1/volumes/east.m1')).status, 404);
  assert.equal((await ask('DELETE', volume)).status, 204);
  const { body } = await ask('GET', '/v1/volumes');
  assert.equal((body['volumes'] as readonly unknown[]).length, 7);
  assert.deepEqual(await query('select * from claims'), []);
}

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createSigner, type Signer } from '../../../harness/gateway-harness.ts';
import type { PostgresServer } from '../../../harness/postgres.ts';
import { serveGateway } from '../../../harness/served-gateway.ts';

/** What a gateway without a process of its own is given, and what it works with. */
export type Setup = {
  /** Its variables: the files, with the URL of a database of its own. */
  readonly env: Readonly<Record<string, string>>;
  readonly signer: Signer;
  /** Asks its database. */
  query(sql: string): ReturnType<PostgresServer['query']>;
};

/** Prepares a database that is reached over TCP, and a storage behind REST, which another gateway plays. */
export async function prepare(t: TestContext, server: PostgresServer): Promise<Setup> {
  const urlFile = await server.createDatabase();
  const database = /\/(\w+)\?/.exec(readFileSync(urlFile, 'utf8'))?.[1] ?? '';
  const port = await forward(t, join(server.directory, '.s.PGSQL.5432'));
  const vendor = await serveGateway(t);
  const signer = await createSigner('east');
  const pool = { backend: 'rest', url: vendor.url.href, allowHttp: true, token: 'vendor.token' };
  const files = {
    'gateway.yaml': JSON.stringify({
      pools: { acme: pool },
      clusters: { east: { keys: 'east.jwks.json', acceptAnyNode: true } },
    }),
    'east.jwks.json': JSON.stringify({ keys: [signer.publicJwk] }),
    'vendor.token': await vendor.signers.a.sign(),
    'store.url': `postgres://postgres:none@127.0.0.1:${port}/${database}`,
  };
  return {
    env: { FAIRLEAD_FILES: JSON.stringify(files), FAIRLEAD_CLAIM_LEASE: '1s', FAIRLEAD_GATEWAY_NAME: 'a' },
    signer,
    query: sql => server.query(sql, database),
  };
}

/** A TCP port that leads to a Unix socket: these runtimes know no others. */
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
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  return (listener.address() as AddressInfo).port;
}

/** Sends a request as the runtime's front does, and gives what comes back. */
export type Ask = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ status: number; body: Record<string, unknown> }>;

/** A volume's whole life over an entry, many requests at once, and what was left unfinished once it has swept. */
export async function liveThrough({
  ask,
  query,
  sweep,
}: Pick<Setup, 'query'> & { ask: Ask; sweep(): Promise<unknown> }) {
  const capabilities = [{ accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' }];
  const spec = (name: string) => ({ name, requiredBytes: 2 ** 20, capabilities });
  const volume = '/v1/volumes/east.one';
  const created = await ask('PUT', volume, spec('one'));
  assert.deepEqual([created.status, created.body['id']], [201, 'east.one'], JSON.stringify(created.body));
  assert.equal((await ask('PUT', volume, spec('one'))).status, 200);
  const attachment = `${volume}/attachments/n1`;
  const attached = await ask('PUT', attachment, { capability: capabilities[0], readonly: false });
  assert.equal(attached.status, 201, JSON.stringify(attached.body));
  const many = await Promise.all(
    Array.from({ length: 8 }, (_, index) => ask('PUT', `/v1/volumes/east.m${index}`, spec(`m${index}`))),
  );
  assert.deepEqual(
    many.map(({ status }) => status),
    Array(8).fill(201),
  );
  assert.equal((await ask('DELETE', volume)).body['code'], 'FAILED_PRECONDITION');
  assert.equal((await ask('DELETE', attachment)).status, 204);
  // As an instance leaves it that ended before the storage had answered.
  await query("update volumes set state = 'deleting' where id = 'east.m1'");
  await sweep();
  assert.equal((await ask('GET', '/v1/volumes/east.m1')).status, 404);
  assert.equal((await ask('DELETE', volume)).status, 204);
  const { body } = await ask('GET', '/v1/volumes');
  assert.equal((body['volumes'] as readonly unknown[]).length, 7);
  assert.deepEqual(await query('select * from claims'), []);
}

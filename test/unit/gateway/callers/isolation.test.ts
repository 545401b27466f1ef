import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { assert as assertProperty, asyncProperty, constantFrom, nat, record } from 'fast-check';
import { createAdmin } from '../../../../gateway/admin/admin.ts';
import { noTurn } from '../../../../gateway/attachments/trim-turns.ts';
import { createApp } from '../../../../gateway/http/app.ts';
import { newSnapshotRecord } from '../../../../gateway/snapshots/record.ts';
import { attachmentTable } from '../../../../gateway/tables/attachments.ts';
import { nodeTable } from '../../../../gateway/tables/nodes.ts';
import { snapshotTable } from '../../../../gateway/tables/snapshots.ts';
import { tables } from '../../../../gateway/tables/schema.ts';
import { grantTable } from '../../../../gateway/tables/grants.ts';
import { volumeTable } from '../../../../gateway/tables/volumes.ts';
import type { Cluster } from '../../../../gateway/callers/cluster.ts';
import { emptyVolumeRecord } from '../../../../gateway/volumes/record.ts';
import { clusterOf } from '../../../../src/api/ids.ts';
import { allOperations } from '../../../../src/api/operations.ts';
import { openGateway, createMemoryLog, mounted, volumeSpec } from '../../../harness/gateway.ts';
import { isFull, seed } from '../../../harness/sample.ts';

const clusterCount = 100;
const volumeCount = 100;
const clusterNames = Array.from({ length: clusterCount }, (_, at) => `c${at}`);
const names = Array.from({ length: volumeCount }, (_, at) => `x${at}`);
/** Returns the cluster that shares the first volume of this cluster. */
const guestOf = (at: number): string => `c${(at + 1) % clusterCount}`;

type Ask = (route: string, as: string, body?: unknown) => Promise<{ status: number; text: string }>;

/**
 * Makes clusters with a hundred volumes, each attached, with a snapshot of the first; a cluster's name is its token.
 */
async function openCrowd(t: TestContext) {
  const gateway = await openGateway(t);
  const { engine } = gateway;
  await engine.transaction(async sql => {
    for (const [at, cluster] of clusterNames.entries()) {
      await nodeTable.add(sql, { cluster, nodeId: 'n1', spec: {}, goneMs: undefined });
      for (const name of names) {
        const id = `${cluster}.${name}`;
        const known = { id, cluster, name: `${name}-of-${cluster}-`, pool: 'main', source: undefined };
        const ready = { state: 'ready', sizeBytes: 1, shared: name === 'x0' } as const;
        await volumeTable.add(sql, {
          ...emptyVolumeRecord({ ...known, spec: { capabilities: [mounted] } }),
          ...ready,
        });
        const attached = { attachmentId: id, state: 'attached', reach: undefined, sizeBytes: 1 } as const;
        const held = { volumeId: id, cluster, nodeId: 'n1', capability: mounted, readonly: false };
        await attachmentTable.add(sql, { ...held, ...attached, ...noTurn });
      }
      const [volumeId, id] = [`${cluster}.x0`, `${cluster}.x1`];
      const asked = { id, cluster, name: `cut-of-${cluster}-`, volumeId, parameters: {} };
      const of = { pool: 'main', segments: undefined, sizeBytes: 1 };
      await snapshotTable.add(sql, { ...newSnapshotRecord(asked, of), state: 'ready' });
      const grant = {
        cluster: guestOf(at),
        volumeId,
        access: 'read-only',
        revoking: false,
        byOperator: true,
      } as const;
      await grantTable.add(sql, grant);
    }
  });
  const { log, lines } = createMemoryLog();
  const callers = new Map(clusterNames.map(name => [name, { name, acceptAnyNode: false }] as const));
  const clusters = (): Readonly<Record<string, Cluster>> => Object.fromEntries(callers);
  const app = createApp({
    ...gateway,
    admin: createAdmin({ ...gateway, clusters }),
    authenticate: async name => ({
      role: 'controller',
      cluster: callers.get(name ?? '') ?? assert.fail(name),
    }),
    version: '1',
    log,
    publicDocs: false,
  });
  const ask: Ask = async (route, as, body) => {
    const [method = '', path = ''] = route.split(' ');
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await app.request(path, { method, headers: { authorization: as }, ...content });
    // A request's id differs each time, and may look like a cluster's.
    const text = (await answer.text()).replace(/"requestId":"[^"]*"/, '');
    return { status: answer.status, text };
  };
  /** Hashes all records except the audit log. */
  const digest = async (): Promise<string> => {
    const hash = createHash('sha256');
    for (const { ddl } of tables) {
      const name = /create table (\w+)/.exec(ddl[0] ?? '')?.[1] ?? assert.fail();
      if (name !== 'audit_log') hash.update(JSON.stringify(await engine.reader.all(`select * from ${name}`)));
    }
    return hash.digest('hex');
  };
  return { ...gateway, ask, digest, lines };
}

const bodies: Readonly<Record<string, unknown>> = {
  createVolume: volumeSpec('x'),
  validateVolume: { capabilities: [mounted] },
  expandVolume: { requiredBytes: 2 ** 21 },
  modifyVolume: { mutableParameters: { tier: 'fast' } },
  attachVolume: { capability: mounted, readonly: false },
  grantVolume: { access: 'read-write' },
  createSnapshot: { name: 'x', volumeId: 'c0.x' },
  createGroup: { name: 'x', volumeIds: ['c0.x'] },
};

/** The requests of a caller about a foreign object: each route that names it or would copy it. */
type Request = (caller: string, foreign: string) => readonly [route: string, body?: unknown];
const requests: readonly Request[] = [
  ...allOperations
    .filter(({ tag, path }) => tag !== 'admin' && /\{(volume|snapshot|group)Id\}/.test(path))
    .map(({ id, route }): Request => (caller, foreign) => [
      route
        .replace(/\{(volume|snapshot|group)Id\}/, foreign)
        .replace('{nodeId}', 'n1')
        .replace('{grantee}', caller),
      bodies[id],
    ]),
  (caller, volumeId) => [`PUT /v1/snapshots/${caller}.new`, { name: 'new', volumeId }],
  (caller, volumeId) => [`PUT /v1/groups/${caller}.new`, { name: 'new', volumeIds: [volumeId] }],
  (caller, volumeId) => [
    `PUT /v1/volumes/${caller}.new`,
    volumeSpec('new', { source: { kind: 'volume', volumeId } }),
  ],
  (caller, snapshotId) => [
    `PUT /v1/volumes/${caller}.new`,
    volumeSpec('new', { source: { kind: 'snapshot', snapshotId } }),
  ],
  (_caller, volumeId) => [`GET /v1/snapshots?volumeId=${volumeId}`],
];

/** Page tokens in the lists' format with a foreign id, and the status of the list. */
const tokens: readonly ((caller: string, foreign: string) => readonly [list: string, status: number])[] = [
  (caller, id) => [`volumes?pageToken=volumes/${caller}:${id}`, 200],
  (_caller, id) => [`volumes?pageToken=volumes/${clusterOf(id)}:${id}`, 409],
  (_caller, id) => [`snapshots?pageToken=snapshots:${id}`, 409],
  (_caller, id) => [`health/volumes?pageToken=health:${id}`, 409],
  (_caller, id) => [`nodes?pageToken=nodes:${id}`, 200],
];
const listings = tokens.map((token): Request => (caller, foreign) => [
  `GET /v1/${token(caller, foreign)[0]}`,
]);

test("no cluster of a hundred with a hundred volumes each ever sees or changes another one's", async t => {
  const { ask, digest, backend, lines } = await openCrowd(t);
  const before = await digest();
  const asked = record({
    request: constantFrom(...requests, ...listings),
    as: nat(clusterCount - 1),
    // Neither the caller itself, nor the cluster that shares with it.
    distance: nat(clusterCount - 3),
    name: constantFrom(...names),
  });
  const property = asyncProperty(asked, async ({ request, as, distance, name }) => {
    const [caller, owner] = [`c${as}`, `c${(as + 1 + distance) % clusterCount}`];
    const askFor = async (resource: string) => {
      const [route, body] = request(caller, resource);
      const { status, text } = await ask(route, caller, body);
      return { status, text: text.replaceAll(resource, 'ID') };
    };
    const foreign = await askFor(`${owner}.${name}`);
    assert.deepEqual(foreign, await askFor(`${owner}.x`), `${caller} ${owner}.${name}`);
    assert.ok(!foreign.text.includes(`of-${owner}-`));
  });
  await assertProperty(property, { seed, numRuns: isFull ? 20_000 : 500 });
  assert.equal(await digest(), before);
  assert.deepEqual(backend.calls, []);
  assert.ok(!lines.some(line => line.includes('-of-')));
});

test('a page token with a foreign id works only in a list that no other cluster reads', async t => {
  const { ask } = await openCrowd(t);
  for (const token of tokens) {
    const [list, expected] = token('c1', 'c50.x7');
    const { status, text } = await ask(`GET /v1/${list}`, 'c1');
    assert.deepEqual([status, text.includes('c50')], [expected, false], `${list} ${text.slice(0, 200)}`);
    const [own] = token('c1', 'c1.x7');
    assert.equal((await ask(`GET /v1/${own}`, 'c1')).status, 200, own);
  }
});

test('each of a hundred clusters lists exactly its own volumes and those shared with it', async t => {
  const { ask } = await openCrowd(t);
  for (const [at, cluster] of clusterNames.entries()) {
    const read = async (list: string, limit: number): Promise<readonly { id: string; owner?: string }[]> => {
      const found: { id: string; owner?: string }[] = [];
      for (let token = ''; ;) {
        const { text } = await ask(`GET /v1/${list}?limit=${limit}&pageToken=${token}`, cluster);
        const page = JSON.parse(text) as Record<string, typeof found> & { nextPageToken?: string };
        found.push(...(page[list] ?? []));
        if (page.nextPageToken === undefined) return found;
        token = page.nextPageToken;
      }
    };
    const host = `c${(at + clusterCount - 1) % clusterCount}`;
    const expected = [...names.map(name => `${cluster}.${name}`), `${host}.x0`].sort();
    const volumes = await read('volumes', 37);
    assert.deepEqual(
      volumes.map(({ id }) => id),
      expected,
    );
    assert.deepEqual(
      volumes.filter(({ owner }) => owner !== undefined).map(({ id, owner }) => [id, owner]),
      [[`${host}.x0`, host]],
    );
    const snapshots = await read('snapshots', 10);
    assert.deepEqual(
      snapshots.map(({ id }) => id),
      [`${cluster}.x1`],
    );
    assert.equal((await read('nodes', 10)).length, 1);
  }
});

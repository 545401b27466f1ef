import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPools } from '../../../../gateway/pools/pools.ts';
import { createAdmin } from '../../../../gateway/admin/admin.ts';
import { volumeStates } from '../../../../src/api/admin.ts';
import { unavailableProblem } from '../../../../src/api/problem.ts';
import {
  assertProblem,
  openGateway,
  mounted,
  openMemory,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway.ts';
import { waitingPool } from '../../../harness/gateway/waiting-pool.ts';

type Entry = Readonly<Record<string, unknown>> & { readonly id: string };

/** Reads all entries of a list, page by page. */
async function listAll({ ask }: Gateway, kind: string, query = ''): Promise<readonly Entry[]> {
  const found: Entry[] = [];
  for (let pageToken: unknown = ''; pageToken !== undefined;) {
    const asked = `${query}&pageToken=${encodeURIComponent(String(pageToken))}`;
    const { status, body } = await ask(`GET /v1/admin/${kind}?${asked}`, { as: 'operator' });
    assert.equal(status, 200, JSON.stringify(body));
    found.push(...(body[kind] as Entry[]));
    pageToken = body['nextPageToken'];
  }
  return found;
}

const idsOf = (entries: readonly Entry[]): readonly string[] => entries.map(({ id }) => id);

/** Makes two clusters with a volume, a snapshot, a node and an attachment each. */
async function fill({ ask }: Gateway): Promise<void> {
  for (const as of ['a', 'b']) {
    const volumeId = `${as}.pvc-1`;
    await ask(`PUT /v1/volumes/${volumeId}`, { as, body: volumeSpec('pvc-1') });
    await ask(`PUT /v1/snapshots/${as}.cut`, { as, body: { name: 'cut', volumeId } });
    await ask('PUT /v1/nodes/n%2F1', { as, body: { maxVolumes: 3 } });
    const body = { capability: mounted, readonly: false };
    const { status } = await ask(`PUT /v1/volumes/${volumeId}/attachments/n%2F1`, { as, body });
    assert.equal(status, 201);
  }
}

const rows: readonly (readonly [kind: string, ids: readonly string[], more: object])[] = [
  ['volumes', ['a.pvc-1', 'b.pvc-1'], { cluster: 'a', pool: 'main', reservedBytes: 2 ** 20, state: 'ready' }],
  ['snapshots', ['a.cut', 'b.cut'], { cluster: 'a', pool: 'main', volumeId: 'a.pvc-1' }],
  ['attachments', ['a.pvc-1/a/n/1', 'b.pvc-1/b/n/1'], { cluster: 'a', volumeId: 'a.pvc-1', nodeId: 'n/1' }],
  ['nodes', ['a/n/1', 'b/n/1'], { cluster: 'a', nodeId: 'n/1', maxVolumes: 3, volumes: 1 }],
  ['pools', ['main'], { state: 'open', volumes: 2, snapshots: 2, totalBytes: 2 ** 40 }],
  ['clusters', ['a', 'any', 'b'], { isEnrolled: true, volumes: 1, snapshots: 1, nodes: 1, attachments: 1 }],
];

test('operators list the resources of all clusters, in pages of any size, of one cluster, or by an id', async t => {
  const gateway = await openGateway(t);
  await fill(gateway);
  for (const [kind, ids, more] of rows) {
    assert.deepEqual(idsOf(await listAll(gateway, kind)), ids, kind);
    assert.deepEqual(idsOf(await listAll(gateway, kind, 'limit=1')), ids, kind);
    const [first = ''] = ids;
    const one = await listAll(gateway, kind, `id=${encodeURIComponent(first)}`);
    assert.deepEqual(idsOf(one), [first]);
    assert.partialDeepStrictEqual(one[0], more);
    assert.deepEqual(await listAll(gateway, kind, 'id=c.none'), []);
    if (kind === 'pools') continue;
    const own = ids.filter(id => /^b\b/.test(id));
    assert.deepEqual(idsOf(await listAll(gateway, kind, 'cluster=b')), own, kind);
    assert.deepEqual(await listAll(gateway, kind, `cluster=c`), []);
  }
  assert.deepEqual(idsOf(await listAll(gateway, 'snapshots', 'volumeId=b.pvc-1')), ['b.cut']);
  assert.deepEqual(idsOf(await listAll(gateway, 'attachments', 'nodeId=n/1&cluster=a')), ['a.pvc-1/a/n/1']);
  await gateway.ask('PUT /v1/volumes/b.pvc-1/grants/a', { as: 'b', body: { access: 'read-only' } });
  const grants = (await listAll(gateway, 'volumes')).map(volume => volume['grants']);
  assert.deepEqual(grants, [undefined, [{ cluster: 'a', access: 'read-only', isAccepted: false }]]);
  const stray = await gateway.ask('GET /v1/admin/nodes?pageToken=all-volumes:a.x', { as: 'operator' });
  assertProblem(stray, 409, 'ABORTED');
});

test('operators list the copies of a volume and of its snapshots', async t => {
  const gateway = await openGateway(t);
  await fill(gateway);
  const copies = {
    clone: { kind: 'volume', volumeId: 'a.pvc-1' },
    restored: { kind: 'snapshot', snapshotId: 'a.cut' },
  } as const;
  for (const [name, source] of Object.entries(copies))
    assert.equal(
      (await gateway.ask(`PUT /v1/volumes/a.${name}`, { body: volumeSpec(name, { source }) })).status,
      201,
    );
  for (const query of ['copyOf=a.pvc-1', 'copyOf=a.pvc-1&limit=1'])
    assert.deepEqual(idsOf(await listAll(gateway, 'volumes', query)), ['a.clone', 'a.restored']);
  assert.deepEqual(idsOf(await listAll(gateway, 'volumes', 'copyOf=b.pvc-1')), []);
});

/** Fills two pools with volumes of two clusters, in every state. */
async function fillStates({ ask, engine }: Gateway): Promise<void> {
  const names = ['fast', 'slow'].flatMap(pool => volumeStates.map(state => [pool, state] as const));
  for (const as of ['a', 'b'])
    for (const [pool, state] of names) {
      const name = `${pool}-${state}`;
      const body = volumeSpec(name, { parameters: { pool } });
      const { status } = await ask(`PUT /v1/volumes/${as}.${name}`, { as, body });
      assert.equal(status, 201);
      if (state === 'deleted') await ask(`DELETE /v1/volumes/${as}.${name}`, { as });
    }
  await engine.transaction(async sql => {
    for (const state of ['creating', 'deleting'])
      await sql.run(
        'update volumes set state = ? where name in (?, ?)',
        state,
        `fast-${state}`,
        `slow-${state}`,
      );
  });
}

const narrowings: readonly Readonly<Record<string, string>>[] = [
  {},
  { cluster: 'b' },
  { search: 'w-de' },
  { id: 'a.slow-deleted' },
];

test('operators list the volumes of a pool, in a state, or both, with every other filter', async t => {
  const gateway = await openGateway(t, { pools: ['fast', 'slow'], keepDeletedMs: 60_000 });
  await fillStates(gateway);
  const all = await listAll(gateway, 'volumes');
  assert.equal(all.length, 16);
  const chosen = ['', 'fast', 'slow', 'none'].flatMap(pool =>
    [undefined, ...volumeStates].map(state => [pool, state] as const),
  );
  for (const [pool, state] of chosen)
    for (const more of narrowings) {
      const query = new URLSearchParams({ pool, ...(state && { state }), ...more }).toString();
      const { cluster, search = '', id: only } = more;
      const expected = all.filter(
        one =>
          one['pool'] === (pool || one['pool']) &&
          one['state'] === (state ?? one['state']) &&
          one['cluster'] === (cluster ?? one['cluster']) &&
          one.id === (only ?? one.id) &&
          one.id.includes(search),
      );
      assert.deepEqual(await listAll(gateway, 'volumes', query), expected, query);
      assert.deepEqual(await listAll(gateway, 'volumes', `${query}&limit=1`), expected, query);
    }
  const unknown = await gateway.ask('GET /v1/admin/volumes?state=lost', { as: 'operator' });
  assertProblem(unknown, 400, 'INVALID_ARGUMENT');
  assert.match(String(unknown.body['detail']), /state.*creating.*ready.*deleting.*deleted/);
});

test('operators list all volumes by size or age, and read again if the place of the page is lost', async t => {
  const gateway = await openGateway(t);
  const { ask } = gateway;
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  for (const [name, mebibytes] of Object.entries({ c: 2, a: 3, d: 1, b: 2 })) {
    t.mock.timers.setTime(Date.now() + 1_000);
    const size = { requiredBytes: mebibytes * 2 ** 20 };
    const { status } = await ask(`PUT /v1/volumes/a.${name}`, { body: volumeSpec(name, size) });
    assert.equal(status, 201);
  }
  const orders = {
    size: ['a.d', 'a.b', 'a.c', 'a.a'],
    '-size': ['a.a', 'a.c', 'a.b', 'a.d'],
    age: ['a.b', 'a.d', 'a.a', 'a.c'],
    '-age': ['a.c', 'a.a', 'a.d', 'a.b'],
  };
  for (const [order, ids] of Object.entries(orders))
    for (const limit of [1, 3, 100])
      assert.deepEqual(
        idsOf(await listAll(gateway, 'volumes', `orderBy=${order}&limit=${limit}`)),
        ids,
        order,
      );
  for (const query of ['orderBy=size&cluster=a', 'orderBy=size&state=ready', 'orderBy=name'])
    assertProblem(await ask(`GET /v1/admin/volumes?${query}`, { as: 'operator' }), 400, 'INVALID_ARGUMENT');
  const { body } = await ask('GET /v1/admin/volumes?orderBy=size&limit=1', { as: 'operator' });
  await ask('DELETE /v1/volumes/a.d');
  const next = `GET /v1/admin/volumes?orderBy=size&pageToken=${encodeURIComponent(String(body['nextPageToken']))}`;
  assertProblem(await ask(next, { as: 'operator' }), 409, 'ABORTED');
});

test('a volume in any state is listed with its running operation and the time of its start', async t => {
  const gateway = await openGateway(t, { keepDeletedMs: 60_000 });
  const { ask, backend } = gateway;
  for (const name of ['one', 'two']) await ask(`PUT /v1/volumes/a.${name}`, { body: volumeSpec(name) });
  await ask('DELETE /v1/volumes/a.two');
  const release = backend.hold('create');
  const creating = ask('PUT /v1/volumes/b.three', { as: 'b', body: volumeSpec('three') });
  await backend.entered('create');
  const states = (await listAll(gateway, 'volumes')).map(({ id, state }) => [id, state]);
  assert.deepEqual(states, [
    ['a.one', 'ready'],
    ['a.two', 'deleted'],
    ['b.three', 'creating'],
  ]);
  const [running, ...others] = await listAll(gateway, 'operations');
  assert.partialDeepStrictEqual(running, { id: 'volume/b.three', kind: 'volume', operation: 'create' });
  assert.deepEqual(others, []);
  const own = { id: 'main/b', pool: 'main', cluster: 'b', waiting: 0, running: 1, oldestWaitMs: 0 };
  assert.partialDeepStrictEqual(await listAll(gateway, 'queues'), [own]);
  assert.deepEqual(idsOf(await listAll(gateway, 'operations', 'cluster=b')), ['volume/b.three']);
  assert.deepEqual(await listAll(gateway, 'operations', 'cluster=a'), []);
  release();
  await creating;
  assert.deepEqual(await listAll(gateway, 'operations'), []);
});

test('operators read the health of any volume, and a missing one is NOT_FOUND', async t => {
  const gateway = await openGateway(t);
  await gateway.ask('PUT /v1/volumes/a.one', { body: volumeSpec('one') });
  const well = await gateway.ask('GET /v1/admin/volumes/a.one/health', { as: 'operator' });
  assert.deepEqual(well.body, { volumeId: 'a.one', entries: [] });
  const nowhere = await gateway.ask('GET /v1/admin/volumes/a.two/health', { as: 'operator' });
  assertProblem(nowhere, 404, 'NOT_FOUND');
});

test('the list of pools leaves out a waiting pool that is removed while the list is read', async t => {
  const gateway = await openGateway(t);
  const reader: typeof gateway.engine.reader = {
    ...gateway.engine.reader,
    async all(...args) {
      waiting.clear();
      return gateway.engine.reader.all(...args);
    },
  };
  const waiting = new Map([['far', waitingPool('it is down')]]);
  const all = gateway.pools.all();
  const pools = createPools(
    () => all,
    () => all,
    () => waiting,
  );
  const admin = createAdmin({
    ...gateway,
    engine: { ...gateway.engine, reader },
    pools,
    clusters: () => ({}),
  });
  const { pools: found } = await admin.listPools({
    limit: 10,
    pageToken: undefined,
    cluster: undefined,
    id: undefined,
  });
  assert.deepEqual(
    found.map(({ id }) => id),
    ['main'],
  );
});

test('a waiting pool shows its reason, and a pool without an answer or a removed one is listed as such', async t => {
  const gateway = await openGateway(t);
  const full = await openMemory();
  const broken = { ...full, capacity: () => Promise.reject(unavailableProblem('no answer')) };
  const all = [
    { name: 'open', backend: full },
    { name: 'broken', backend: broken },
    { name: 'removed', backend: full },
  ];
  const waiting = new Map([['far', waitingPool('it is down')]]);
  const pools = createPools(
    () => all,
    () => all.slice(0, 2),
    () => waiting,
  );
  const enrolled = { a: { pools: ['open'], quota: { volumes: 3 } }, b: {} };
  const asked = { limit: 10, pageToken: undefined, cluster: undefined, id: undefined };
  const { listPools, listClusters } = createAdmin({ ...gateway, pools, clusters: () => enrolled });
  const { pools: found } = await listPools(asked);
  assert.deepEqual(
    found.map(({ id, state, waitingFor, fault }) => [id, state, waitingFor ?? fault]),
    [
      ['broken', 'open', 'no answer'],
      ['far', 'waiting', 'it is down'],
      ['open', 'open', undefined],
      ['removed', 'removed', undefined],
    ],
  );
  assert.deepEqual(idsOf((await listPools({ ...asked, cluster: 'a' })).pools), ['open']);
  await gateway.ask('PUT /v1/nodes/n1', { as: 'any', body: {} });
  const wait = { operation: 'create', resource: 'volume/a.one', waitMs: 8 };
  const counts = { waiting: 1, running: 1, limit: 4, oldestWaitMs: 7.5 };
  const queue = { pool: 'open', cluster: 'a', ...counts, waitingOperations: [wait] };
  const { listQueues } = createAdmin({
    ...gateway,
    clusters: () => enrolled,
    operations: { ...gateway.operations, queues: () => [queue] },
  });
  assert.deepEqual(await listQueues(asked), { queues: [{ ...queue, id: 'open/a', oldestWaitMs: 8 }] });
  assert.deepEqual(await listQueues({ ...asked, cluster: 'b' }), { queues: [] });
  const { clusters: known } = await listClusters(asked);
  assert.deepEqual(
    known.map(({ id, isEnrolled, pools: usable, quotas }) => [id, isEnrolled, usable, quotas]),
    [
      ['a', true, ['open'], [{ path: 'volumes', limit: 3, used: 0, deleted: 0 }]],
      ['any', false, undefined, []],
      ['b', true, undefined, []],
    ],
  );
});

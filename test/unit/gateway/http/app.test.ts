import assert from 'node:assert/strict';
import { poll } from '../../../../src/lib/concurrency.ts';
import type { LogFields } from '../../../../src/lib/log.ts';
import { test } from 'node:test';
import { readWaitMs } from '../../../../gateway/http/read.ts';
import { features } from '../../../../src/api/storage.ts';
import { version } from '../../../../src/lib/version.ts';
import { assertProblem, openGateway, mounted, volumeSpec } from '../../../harness/gateway.ts';

const attachmentSpec = { capability: mounted, readonly: false };

test('a volume lives its whole life over the routes', async t => {
  const { ask } = await openGateway(t);
  const [node, volume] = ['/v1/nodes/n1', '/v1/volumes/a.pvc-1'];
  const steps: readonly (readonly [route: string, status: number, body?: unknown])[] = [
    [`PUT ${node}`, 201, { maxVolumes: 8 }],
    [`PUT ${node}`, 200, { maxVolumes: 9, topology: { zone: 'z1' } }],
    [`GET ${node}`, 200],
    [`PUT ${volume}`, 201, volumeSpec('pvc-1')],
    [`PUT ${volume}`, 200, volumeSpec('pvc-1')],
    [`GET ${volume}`, 200],
    ['GET /v1/volumes?limit=1', 200],
    [`POST ${volume}/validate`, 200, { capabilities: [mounted] }],
    [`PUT ${volume}/attachments/n1`, 201, attachmentSpec],
    [`PUT ${volume}/attachments/n1`, 200, attachmentSpec],
    [`DELETE ${node}`, 409],
    [`DELETE ${volume}`, 409],
    [`DELETE ${volume}/attachments/n1`, 204],
    [`DELETE ${volume}/attachments`, 204],
    [`DELETE ${volume}`, 204],
    [`DELETE ${volume}`, 204],
    [`GET ${volume}`, 404],
    [`DELETE ${node}`, 204],
    [`DELETE ${node}`, 204],
    [`GET ${node}`, 404],
  ];
  for (const [route, status, body] of steps) assert.equal((await ask(route, { body })).status, status, route);
});

test("the capabilities are the backend's", async t => {
  const { ask, backend } = await openGateway(t);
  const { body } = await ask('GET /v1/capabilities');
  const offered = {
    accessModes: backend.accessModes,
    accessTypes: backend.accessTypes,
    features: features.filter(feature => !['topology', 'node-details', 'import'].includes(feature)),
    zeroed: true,
    limits: { minimumVolumeBytes: 1, stepBytes: 1 },
  };
  assert.partialDeepStrictEqual(body, {
    version,
    ...offered,
    pools: [{ name: 'main', backend: 'memory', ...offered }],
  });
  const schema = { type: 'object', properties: {}, additionalProperties: false };
  assert.partialDeepStrictEqual(body, { parameters: { volume: schema, snapshot: schema } });
});

test('the capacity is reported, and is 0 for unsupported requests', async t => {
  const { ask } = await openGateway(t, { capacity: 1_000, own: { accessTypes: ['mount'] } });
  assert.equal((await ask('POST /v1/capacity', { body: {} })).body['availableBytes'], 1_000);
  const block = { capabilities: [{ ...mounted, accessType: 'block' }] };
  assert.deepEqual((await ask('POST /v1/capacity', { body: block })).body, { availableBytes: 0 });
  const strange = { capabilities: [{ ...mounted, fsType: 'ntfs' }] };
  assert.deepEqual((await ask('POST /v1/capacity', { body: strange })).body, { availableBytes: 0 });
});

/** The operations that are UNIMPLEMENTED with a backend that lacks this member. */
const lacking = {
  capacity: ['POST /v1/capacity'],
  volumeHealth: ['GET /v1/volumes/a.x/health', 'GET /v1/health/volumes'],
  changes: ['GET /v1/snapshots/a.s/blocks'],
  snapshots: [
    'PUT /v1/snapshots/a.s',
    'GET /v1/snapshots/a.s',
    'DELETE /v1/snapshots/a.s',
    'GET /v1/snapshots',
    'GET /v1/snapshots/a.s/blocks',
    'GET /v1/groups/a.g',
  ],
} as const;
for (const [member, routes] of Object.entries(lacking))
  test(`a backend without ${member} answers UNIMPLEMENTED`, async t => {
    const { ask } = await openGateway(t, { own: { [member]: undefined } });
    for (const route of routes) {
      const body = route.startsWith('PUT') ? { name: 's', volumeId: 'a.x' } : {};
      assertProblem(await ask(route, route.startsWith('GET') ? {} : { body }), 501, 'UNIMPLEMENTED');
    }
  });

test('nodes are listed a page at a time, with any ids', async t => {
  const { ask } = await openGateway(t);
  const ids = ['a', 'b:1', 'c.d/e', 'ü'];
  for (const id of ids) await ask(`PUT /v1/nodes/${encodeURIComponent(id)}`, { body: { maxVolumes: 3 } });
  const seen: unknown[] = [];
  for (let token = ''; ;) {
    const { status, body } = await ask(`GET /v1/nodes?limit=3&pageToken=${encodeURIComponent(token)}`);
    assert.equal(status, 200);
    seen.push(...(body['nodes'] as unknown[]));
    token = String(body['nextPageToken'] ?? '');
    if (token === '') break;
  }
  assert.deepEqual(
    seen,
    ids.map(id => ({ id, maxVolumes: 3 })),
  );
  assertProblem(await ask('GET /v1/nodes?pageToken=volumes:a.x'), 409, 'ABORTED');
});

test("work beyond the caller's waiting time is 202 with the current state, and the same call joins it", async t => {
  const { ask, backend } = await openGateway(t);
  await ask('PUT /v1/nodes/n1', { body: {} });
  const volume = '/v1/volumes/a.pvc-1';
  const steps = [
    ['create', `PUT ${volume}`, 'creating', volumeSpec('pvc-1')],
    ['attach', `PUT ${volume}/attachments/n1`, 'attaching', attachmentSpec],
    ['detach', `DELETE ${volume}/attachments/n1`, 'detaching'],
    ['delete', `DELETE ${volume}`, 'deleting'],
  ] as const;
  for (const [method, route, state, body] of steps) {
    const release = backend.hold(method);
    assert.equal((await ask(route, { body, headers: { prefer: 'wait=0' } })).status, 202);
    await backend.entered(method);
    for (const prefer of ['respond-async, wait=0', 'wait=0']) {
      const early = await ask(route, { body, headers: { prefer } });
      const retryAfter = early.headers.get('retry-after');
      assert.deepEqual([early.status, early.body['state'], retryAfter], [202, state, '1'], route);
    }
    release();
    const { status } = await ask(route, { body });
    assert.ok([200, 201, 204].includes(status), `${route} ${status}`);
  }
  const calls = steps.map(([method]) => `${method} a.pvc-1`);
  assert.deepEqual(backend.calls, calls);
});

test('a failure after 202 is logged, and the same call tries again', async t => {
  const { ask, backend, logLines, operations } = await openGateway(t);
  const release = backend.hold('create');
  backend.failNext('create', 'before', new Error('unreachable'));
  await ask('PUT /v1/volumes/a.pvc-1', { body: volumeSpec('pvc-1'), headers: { prefer: 'wait=0' } });
  assert.match(logLines.join('\n'), /^info answered [^\n]+"code":"ACCEPTED"[^\n]+$/);
  release();
  await operations.idle();
  const look = () => logLines.find(line => line.includes('UNAVAILABLE'));
  assert.ok(await poll(look, { everyMs: 5, timeoutMs: 10_000 }));
  assert.equal((await ask('PUT /v1/volumes/a.pvc-1', { body: volumeSpec('pvc-1') })).status, 201);
});

test('each request is one line of the log, with the ids that the caller knows', async t => {
  const { ask, logLines } = await openGateway(t);
  const trace = 'c'.repeat(32);
  const headers = { 'x-request-id': 'r-1', traceparent: `00-${trace}-${'d'.repeat(16)}-01` };
  await ask('PUT /v1/volumes/a.pvc-1', { body: volumeSpec('pvc-1'), headers });
  await ask('GET /v1/volumes/a.none', { headers });
  await ask('GET /v1/volumes');
  const said = logLines.map(line => line.slice(0, line.indexOf(' {')));
  assert.deepEqual(said, ['info answered', 'info refused', 'info answered']);
  const lines = logLines.map(line => JSON.parse(line.slice(line.indexOf('{'))) as LogFields);
  const known = { requestId: 'r-1', traceId: trace, cluster: 'a' };
  assert.partialDeepStrictEqual(lines, [
    { route: 'PUT /v1/volumes/a.pvc-1', code: 'OK', status: 201, ...known },
    { route: 'GET /v1/volumes/a.none', code: 'NOT_FOUND', status: 404, ...known },
    { route: 'GET /v1/volumes', code: 'OK', status: 200, cluster: 'a' },
  ]);
  for (const line of lines) {
    assert.match(line.traceId ?? '', /^[0-9a-f]{32}$/);
    assert.ok((line.durationMs ?? -1) >= 0);
  }
  assert.notEqual(lines[2]?.traceId, trace);
});

test('Prefer sets the waiting time, within bounds', () => {
  const waits = {
    'wait=5': 5_000,
    'wait=0': 0,
    'Wait = "7"': 7_000,
    'respond-async, wait=10': 10_000,
    'wait=10; note=x, handling=lenient': 10_000,
    'wait=100000': 60_000,
    'wait=-1': 30_000,
    'wait=soon': 30_000,
    'await=3': 30_000,
  };
  assert.equal(readWaitMs(undefined), 30_000);
  for (const [prefer, waitMs] of Object.entries(waits)) assert.equal(readWaitMs(prefer), waitMs, prefer);
});

test('a valid request id is kept, and another one is replaced', async t => {
  const { ask } = await openGateway(t);
  const idOf = async (id: string): Promise<string | null> =>
    (await ask('GET /v1/volumes/a.x', { headers: { 'x-request-id': id } })).headers.get('x-request-id');
  assert.equal(await idOf('req_1-A'), 'req_1-A');
  for (const id of ['', 'a b', 'x'.repeat(65), 'a"b', 'ä'])
    assert.match((await idOf(id)) ?? '', /^[0-9a-f-]{36}$/, id);
});

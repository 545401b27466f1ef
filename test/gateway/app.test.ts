import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxBodyBytes } from '../../src/api/routes.ts';
import { createFaultyBackend } from './faulty-backend.ts';
import { makeGateway, mounted, openMemory, volumeSpec, type Answer, type Gateway } from './harness.ts';

const attachmentSpec = { capability: mounted, readonly: false };

test('a volume lives its whole life over the routes', async t => {
  const { ask } = await makeGateway(t);
  const steps = [
    { route: 'PUT /v1/nodes/n1', body: { maxVolumes: 8 }, status: 201 },
    { route: 'PUT /v1/nodes/n1', body: { maxVolumes: 9, topology: { zone: 'z1' } }, status: 200 },
    { route: 'GET /v1/nodes/n1', status: 200 },
    { route: 'PUT /v1/volumes/a.pvc-1', body: volumeSpec('pvc-1'), status: 201 },
    { route: 'PUT /v1/volumes/a.pvc-1', body: volumeSpec('pvc-1'), status: 200 },
    { route: 'GET /v1/volumes/a.pvc-1', status: 200 },
    { route: 'GET /v1/volumes?limit=1', status: 200 },
    { route: 'POST /v1/volumes/a.pvc-1/validate', body: { capabilities: [mounted] }, status: 200 },
    { route: 'PUT /v1/volumes/a.pvc-1/attachments/n1', body: attachmentSpec, status: 201 },
    { route: 'PUT /v1/volumes/a.pvc-1/attachments/n1', body: attachmentSpec, status: 200 },
    { route: 'DELETE /v1/nodes/n1', status: 409 },
    { route: 'DELETE /v1/volumes/a.pvc-1', status: 409 },
    { route: 'DELETE /v1/volumes/a.pvc-1/attachments/n1', status: 204 },
    { route: 'DELETE /v1/volumes/a.pvc-1/attachments', status: 204 },
    { route: 'DELETE /v1/volumes/a.pvc-1', status: 204 },
    { route: 'DELETE /v1/volumes/a.pvc-1', status: 204 },
    { route: 'GET /v1/volumes/a.pvc-1', status: 404 },
    { route: 'DELETE /v1/nodes/n1', status: 204 },
    { route: 'DELETE /v1/nodes/n1', status: 204 },
    { route: 'GET /v1/nodes/n1', status: 404 },
  ];
  for (const { route, body, status } of steps)
    assert.equal((await ask(route, { body })).status, status, route);
});

test('the capabilities are those of the backend', async t => {
  const { ask, backend } = await makeGateway(t);
  const { body } = await ask('GET /v1/capabilities');
  assert.deepEqual(body, {
    backend: 'memory',
    version: '1.2.3',
    accessModes: backend.accessModes,
    accessTypes: backend.accessTypes,
    capacity: true,
  });
});

test('the capacity is told, is 0 for what is not offered, and UNIMPLEMENTED where it is not known', async t => {
  const inner = await openMemory(1_000);
  const { ask } = await makeGateway(t, { backend: { ...inner, accessTypes: ['mount'] } });
  assert.equal((await ask('POST /v1/capacity', { body: {} })).body['availableBytes'], 1_000);
  const block = { capabilities: [{ ...mounted, accessType: 'block' }] };
  assert.deepEqual((await ask('POST /v1/capacity', { body: block })).body, { availableBytes: 0 });
  const { capacity: _, ...withoutCapacity } = inner;
  const other = await makeGateway(t, { backend: withoutCapacity });
  assertProblem(await other.ask('POST /v1/capacity', { body: {} }), 501, 'UNIMPLEMENTED');
});

const badInput = [
  { route: 'PUT /v1/volumes/a.x', body: 'not json', says: /^body: not JSON$/ },
  { route: 'PUT /v1/volumes/a.x', body: '', says: /^body: not JSON$/ },
  { route: 'PUT /v1/volumes/a.x', body: [], says: /^body: expected object, received array$/ },
  {
    route: 'PUT /v1/volumes/a.x',
    body: { ...volumeSpec('x'), name: undefined },
    says: /^body.name: expected string/,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: volumeSpec('x'.repeat(129)),
    says: /^body.name: must have at most 128 bytes/,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: volumeSpec('x', { requiredBytes: -1 }),
    says: /^body.requiredBytes: /,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: volumeSpec('x', { requiredBytes: 1.5 }),
    says: /^body.requiredBytes: /,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: volumeSpec('x', { limitBytes: 2 ** 60 }),
    says: /^body.limitBytes: /,
  },
  { route: 'PUT /v1/volumes/a.x', body: volumeSpec('x', { capabilities: [] }), says: /^body.capabilities: / },
  {
    route: 'PUT /v1/volumes/a.x',
    body: { ...volumeSpec('x'), capabilities: [{ accessType: 'nfs', accessMode: mounted.accessMode }] },
    says: /^body.capabilities.0.accessType: /,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: { ...volumeSpec('x'), size: 1 },
    says: /^body: "size" is not known$/,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: volumeSpec('x', { parameters: { k: 'x'.repeat(4_096) } }),
    says: /^body.parameters: must have at most 4096 bytes$/,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: volumeSpec('x', { parameters: { k: 'v' } }),
    says: /^parameters: "k" is not known$/,
  },
  {
    route: 'PUT /v1/volumes/nodot',
    body: volumeSpec('x'),
    says: /^"nodot" is not a volume id such as "a.name"$/,
  },
  { route: 'PUT /v1/volumes/a.x%2F..%2Fy', body: volumeSpec('x'), says: /is not a volume id/ },
  { route: 'PUT /v1/volumes/a.x/attachments/n1', body: { readonly: false }, says: /^body.capability: / },
  {
    route: 'PUT /v1/volumes/a.x/attachments/n1',
    body: { ...attachmentSpec, readonly: 'no' },
    says: /^body.readonly: /,
  },
  { route: 'PUT /v1/nodes/n1', body: { maxVolumes: 0 }, says: /^body.maxVolumes: / },
  { route: 'PUT /v1/nodes/n1', body: { topology: { zone: 1 } }, says: /^body.topology.zone: / },
  {
    route: 'PUT /v1/nodes/n%0A1',
    body: {},
    says: /^a node id has 1 to 256 bytes and no control characters$/,
  },
  { route: 'POST /v1/capacity', body: { capabilities: [{}] }, says: /^body.capabilities.0.accessType: / },
  { route: 'POST /v1/capacity', body: { parameters: { k: 'v' } }, says: /^parameters: "k" is not known$/ },
  { route: 'POST /v1/volumes/a.x/validate', body: {}, says: /^body.capabilities: / },
  { route: 'GET /v1/volumes?limit=-1', says: /^limit: "-1" is not a number of entries$/ },
  { route: 'GET /v1/volumes?limit=ten', says: /^limit: "ten" is not a number of entries$/ },
];
for (const { route, body, says } of badInput) {
  test(`${route} with ${JSON.stringify(body)?.slice(0, 60)} is INVALID_ARGUMENT and says where`, async t => {
    const backend = createFaultyBackend(await openMemory());
    const { ask } = await makeGateway(t, { backend });
    const answer = await ask(route, { body });
    assertProblem(answer, 400, 'INVALID_ARGUMENT');
    assert.match(String(answer.body['detail']), says);
    assert.deepEqual(backend.calls, []);
  });
}

test('a body that is too long is refused, whether its length is told or not', async t => {
  const { ask } = await makeGateway(t);
  const body = JSON.stringify({ name: 'x'.repeat(maxBodyBytes) });
  for (const headers of [{ 'content-length': String(body.length) }, {}] as Record<string, string>[]) {
    const answer = await ask('PUT /v1/volumes/a.x', { body, headers });
    assertProblem(answer, 400, 'INVALID_ARGUMENT');
    assert.match(String(answer.body['detail']), /^body: more than \d+ bytes$/);
  }
});

const badTokens = ['x', '%%%', btoa('1:b.pvc-1'), btoa('2:a.pvc-1'), btoa('1:'), 'ä'];
for (const token of badTokens) {
  test(`the page token ${token} is ABORTED`, async t => {
    const { ask } = await makeGateway(t);
    const answer = await ask(`GET /v1/volumes?pageToken=${encodeURIComponent(token)}`);
    assertProblem(answer, 409, 'ABORTED');
  });
}

const unknownRoutes = [
  'GET /',
  'GET /v1',
  'PATCH /v1/volumes/a.x',
  'POST /v1/volumes',
  'GET /v1/volumes/a.x/y',
  'PUT /v2/volumes/a.x',
];
const knownRoutes = [
  'GET /v1/capabilities',
  'POST /v1/capacity',
  'GET /v1/volumes',
  'PUT /v1/volumes/a.x',
  'GET /v1/volumes/a.x',
  'DELETE /v1/volumes/a.x',
  'POST /v1/volumes/a.x/validate',
  'PUT /v1/volumes/a.x/attachments/n1',
  'DELETE /v1/volumes/a.x/attachments/n1',
  'DELETE /v1/volumes/a.x/attachments',
  'PUT /v1/nodes/n1',
  'GET /v1/nodes/n1',
  'DELETE /v1/nodes/n1',
];
for (const route of unknownRoutes) {
  test(`${route} is no route`, async t => {
    const { ask } = await makeGateway(t);
    assertProblem(await ask(route), 404, 'NOT_FOUND');
  });
}
for (const route of [...knownRoutes, ...unknownRoutes]) {
  test(`${route} without a good token is 401 and nothing else`, async t => {
    const { ask } = await makeGateway(t);
    const answers = await Promise.all([
      ask(route, { headers: { authorization: '' } }),
      ask(route, { headers: { authorization: 'Bearer x.y.z' } }),
    ]);
    for (const answer of answers) {
      assertProblem(answer, 401, 'UNAUTHENTICATED');
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
    }
  });
}

const ownerRoutes = [
  { route: 'PUT /v1/volumes/ID', body: volumeSpec('pvc-1') },
  { route: 'GET /v1/volumes/ID' },
  { route: 'DELETE /v1/volumes/ID' },
  { route: 'POST /v1/volumes/ID/validate', body: { capabilities: [mounted] } },
  { route: 'PUT /v1/volumes/ID/attachments/n1', body: attachmentSpec },
  { route: 'DELETE /v1/volumes/ID/attachments/n1' },
  { route: 'DELETE /v1/volumes/ID/attachments' },
];
for (const { route, body } of ownerRoutes) {
  test(`${route} with another cluster's id answers as for one that is nowhere, and changes nothing`, async t => {
    const backend = createFaultyBackend(await openMemory());
    const gateway = await makeGateway(t, { backend });
    await prepareForeign(gateway);
    const before = await gateway.ask('GET /v1/volumes/b.pvc-1', { as: 'b' });
    const calls = backend.calls.length;
    const [foreign, nowhere] = await Promise.all(
      ['b.pvc-1', 'b.never'].map(id => gateway.ask(route.replace('ID', id), { body })),
    );
    assert.equal(foreign?.status, nowhere?.status);
    assert.equal(
      String(foreign?.body['detail']).replace('b.pvc-1', 'b.never'),
      String(nowhere?.body['detail']),
    );
    assert.ok(foreign?.status === 404 || foreign?.status === 204);
    assert.deepEqual((await gateway.ask('GET /v1/volumes/b.pvc-1', { as: 'b' })).body, before.body);
    assert.equal(backend.calls.length, calls);
  });
}

test("no list shows another cluster's volumes, nor does a page token open them", async t => {
  const gateway = await makeGateway(t);
  await prepareForeign(gateway);
  assert.deepEqual((await gateway.ask('GET /v1/volumes')).body, { volumes: [] });
  await gateway.ask('PUT /v1/volumes/b.pvc-2', { as: 'b', body: volumeSpec('pvc-2') });
  const page = await gateway.ask('GET /v1/volumes?limit=1', { as: 'b' });
  const token = String(page.body['nextPageToken']);
  assertProblem(await gateway.ask(`GET /v1/volumes?pageToken=${token}`), 409, 'ABORTED');
});

test("a node of another cluster is not there for this one, and this one's does not change it", async t => {
  const gateway = await makeGateway(t);
  await gateway.ask('PUT /v1/nodes/n1', { as: 'b', body: { maxVolumes: 3 } });
  assertProblem(await gateway.ask('GET /v1/nodes/n1'), 404, 'NOT_FOUND');
  assert.equal((await gateway.ask('DELETE /v1/nodes/n1')).status, 204);
  assert.equal((await gateway.ask('PUT /v1/nodes/n1', { body: {} })).status, 201);
  assert.deepEqual((await gateway.ask('GET /v1/nodes/n1', { as: 'b' })).body, { id: 'n1', maxVolumes: 3 });
});

test('work that takes longer than the caller waits is 202 with the resource, and the same call joins it', async t => {
  const backend = createFaultyBackend(await openMemory());
  const { ask } = await makeGateway(t, { backend });
  const route = 'PUT /v1/volumes/a.pvc-1';
  const body = volumeSpec('pvc-1');
  const release = backend.hold('create');
  const early = await ask(route, { body, headers: { prefer: 'respond-async, wait=0' } });
  assert.equal(early.status, 202);
  assert.equal(early.body['state'], 'creating');
  assert.equal((await ask('GET /v1/volumes/a.pvc-1')).body['state'], 'creating');
  assert.equal((await ask(route, { body, headers: { prefer: 'wait=0' } })).status, 202);
  release();
  assert.equal((await ask(route, { body })).body['state'], 'ready');
  assert.deepEqual(backend.calls, ['create a.pvc-1']);
});

test('attach, detach and delete that take long are 202 with what there is', async t => {
  const backend = createFaultyBackend(await openMemory());
  const { ask } = await makeGateway(t, { backend });
  const headers = { prefer: 'wait=0' };
  await ask('PUT /v1/nodes/n1', { body: {} });
  await ask('PUT /v1/volumes/a.pvc-1', { body: volumeSpec('pvc-1') });
  const steps = [
    {
      method: 'attach',
      route: 'PUT /v1/volumes/a.pvc-1/attachments/n1',
      body: attachmentSpec,
      state: 'attaching',
    },
    { method: 'detach', route: 'DELETE /v1/volumes/a.pvc-1/attachments/n1', state: 'detaching' },
    { method: 'delete', route: 'DELETE /v1/volumes/a.pvc-1', state: 'deleting' },
  ] as const;
  for (const step of steps) {
    const body = 'body' in step ? step.body : undefined;
    const release = backend.hold(step.method);
    const early = await ask(step.route, { body, headers });
    assert.equal(early.status, 202, step.route);
    assert.equal(early.body['state'], step.state);
    release();
    const done = await ask(step.route, { body });
    assert.ok([200, 201, 204].includes(done.status), `${step.route} ${done.status}`);
  }
});

test('a failure after 202 is logged, and the same call tries again', async t => {
  const backend = createFaultyBackend(await openMemory());
  const { ask, logLines, work } = await makeGateway(t, { backend });
  const release = backend.hold('create');
  backend.failNext('create', 'before', new Error('unreachable'));
  await ask('PUT /v1/volumes/a.pvc-1', { body: volumeSpec('pvc-1'), headers: { prefer: 'wait=0' } });
  assert.equal(logLines.length, 0);
  release();
  await work.idle();
  assert.equal(logLines.filter(line => line.includes('UNAVAILABLE')).length, 1);
  assert.equal((await ask('PUT /v1/volumes/a.pvc-1', { body: volumeSpec('pvc-1') })).status, 201);
});

test('a sane request id is kept, another one is replaced', async t => {
  const { ask } = await makeGateway(t);
  const idOf = async (id: string): Promise<string | null> =>
    (await ask('GET /v1/volumes/a.x', { headers: { 'x-request-id': id } })).headers.get('x-request-id');
  assert.equal(await idOf('req_1-A'), 'req_1-A');
  for (const id of ['', 'a b', 'x'.repeat(65), 'a"b', 'ä'])
    assert.match((await idOf(id)) ?? '', /^[0-9a-f-]{36}$/, id);
});

test('no secret that a request carries comes out in the log or an answer', async t => {
  const canary = 'canary-7f3a';
  const backend = createFaultyBackend(await openMemory());
  const { ask, logLines } = await makeGateway(t, { backend });
  backend.failNext('create', 'before', new Error(`password ${canary}`));
  const mountFlags = [`password=${canary}`];
  const body = volumeSpec('pvc-1', { capabilities: [{ ...mounted, mountFlags }] });
  const answers = [
    await ask('GET /v1/volumes', { headers: { authorization: `Bearer ${canary}` } }),
    await ask('GET /v1/volumes', { headers: { authorization: `Basic ${canary}` } }),
    await ask('PUT /v1/volumes/a.pvc-1', { body }),
    await ask('PUT /v1/volumes/a.pvc-1', { body: `{"${canary}` }),
    await ask('PUT /v1/volumes/a.pvc-1', {
      body: { ...body, capabilities: [{ ...mounted, mountFlags: canary }] },
    }),
    await ask(`GET /v1/volumes?pageToken=${canary}`),
    await ask(`GET /v1/volumes/a.none?token=${canary}`),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [401, 401, 503, 400, 400, 409, 404],
  );
  for (const answer of answers) assert.ok(!JSON.stringify(answer.body).includes(canary));
  assert.equal(logLines.length, answers.length);
  for (const line of logLines) assert.ok(!line.includes(canary), line);
});

async function prepareForeign({ ask }: Gateway): Promise<void> {
  await ask('PUT /v1/nodes/n1', { as: 'a', body: {} });
  await ask('PUT /v1/nodes/n1', { as: 'b', body: {} });
  await ask('PUT /v1/volumes/b.pvc-1', { as: 'b', body: volumeSpec('pvc-1') });
  await ask('PUT /v1/volumes/b.pvc-1/attachments/n1', { as: 'b', body: attachmentSpec });
}

function assertProblem({ status, headers, body }: Answer, expected: number, code: string): void {
  assert.equal(status, expected, JSON.stringify(body));
  assert.equal(headers.get('content-type'), 'application/problem+json');
  assert.equal(body['code'], code);
  assert.equal(body['status'], expected);
  assert.equal(body['requestId'], headers.get('x-request-id'));
  assert.ok(body['type'] && body['title'] && body['detail']);
}

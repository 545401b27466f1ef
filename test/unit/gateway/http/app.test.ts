import assert from 'node:assert/strict';
import { poll } from '../../../../src/lib/concurrency.ts';
import { test } from 'node:test';
import { features } from '../../../../src/api/storage.ts';
import { createFaultyBackend } from '../faulty-backend.ts';
import {
  assertProblem,
  makeGateway,
  mounted,
  openMemory,
  volumeSpec,
} from '../../../harness/gateway-harness.ts';

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
  const offered = {
    accessModes: backend.accessModes,
    accessTypes: backend.accessTypes,
    features: features.filter(feature => feature !== 'topology'),
  };
  assert.deepEqual(body, {
    version: '1.2.3',
    ...offered,
    pools: [{ name: 'main', backend: 'memory', ...offered }],
  });
});

test('the capacity is told, is 0 for what is not offered, and UNIMPLEMENTED where it is not known', async t => {
  const inner = await openMemory(1_000);
  const { ask } = await makeGateway(t, { backend: { ...inner, accessTypes: ['mount'] } });
  assert.equal((await ask('POST /v1/capacity', { body: {} })).body['availableBytes'], 1_000);
  const block = { capabilities: [{ ...mounted, accessType: 'block' }] };
  assert.deepEqual((await ask('POST /v1/capacity', { body: block })).body, { availableBytes: 0 });
  const strange = { capabilities: [{ ...mounted, fsType: 'ntfs' }] };
  assert.deepEqual((await ask('POST /v1/capacity', { body: strange })).body, { availableBytes: 0 });
  const { capacity: _, ...withoutCapacity } = inner;
  const other = await makeGateway(t, { backend: withoutCapacity });
  assertProblem(await other.ask('POST /v1/capacity', { body: {} }), 501, 'UNIMPLEMENTED');
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
  const { ask, logLines, operations } = await makeGateway(t, { backend });
  const release = backend.hold('create');
  backend.failNext('create', 'before', new Error('unreachable'));
  await ask('PUT /v1/volumes/a.pvc-1', { body: volumeSpec('pvc-1'), headers: { prefer: 'wait=0' } });
  assert.equal(logLines.length, 0);
  release();
  await operations.idle();
  const look = () => logLines.find(line => line.includes('UNAVAILABLE'));
  assert.ok(await poll(look, { everyMs: 5, timeoutMs: 10_000 }));
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

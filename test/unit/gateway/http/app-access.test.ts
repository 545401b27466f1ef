import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFaultyBackend } from '../faulty-backend.ts';
import {
  assertProblem,
  makeGateway,
  mounted,
  openMemory,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway-harness.ts';

const attachmentSpec = { capability: mounted, readonly: false };

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

async function prepareForeign({ ask }: Gateway): Promise<void> {
  await ask('PUT /v1/nodes/n1', { as: 'a', body: {} });
  await ask('PUT /v1/nodes/n1', { as: 'b', body: {} });
  await ask('PUT /v1/volumes/b.pvc-1', { as: 'b', body: volumeSpec('pvc-1') });
  await ask('PUT /v1/volumes/b.pvc-1/attachments/n1', { as: 'b', body: attachmentSpec });
}

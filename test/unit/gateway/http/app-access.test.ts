import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allOperations } from '../../../../src/api/operations.ts';
import {
  assertProblem,
  openGateway,
  mounted,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway/gateway.ts';

const attachmentSpec = { capability: mounted, readonly: false };

const unknownRoutes = [
  'GET /',
  'GET /v1',
  'PATCH /v1/volumes/a.x',
  'POST /v1/volumes',
  'GET /v1/volumes/a.x/y',
  'PUT /v2/volumes/a.x',
];
const knownRoutes = allOperations.map(({ route }) => route);

test('an unknown operation is NOT_FOUND, and without a valid token everything is 401', async t => {
  const { ask } = await openGateway(t);
  for (const route of unknownRoutes) assertProblem(await ask(route), 404, 'NOT_FOUND');
  for (const route of [...knownRoutes, ...unknownRoutes])
    for (const authorization of ['', 'Bearer x.y.z']) {
      const answer = await ask(route, { headers: { authorization } });
      assertProblem(answer, 401, 'UNAUTHENTICATED');
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
    }
});

test("no list shows another cluster's volumes, and no page token reveals them", async t => {
  const gateway = await openGateway(t);
  await prepareForeign(gateway);
  assert.deepEqual((await gateway.ask('GET /v1/volumes')).body, { volumes: [] });
  await gateway.ask('PUT /v1/volumes/b.pvc-2', { as: 'b', body: volumeSpec('pvc-2') });
  const page = await gateway.ask('GET /v1/volumes?limit=1', { as: 'b' });
  const token = String(page.body['nextPageToken']);
  assertProblem(await gateway.ask(`GET /v1/volumes?pageToken=${token}`), 409, 'ABORTED');
});

test("a node of another cluster is invisible to this one, and this cluster's node of that name does not change it", async t => {
  const gateway = await openGateway(t);
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
  const name = 'pvc-1';
  await ask('PUT /v1/snapshots/b.pvc-1', { as: 'b', body: { name, volumeId: 'b.pvc-1' } });
  const { status } = await ask('PUT /v1/groups/b.pvc-1', { as: 'b', body: { name, volumeIds: ['b.pvc-1'] } });
  assert.equal(status, 201);
}

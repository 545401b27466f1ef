import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allOperations } from '../../../../src/api/operations.ts';
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
const knownRoutes = allOperations.map(({ route }) => route);

test('what is no operation is NOT_FOUND, and without a good token everything is 401', async t => {
  const { ask } = await makeGateway(t);
  for (const route of unknownRoutes) assertProblem(await ask(route), 404, 'NOT_FOUND');
  for (const route of [...knownRoutes, ...unknownRoutes])
    for (const authorization of ['', 'Bearer x.y.z']) {
      const answer = await ask(route, { headers: { authorization } });
      assertProblem(answer, 401, 'UNAUTHENTICATED');
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
    }
});

const cut = { name: 'cut', volumeId: 'a.source' };
/** What is asked of an id in the path: of every kind of resource with an owner. */
const ownerRoutes = [
  { route: 'PUT /v1/volumes/ID', body: volumeSpec('pvc-1') },
  { route: 'GET /v1/volumes/ID' },
  { route: 'DELETE /v1/volumes/ID' },
  { route: 'POST /v1/volumes/ID/validate', body: { capabilities: [mounted] } },
  { route: 'PUT /v1/volumes/ID/size', body: { requiredBytes: 2 ** 21 } },
  { route: 'PUT /v1/volumes/ID/parameters', body: { mutableParameters: {} } },
  { route: 'GET /v1/volumes/ID/health' },
  { route: 'PUT /v1/volumes/ID/attachments/n1', body: attachmentSpec },
  { route: 'GET /v1/volumes/ID/attachments/n1' },
  { route: 'DELETE /v1/volumes/ID/attachments/n1' },
  { route: 'DELETE /v1/volumes/ID/attachments' },
  { route: 'PUT /v1/snapshots/ID', body: cut },
  { route: 'GET /v1/snapshots/ID' },
  { route: 'DELETE /v1/snapshots/ID' },
  { route: 'GET /v1/snapshots/ID/blocks' },
  { route: 'PUT /v1/groups/ID', body: { name: 'g', volumeIds: ['a.source'] } },
  { route: 'GET /v1/groups/ID' },
  { route: 'DELETE /v1/groups/ID' },
];

test('every operation on what has an owner is tried with an id of another', () => {
  const tried = ownerRoutes.map(({ route }) => route.replace('n1', '{nodeId}').replace('ID', '{id}'));
  const rows = allOperations.filter(
    ({ path, tag }) => /(volume|snapshot|group)Id\}/.test(path) && tag !== 'admin',
  );
  const routes = rows.map(({ route }) => route.replace(/\{(volume|snapshot|group)Id\}/, '{id}'));
  assert.deepEqual(tried.toSorted(), routes.toSorted());
});

for (const { route, body } of ownerRoutes) {
  test(`${route} with another cluster's id answers as for one that is nowhere, and changes nothing`, async t => {
    const backend = createFaultyBackend(await openMemory());
    const gateway = await makeGateway(t, { backend });
    await prepareForeign(gateway);
    const look = async (): Promise<unknown> =>
      Promise.all(
        ['volumes', 'snapshots', 'groups'].map(async kind =>
          gateway.ask(`GET /v1/${kind}/b.pvc-1`, { as: 'b' }),
        ),
      ).then(answers => answers.map(({ status, body: shown }) => ({ status, shown })));
    const before = await look();
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
    assert.deepEqual(await look(), before);
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
  const name = 'pvc-1';
  await ask('PUT /v1/snapshots/b.pvc-1', { as: 'b', body: { name, volumeId: 'b.pvc-1' } });
  const { status } = await ask('PUT /v1/groups/b.pvc-1', { as: 'b', body: { name, volumeIds: ['b.pvc-1'] } });
  assert.equal(status, 201);
}

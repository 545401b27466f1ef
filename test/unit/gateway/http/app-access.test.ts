import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allOperations } from '../../../../src/api/operations.ts';
import { assertProblem, openGateway } from '../../../harness/gateway.ts';

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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preconditionProblem, unavailableProblem } from '../../../../src/api/problem.ts';
import {
  newVolume,
  openGateway,
  assertProblem,
  clusters,
  type Answer,
  type AskOptions,
  type Gateway,
} from '../../../harness/gateway.ts';
import { hour, volumesIn } from '../../../harness/gateway/fixtures.ts';

function askAsOperator({ ask }: Gateway, route: string, options: AskOptions = {}): Promise<Answer> {
  return ask(route, { ...options, as: 'operator' });
}

test('a check shows the differences, and a repair removes them only with an explicit flag', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  const look = (query = ''): Promise<Answer> => askAsOperator(gateway, `GET /v1/admin/check${query}`);
  assert.deepEqual((await look()).body, { findings: [], total: 0 });
  await gateway.backend.create(newVolume('a.orphan'));
  const { status, body: found } = await look('?stuckAfterMs=0');
  assert.equal(status, 200);
  assert.partialDeepStrictEqual(found, {
    findings: [{ pool: 'main', kind: 'volume', id: 'a.orphan', problem: 'unknown' }],
    total: 1,
  });
  const repair = async (body: object): Promise<readonly unknown[]> => {
    const { steps } = (await askAsOperator(gateway, 'PUT /v1/admin/repair', { body })).body as {
      steps: { id: string; action: string; outcome?: string }[];
    };
    return steps.map(({ id, action, outcome }) => [id, action, outcome]);
  };
  assert.deepEqual(await repair({ safetyAgeMs: 0 }), [['a.orphan', 'remove', undefined]]);
  assert.deepEqual(await repair({ dryRun: false }), [['a.orphan', 'none', 'left']]);
  assert.deepEqual(await repair({ dryRun: false, safetyAgeMs: 0 }), [['a.orphan', 'remove', 'done']]);
  assert.deepEqual(await volumesIn(gateway.backend), ['a.one']);
});

test('the answer about a node with undetachable volumes has their number, and the first ones with their reasons', async t => {
  const names = ['v1', 'v2', 'v3', 'v4', 'v5', 'v6', 'v7'];
  const gateway = await openGateway(t, { volumes: names });
  await gateway.nodes.put(clusters.a, 'n1', {});
  for (const name of names) await gateway.attach(`a.${name}`);
  const detach = () =>
    gateway.ask('PUT /v1/admin/nodes/a/n1/detachment', { as: 'operator', body: { force: true } });
  const inUse = preconditionProblem('in use');
  for (const problem of [inUse, unavailableProblem('too slow'), ...Array.from({ length: 4 }, () => inUse)])
    gateway.backend.failNext('detach', 'before', problem);
  const mixed = await detach();
  assertProblem(mixed, 503, 'UNAVAILABLE');
  assert.equal(
    mixed.body['detail'],
    'could not detach 6 volumes from node "n1": volume "a.v1": in use; volume "a.v2": too slow; ' +
      'volume "a.v3": in use; volume "a.v4": in use; volume "a.v5": in use; and 1 more',
  );
  for (let left = 0; left < 2; left++) gateway.backend.failNext('detach', 'before', inUse);
  assertProblem(await detach(), 409, 'FAILED_PRECONDITION');
  assert.equal((await detach()).status, 200);
});

test('soft-deleted volumes are listed in pages and restored repeatedly', async t => {
  const names = ['one', 'two', 'three'];
  const gateway = await openGateway(t, { volumes: names, keepDeletedMs: hour });
  for (const name of names) await gateway.volumes.delete(clusters.a, `a.${name}`);
  const route = 'GET /v1/admin/deleted-volumes?limit=2';
  const { volumes, nextPageToken } = (await askAsOperator(gateway, route)).body as {
    volumes: { id: string; restorableUntilMs: number }[];
    nextPageToken: string;
  };
  const ids = volumes.map(({ id }) => id);
  assert.deepEqual(ids, ['a.one', 'a.three']);
  assert.ok((volumes[0]?.restorableUntilMs ?? 0) > Date.now());
  const rest = await askAsOperator(gateway, `${route}&pageToken=${nextPageToken}`);
  assert.partialDeepStrictEqual(rest.body, { volumes: [{ id: 'a.two', pool: 'main', sizeBytes: 2 ** 20 }] });
  const restore = 'PUT /v1/admin/deleted-volumes/a.two/restore';
  for (let time = 0; time < 2; time++) assert.equal((await askAsOperator(gateway, restore)).status, 204);
  assert.equal((await gateway.volumes.get(clusters.a, 'a.two')).state, 'ready');
  assertProblem(
    await askAsOperator(gateway, 'PUT /v1/admin/deleted-volumes/a.none/restore'),
    404,
    'NOT_FOUND',
  );
});

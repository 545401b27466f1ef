import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { NewSnapshot } from '../../../../gateway/backend.ts';
import { Problem, type ProblemCode } from '../../../../src/api/problem.ts';
import { assertProblem, clusters, openGateway, type Gateway } from '../../../harness/gateway.ts';
import { snapshotsIn } from '../../../harness/gateway/fixtures.ts';

const { a } = clusters;
const names = ['one', 'two', 'three'];
const moments = ['before', 'after'] as const;

/** The tests that apply to snapshots and groups alike, with the request of each. */
const kinds = [
  {
    kind: 'snapshot',
    method: 'snapshot',
    path: '/v1/snapshots/a.it',
    spec: { name: 'it', volumeId: 'a.one' },
    others: [{ name: 'other' }, { volumeId: 'a.two' }],
    foreign: { volumeId: 'b.one' },
    unknown: { volumeId: 'a.never' },
    count: 1,
  },
  {
    kind: 'group',
    method: 'group',
    path: '/v1/groups/a.it',
    spec: { name: 'it', volumeIds: ['a.one', 'a.two'] },
    others: [{ name: 'other' }, { volumeIds: ['a.one', 'a.three'] }, { volumeIds: ['a.one'] }],
    foreign: { volumeIds: ['a.one', 'b.one'] },
    unknown: { volumeIds: ['a.one', 'a.never'] },
    count: 2,
  },
] as const;

const open = (t: TestContext) => openGateway(t, { volumes: names });

async function listed({ snapshots }: Gateway): Promise<number> {
  return (await snapshots.list(a, { limit: 10 })).snapshots.length;
}

for (const { kind, method, path, spec, others, foreign, unknown, count } of kinds) {
  const put = ({ ask }: Gateway, body: object = spec) => ask(`PUT ${path}`, { body });
  const get = ({ ask }: Gateway) => ask(`GET ${path}`);
  const remove = ({ ask }: Gateway) => ask(`DELETE ${path}`);

  test(`a ${kind} lives its whole life over the routes`, async t => {
    const gateway = await open(t);
    const made = await put(gateway);
    assert.deepEqual([made.status, made.body['state'], made.body['name']], [201, 'ready', 'it']);
    const again = await put(gateway);
    assert.deepEqual([again.status, again.body], [200, made.body]);
    assert.deepEqual((await get(gateway)).body, made.body);
    assert.equal(await listed(gateway), count);
    for (let i = 0; i < 2; i++) assert.equal((await remove(gateway)).status, 204);
    assertProblem(await get(gateway), 404, 'NOT_FOUND');
    assert.equal(await listed(gateway), 0);
    assert.deepEqual(await snapshotsIn(gateway.backend), []);
  });

  test(`a known ${kind} that differs is ALREADY_EXISTS, and an impossible one is not recorded`, async t => {
    const gateway = await open(t);
    await gateway.create('b.one');
    for (const [change, status, code] of [
      [foreign, 404, 'NOT_FOUND'],
      [unknown, 404, 'NOT_FOUND'],
      [{ parameters: { colour: 'red' } }, 400, 'INVALID_ARGUMENT'],
    ] as const)
      assertProblem(await put(gateway, { ...spec, ...change }), status, code);
    assertProblem(await get(gateway), 404, 'NOT_FOUND');
    assert.deepEqual(gateway.backend.calls, ['create b.one']);
    await put(gateway);
    for (const other of others)
      assertProblem(await put(gateway, { ...spec, ...other }), 409, 'ALREADY_EXISTS');
  });

  for (const moment of moments) {
    test(`the sweep finishes a ${kind} whose answer was lost ${moment} the storage commits`, async t => {
      const gateway = await open(t);
      const { backend, recovery, volumes } = gateway;
      backend.failNext(method, moment, new Error('the answer was lost'));
      assertProblem(await put(gateway), 503, 'UNAVAILABLE');
      const { body: begun } = await get(gateway);
      assert.deepEqual([begun['state'], await listed(gateway)], ['creating', 0]);
      await assert.rejects(volumes.delete(a, 'a.one'), { code: 'FAILED_PRECONDITION' });
      assert.equal(await recovery.sweep(), 1);
      const { body } = await get(gateway);
      assert.equal(body['state'], 'ready');
      assert.deepEqual(idsOf(body), idsOf(begun));
      assert.deepEqual((await snapshotsIn(backend)).toSorted(), idsOf(body).toSorted());
      assert.equal(await recovery.sweep(), 0);
    });

    test(`deleting a ${kind} after an answer that was lost ${moment} the storage commits leaves nothing`, async t => {
      const gateway = await open(t);
      gateway.backend.failNext(method, moment, new Error('the answer was lost'));
      await put(gateway);
      assert.equal((await remove(gateway)).status, 204);
      await assertNothing(gateway);
    });

    test(`the sweep finishes a deletion of a ${kind} whose answer was lost ${moment} the storage commits`, async t => {
      const gateway = await open(t);
      await put(gateway);
      gateway.backend.failNext('snapshot-delete', moment, new Error('the answer was lost'));
      assertProblem(await remove(gateway), 503, 'UNAVAILABLE');
      assert.equal((await get(gateway)).body['state'], 'deleting');
      assertProblem(await put(gateway), 409, 'ABORTED');
      assert.equal(await listed(gateway), 0);
      assert.equal(await gateway.recovery.sweep(), 1);
      await assertNothing(gateway);
    });
  }

  for (const code of ['FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED', 'INTERNAL'] satisfies ProblemCode[])
    test(`a ${kind} that ends with ${code} leaves nothing, also of an earlier attempt`, async t => {
      const gateway = await open(t);
      gateway.backend.failNext(method, 'after', new Error('the answer was lost'));
      await put(gateway);
      gateway.backend.failNext(method, 'before', new Problem(code, 'it would be torn'));
      const { body } = await put(gateway);
      assert.deepEqual([body['code'], body['detail']], [code, 'it would be torn']);
      await assertNothing(gateway);
    });

  test(`the volumes of a ${kind} are left alone during its creation, and the same call joins`, async t => {
    const gateway = await open(t);
    const { backend, ask } = gateway;
    const release = backend.hold(method);
    const headers = { prefer: 'wait=0' };
    const first = await ask(`PUT ${path}`, { body: spec, headers });
    assert.equal(first.status, 202);
    await backend.entered(method);
    assert.equal((await get(gateway)).body['state'], 'creating');
    assertProblem(await remove(gateway), 409, 'ABORTED');
    assertProblem(await ask('DELETE /v1/volumes/a.one'), 409, 'ABORTED');
    const overlapping = { body: { name: 'other', volumeId: 'a.one' } };
    assertProblem(await ask('PUT /v1/snapshots/a.other', overlapping), 409, 'ABORTED');
    await assert.rejects(gateway.attach('a.one'), { code: 'ABORTED' });
    // Behind a deletion that waits, the same call would not join.
    const same = Array.from({ length: 5 }, () => put(gateway));
    release();
    for (const { body } of await Promise.all(same)) assert.equal(body['state'], 'ready');
    assert.equal(backend.calls.filter(call => call.startsWith(method)).length, 1);
  });

  test(`a ${kind} that is not ready is shown, holds its volume, and becomes ready by a retry or the sweep`, async t => {
    const { gateway, backend, finish } = await openSlow(t);
    const { body } = await put(gateway);
    assert.equal(body['state'], 'processing');
    assert.deepEqual((await get(gateway)).body, body);
    assert.equal(await listed(gateway), count);
    await assert.rejects(gateway.volumes.delete(a, 'a.one'), { code: 'FAILED_PRECONDITION' });
    backend.failNext(method, 'before', new Problem('INTERNAL', 'it is broken just now'));
    assertProblem(await put(gateway), 500, 'INTERNAL');
    assert.equal((await put(gateway)).body['state'], 'processing');
    await gateway.snapshot('a.other', 'a.three');
    await gateway.snapshots.delete(a, 'a.other');
    finish();
    if (kind === 'group') assert.equal((await put(gateway)).status, 200);
    else assert.equal(await gateway.recovery.sweep(), 1);
    const { body: ready } = await get(gateway);
    assert.deepEqual([ready['state'], ready['createdAt']], ['ready', body['createdAt']]);
    await gateway.volumes.delete(a, 'a.one');
  });
}

test("the order of a group's volumes makes no difference, and its members are snapshots of it", async t => {
  const { groups } = await open(t);
  const { group } = await groups.create(a, 'a.it', { name: 'it', volumeIds: ['a.one', 'a.two'] });
  const reversed = await groups.create(a, 'a.it', { name: 'it', volumeIds: ['a.two', 'a.one'] });
  assert.deepEqual(reversed, { group, created: false });
  assert.equal(group.snapshots.length, 2);
  for (const [index, volumeId] of ['a.one', 'a.two'].entries())
    assert.partialDeepStrictEqual(group.snapshots[index], { volumeId, groupId: 'a.it', state: 'ready' });
});

/** Lists the id of the snapshot, or the ids of the group's members. */
function idsOf({ id, snapshots }: Readonly<Record<string, unknown>>): readonly string[] {
  return snapshots ? (snapshots as { id: string }[]).map(member => member.id) : [String(id)];
}

/** Fails if a snapshot is left, or anything holds the volumes. */
async function assertNothing(gateway: Gateway): Promise<void> {
  assert.deepEqual(await snapshotsIn(gateway.backend), []);
  assert.equal(await gateway.recovery.sweep(), 0);
  for (const name of names) await gateway.volumes.delete(a, `a.${name}`);
}

/** Opens a gateway whose snapshots are not ready until `finish`; of groups only the first member is not. */
async function openSlow(t: TestContext) {
  let ready = false;
  const gateway = await openGateway(t, {
    own: ({ snapshots }) => ({
      snapshots: {
        ...snapshots,
        create: async (snapshot: NewSnapshot) => ({ ...(await snapshots.create(snapshot)), ready }),
        createGroup: async (members: readonly NewSnapshot[]) =>
          (await snapshots.createGroup(members)).map(({ sizeBytes, createdAtMs }, index) => ({
            sizeBytes,
            createdAtMs,
            ready: ready || index > 0,
          })),
      },
    }),
    volumes: names,
  });
  return { gateway, backend: gateway.backend, finish: () => (ready = true) };
}

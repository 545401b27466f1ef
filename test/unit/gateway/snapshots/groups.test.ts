import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Problem } from '../../../../src/api/problem.ts';
import { createFaultyBackend, type FaultyBackend, type Moment } from '../faulty-backend.ts';
import {
  clusters,
  assertProblem,
  endClaims,
  makeGateway,
  openMemory,
  temporaryDirectory,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';

const id = 'a.group-1';
const volumeIds = ['a.one', 'a.two'];
const spec = { name: 'group-1', volumeIds };

async function makeVolumes({ volumes }: Gateway): Promise<void> {
  for (const name of ['one', 'two', 'three']) await volumes.create(clusters.a, `a.${name}`, volumeSpec(name));
}

async function makeFaulty(t: TestContext): Promise<Gateway & { readonly backend: FaultyBackend }> {
  const backend = createFaultyBackend(await openMemory());
  const gateway = await makeGateway(t, { backend });
  await makeVolumes(gateway);
  return { ...gateway, backend };
}

async function cutIn(backend: FaultyBackend): Promise<number> {
  return (await Array.fromAsync(backend.snapshots?.list?.() ?? [])).length;
}

test('a group lives its whole life over the routes, and its members are snapshots', async t => {
  const { ask, snapshots, backend } = await makeFaulty(t);
  const made = await ask(`PUT /v1/groups/${id}`, { body: spec });
  assert.deepEqual([made.status, made.body['state'], made.body['name']], [201, 'ready', 'group-1']);
  const members = made.body['snapshots'] as { volumeId: string; groupId: string; state: string }[];
  assert.deepEqual(
    members.map(({ volumeId, groupId, state }) => [volumeId, groupId, state]),
    volumeIds.map(volumeId => [volumeId, id, 'ready']),
  );
  const again = await ask(`PUT /v1/groups/${id}`, { body: { ...spec, volumeIds: volumeIds.toReversed() } });
  assert.deepEqual([again.status, again.body], [200, made.body]);
  assert.deepEqual((await ask(`GET /v1/groups/${id}`)).body, made.body);
  const listed = await snapshots.list(clusters.a, { limit: 10 });
  assert.equal(listed.snapshots.length, 2);
  assert.equal((await ask(`DELETE /v1/groups/${id}`)).status, 204);
  assert.equal((await ask(`DELETE /v1/groups/${id}`)).status, 204);
  assertProblem(await ask(`GET /v1/groups/${id}`), 404, 'NOT_FOUND');
  assert.deepEqual((await snapshots.list(clusters.a, { limit: 10 })).snapshots, []);
  assert.equal(await cutIn(backend), 0);
});

test('a member cannot be deleted alone, but a volume can be made from it', async t => {
  const { groups, snapshots, volumes } = await makeFaulty(t);
  const { group } = await groups.create(clusters.a, id, spec);
  const member = group.snapshots[0]?.id ?? '';
  const alone = isProblemThat('INVALID_ARGUMENT', /belongs to group "a.group-1"/);
  await assert.rejects(snapshots.delete(clusters.a, member), alone);
  const named = { name: 'group-1', volumeId: 'a.one' };
  await assert.rejects(snapshots.create(clusters.a, member, named), isProblem('ALREADY_EXISTS'));
  const source = { kind: 'snapshot', snapshotId: member } as const;
  await volumes.create(clusters.a, 'a.clone', volumeSpec('clone', { source }));
  await groups.delete(clusters.a, id);
});

test('a group is kept while a volume is being made from a member', async t => {
  const { groups, volumes, backend } = await makeFaulty(t);
  const { group } = await groups.create(clusters.a, id, spec);
  const source = { kind: 'snapshot', snapshotId: group.snapshots[1]?.id ?? '' } as const;
  backend.failNext('create', 'before', new Error('unreachable'));
  await assert.rejects(volumes.create(clusters.a, 'a.clone', volumeSpec('clone', { source })));
  await assert.rejects(groups.delete(clusters.a, id), isProblem('FAILED_PRECONDITION'));
  await volumes.delete(clusters.a, 'a.clone');
  await groups.delete(clusters.a, id);
});

for (const [what, change] of [
  ['another name', { name: 'group-2' }],
  ['other volumes', { volumeIds: ['a.one', 'a.three'] }],
  ['fewer volumes', { volumeIds: ['a.one'] }],
] as const) {
  test(`a known group with ${what} is ALREADY_EXISTS`, async t => {
    const { groups } = await makeFaulty(t);
    await groups.create(clusters.a, id, spec);
    const other = { name: spec.name, volumeIds: [...volumeIds], ...change };
    const work = groups.create(clusters.a, id, { ...other, volumeIds: [...other.volumeIds] });
    await assert.rejects(work, isProblem('ALREADY_EXISTS'));
  });
}

test('a group that cannot be cut at one point in time is refused with the reason, and leaves nothing', async t => {
  const { groups, volumes, snapshots, backend } = await makeFaulty(t);
  backend.failNext('cutGroup', 'after', new Error('the answer was lost'));
  await assert.rejects(groups.create(clusters.a, id, spec), isProblem('UNAVAILABLE'));
  assert.equal((await groups.get(clusters.a, id)).state, 'creating');
  assert.deepEqual((await snapshots.list(clusters.a, { limit: 10 })).snapshots, []);
  backend.failNext('cutGroup', 'before', new Problem('FAILED_PRECONDITION', 'it would be torn'));
  await assert.rejects(
    groups.create(clusters.a, id, spec),
    isProblemThat('FAILED_PRECONDITION', /it would be torn/),
  );
  await assert.rejects(groups.get(clusters.a, id), isProblem('NOT_FOUND'));
  assert.equal(await cutIn(backend), 0);
  for (const volumeId of volumeIds) await volumes.delete(clusters.a, volumeId);
});

test('while a group is cut its volumes are left alone, and the same call joins', async t => {
  const { groups, snapshots, volumes, backend } = await makeFaulty(t);
  const release = backend.hold('cutGroup');
  const same = Array.from({ length: 5 }, () => groups.create(clusters.a, id, spec));
  await backend.entered('cutGroup');
  await assert.rejects(groups.delete(clusters.a, id), isProblem('ABORTED'));
  await assert.rejects(volumes.delete(clusters.a, 'a.two'), isProblem('ABORTED'));
  const overlapping = { name: 'snap', volumeId: 'a.two' };
  await assert.rejects(snapshots.create(clusters.a, 'a.snap', overlapping), isProblem('ABORTED'));
  await snapshots.create(clusters.a, 'a.snap', { name: 'snap', volumeId: 'a.three' });
  release();
  assert.equal(new Set((await Promise.all(same)).map(({ group }) => JSON.stringify(group))).size, 1);
  assert.equal(backend.calls.filter(call => call.startsWith('cutGroup')).length, 1);
});

for (const moment of ['before', 'after'] as const satisfies readonly Moment[]) {
  test(`a group whose answer was lost ${moment} the cut is finished by the sweep`, async t => {
    const { groups, recovery, volumes, backend } = await makeFaulty(t);
    backend.failNext('cutGroup', moment, new Error('the answer was lost'));
    await assert.rejects(groups.create(clusters.a, id, spec), isProblem('UNAVAILABLE'));
    const { snapshots: members } = await groups.get(clusters.a, id);
    await assert.rejects(volumes.delete(clusters.a, 'a.one'), isProblem('FAILED_PRECONDITION'));
    assert.equal(await recovery.sweep(), 1);
    const group = await groups.get(clusters.a, id);
    assert.equal(group.state, 'ready');
    assert.deepEqual(
      group.snapshots.map(member => member.id),
      members.map(member => member.id),
    );
    assert.equal(await cutIn(backend), 2);
    assert.equal(await recovery.sweep(), 0);
  });

  test(`a group's deletion whose answer was lost ${moment} is finished by the sweep`, async t => {
    const { groups, recovery, backend } = await makeFaulty(t);
    await groups.create(clusters.a, id, spec);
    backend.failNext('uncut', moment, new Error('the answer was lost'));
    await assert.rejects(groups.delete(clusters.a, id), isProblem('UNAVAILABLE'));
    assert.equal((await groups.get(clusters.a, id)).state, 'deleting');
    await assert.rejects(groups.create(clusters.a, id, spec), isProblem('ABORTED'));
    assert.equal(await recovery.sweep(), 1);
    await assert.rejects(groups.get(clusters.a, id), isProblem('NOT_FOUND'));
    assert.equal(await cutIn(backend), 0);
  });
}

test('a gateway that dies while it cuts a group is taken over', async t => {
  const backend = createFaultyBackend(await openMemory());
  const store = join(temporaryDirectory(t), 'store.sqlite');
  const dying = await makeGateway(t, { backend, store });
  await makeVolumes(dying);
  const release = backend.hold('cutGroup');
  dying.groups.create(clusters.a, id, spec).catch(() => undefined);
  await backend.entered('cutGroup');
  await dying.engine.close();
  const next = await makeGateway(t, { backend, store });
  await assert.rejects(next.groups.create(clusters.a, id, spec), isProblem('ABORTED'));
  release();
  await endClaims(next);
  assert.equal((await next.groups.create(clusters.a, id, spec)).group.state, 'ready');
  assert.equal(await cutIn(backend), 2);
});

test('a group is ready once all its members are', async t => {
  const inner = await openMemory();
  const createGroup = inner.snapshots?.createGroup;
  assert.ok(inner.snapshots && createGroup);
  let unready = 1;
  const slow: typeof createGroup = async members =>
    (await createGroup(members)).map(({ sizeBytes, createdAtMs }, index) => ({
      sizeBytes,
      createdAtMs,
      ready: index !== unready,
    }));
  const backend = { ...inner, snapshots: { ...inner.snapshots, createGroup: slow } };
  const gateway = await makeGateway(t, { backend });
  await makeVolumes(gateway);
  const { group } = await gateway.groups.create(clusters.a, id, spec);
  assert.deepEqual(
    [group.state, ...group.snapshots.map(({ state }) => state)],
    ['processing', 'ready', 'processing'],
  );
  unready = -1;
  assert.equal((await gateway.groups.create(clusters.a, id, spec)).group.state, 'ready');
});

const refused = [
  { what: 'no volumes', body: { ...spec, volumeIds: [] } },
  { what: 'a volume twice', body: { ...spec, volumeIds: ['a.one', 'a.one'] } },
  { what: 'an unknown parameter', body: { ...spec, parameters: { colour: 'red' } } },
  { what: 'an unknown field', body: { ...spec, force: true } },
  { what: 'an unknown volume', body: { ...spec, volumeIds: ['a.one', 'a.never'] }, code: 'NOT_FOUND' },
  { what: "another cluster's volume", body: { ...spec, volumeIds: ['a.one', 'b.one'] }, code: 'NOT_FOUND' },
] as const;
for (const { what, body, ...row } of refused) {
  test(`the route refuses ${what} and records nothing`, async t => {
    const { ask, snapshots } = await makeFaulty(t);
    const code = 'code' in row ? row.code : 'INVALID_ARGUMENT';
    assertProblem(await ask(`PUT /v1/groups/${id}`, { body }), code === 'NOT_FOUND' ? 404 : 400, code);
    assertProblem(await ask(`GET /v1/groups/${id}`), 404, 'NOT_FOUND');
    assert.deepEqual((await snapshots.list(clusters.a, { limit: 10 })).snapshots, []);
  });
}

test("another cluster's group is not there", async t => {
  const { ask, groups } = await makeFaulty(t);
  const { group } = await groups.create(clusters.a, id, spec);
  assertProblem(await ask(`GET /v1/groups/${id}`, { as: 'b' }), 404, 'NOT_FOUND');
  assertProblem(await ask(`PUT /v1/groups/${id}`, { as: 'b', body: spec }), 404, 'NOT_FOUND');
  assert.equal((await ask(`DELETE /v1/groups/${id}`, { as: 'b' })).status, 204);
  assert.deepEqual(await groups.get(clusters.a, id), group);
});

test('a backend without groups answers UNIMPLEMENTED, and has snapshots all the same', async t => {
  const inner = await openMemory();
  assert.ok(inner.snapshots);
  const { createGroup: _, ...snapshots } = inner.snapshots;
  const gateway = await makeGateway(t, { backend: { ...inner, snapshots } });
  await makeVolumes(gateway);
  assertProblem(await gateway.ask(`PUT /v1/groups/${id}`, { body: spec }), 501, 'UNIMPLEMENTED');
  await gateway.snapshots.create(clusters.a, 'a.snap', { name: 'snap', volumeId: 'a.one' });
});

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { MemoryBackend } from '../../../../gateway/backends/memory.ts';
import type { Engine } from '../../../../gateway/store.ts';
import type { Cluster } from '../../../../gateway/callers/cluster.ts';
import { copyGrantTable } from '../../../../gateway/tables/copy-grants.ts';
import { limits } from '../../../../src/api/limits.ts';
import { allOperations, type OperationId } from '../../../../src/api/operations.ts';
import type { VolumeSource, VolumeSpec } from '../../../../src/api/volume.ts';
import { unavailableProblem } from '../../../../src/api/problem.ts';
import {
  assertProblem,
  clusters,
  mounted,
  openGateway,
  volumeSpec,
  type Answer,
  type Gateway,
  type GatewayOptions,
} from '../../../harness/gateway.ts';
import type { FaultyBackend } from '../../../fakes/faulty-backend.ts';
import { hour } from '../../../harness/gateway/fixtures.ts';

const { a, b, any } = clusters;
const kinds = ['volume', 'snapshot', 'group'] as const;
type Kind = (typeof kinds)[number];

/** Opens a gateway with a volume, a snapshot and a group `a.one`, each with one member at most. */
async function open(t: TestContext, options: GatewayOptions<FaultyBackend<MemoryBackend>> = {}) {
  const gateway = await openGateway(t, { volumes: ['one'], ...options });
  await gateway.snapshot('a.one', 'a.one');
  const { status } = await gateway.ask('PUT /v1/groups/a.one', {
    body: { name: 'one', volumeIds: ['a.one'] },
  });
  assert.equal(status, 201);
  return gateway;
}

/** Grants or revokes the copies of `a.one` of this kind; by default an operator grants them to `b`. */
const change = (
  { ask }: Pick<Gateway, 'ask'>,
  method: 'PUT' | 'DELETE',
  { kind, as = 'operator', to = 'b' }: { readonly kind: Kind; readonly as?: string; readonly to?: string },
): Promise<Answer> =>
  ask(`${method} /v1/${as === 'operator' ? 'admin/' : ''}${kind}s/a.one/copy-grants/${to}`, { as });

const ofVolume: VolumeSource = { kind: 'volume', volumeId: 'a.one' };
const ofSnapshot: VolumeSource = { kind: 'snapshot', snapshotId: 'a.one' };
const sources = { volume: ofVolume, snapshot: ofSnapshot } as const;

const copy = (
  { volumes }: Pick<Gateway, 'volumes'>,
  id: string,
  { by = b, ...spec }: Partial<VolumeSpec> & { readonly by?: Cluster },
) => volumes.create(by, id, volumeSpec(id.slice(2), spec));

const bodies: Readonly<Partial<Record<OperationId, unknown>>> = {
  createVolume: volumeSpec('one'),
  validateVolume: { capabilities: [mounted] },
  expandVolume: { requiredBytes: 2 ** 21 },
  modifyVolume: { mutableParameters: {} },
  attachVolume: { capability: mounted, readonly: false },
  grantVolume: { access: 'read-only' },
  createSnapshot: { name: 'one', volumeId: 'a.one' },
  createGroup: { name: 'one', volumeIds: ['a.one'] },
};
/** The routes that answer a cluster that was granted copies otherwise than any other cluster. */
const opened: Readonly<Partial<Record<OperationId, number>>> = { getSnapshot: 200, deleteSnapshot: 409 };

for (const { id, route } of allOperations.filter(
  ({ tag, path }) => tag !== 'admin' && /\{(volume|snapshot|group)Id\}/.test(path),
))
  test(`to a cluster that was granted copies, ${id} ${id in opened ? 'shows the snapshot or its owner' : 'answers as to any other cluster'}`, async t => {
    const gateway = await open(t);
    for (const kind of kinds) assert.equal((await change(gateway, 'PUT', { kind })).status, 200);
    await gateway.nodes.put(b, 'n1', {});
    const path = route.replace(/\{(volume|snapshot|group)Id\}/, 'a.one').replace('{nodeId}', 'n1');
    const ask = async (as: string) => {
      const { status, body } = await gateway.ask(path.replace('{grantee}', as), { as, body: bodies[id] });
      return { status, detail: body['detail'] };
    };
    const [granted, other] = [await ask('b'), await ask('any')];
    if (id in opened) assert.equal(granted.status, opened[id]);
    else assert.deepEqual(granted, other);
    assert.ok([404, 204].includes(other.status), JSON.stringify(other));
  });

for (const [kind, source] of Object.entries(sources))
  test(`another cluster copies a granted ${kind} into its own volume, and needs no other right`, async t => {
    const gateway = await open(t);
    const bytes = crypto.getRandomValues(new Uint8Array(4_096));
    gateway.backend.write('a.one', 0, bytes);
    await gateway.snapshot('a.late', 'a.one');
    await assert.rejects(copy(gateway, 'b.new', { source }), { code: 'NOT_FOUND' });
    await change(gateway, 'PUT', { kind: kind as Kind });
    const { volume, created } = await copy(gateway, 'b.new', { source, requiredBytes: 2 ** 22 });
    assert.deepEqual([volume.id, volume.source, volume.sizeBytes, created], ['b.new', source, 2 ** 22, true]);
    if (kind === 'volume') assert.deepEqual(gateway.backend.read('b.new', 0, bytes.length), bytes);
    const late: VolumeSource = { kind: 'snapshot', snapshotId: 'a.late' };
    await assert.rejects(copy(gateway, 'b.late', { source: late }), { code: 'NOT_FOUND' });
    for (const by of [any, { ...any, sharesFrom: ['a'] }])
      await assert.rejects(copy(gateway, 'any.new', { by, source }), { code: 'NOT_FOUND' });
    const own = (await gateway.volumes.list(b, { limit: 10 })).volumes.map(({ id }) => id);
    assert.deepEqual(own, ['b.new']);
  });

test('a copy counts in the quota of its own cluster, and goes only into a pool that this cluster may use', async t => {
  const gateway = await openGateway(t, { pools: ['fast', 'slow'] });
  await gateway.create('a.one', { parameters: { pool: 'fast' } });
  await change(gateway, 'PUT', { kind: 'volume' });
  const refused = (by: Cluster, code: string, detail: RegExp): Promise<void> =>
    assert.rejects(copy(gateway, 'b.new', { by, source: ofVolume }), { code, detail });
  await refused(
    { ...b, quota: { bytes: 2 ** 19 } },
    'RESOURCE_EXHAUSTED',
    /^the quota "bytes" of cluster "b" is /,
  );
  await refused(
    { ...b, pools: ['slow'] },
    'FAILED_PRECONDITION',
    /^cluster "b" may not use pool "fast", which has volume "a.one"$/,
  );
  const byPool = copy(gateway, 'b.new', { source: ofVolume, parameters: { pool: 'slow' } });
  await assert.rejects(byPool, { code: 'INVALID_ARGUMENT', detail: /copies cannot be in pool "slow"/ });
  const { volume } = await copy(gateway, 'b.new', { by: { ...b, quota: { volumes: 1 } }, source: ofVolume });
  assert.equal(volume.pool, 'fast');
});

test('a copy of an encrypted volume has its encryption', async t => {
  const gateway = await openGateway(t);
  const parameters = { encryption: 'luks' };
  await gateway.create('a.one', { parameters });
  await change(gateway, 'PUT', { kind: 'volume' });
  await assert.rejects(copy(gateway, 'b.new', { source: ofVolume }), { code: 'INVALID_ARGUMENT' });
  const { volume } = await copy(gateway, 'b.new', { source: ofVolume, parameters });
  assert.deepEqual(volume.parameters, parameters);
});

for (const [kind, source] of Object.entries(sources))
  test(`after the grant of a ${kind} is revoked no copy begins, and those that have begun are finished`, async t => {
    const gateway = await open(t);
    await change(gateway, 'PUT', { kind: kind as Kind });
    gateway.backend.failNext('create', 'before', unavailableProblem('injected'));
    await assert.rejects(copy(gateway, 'b.begun', { source }), { code: 'UNAVAILABLE' });
    for (let time = 0; time < 2; time++)
      assert.equal((await change(gateway, 'DELETE', { kind: kind as Kind })).status, 204);
    await assert.rejects(copy(gateway, 'b.new', { source }), { code: 'NOT_FOUND' });
    for (const created of [true, false])
      assert.equal((await copy(gateway, 'b.begun', { source })).created, created);
    const other = kind === 'volume' ? ofSnapshot : ofVolume;
    await assert.rejects(copy(gateway, 'b.begun', { source: other }), { code: 'NOT_FOUND' });
    const { body } = await gateway.ask('GET /v1/admin/audit-log?resource=a.one&limit=2', { as: 'operator' });
    assert.partialDeepStrictEqual(body['entries'], [
      { operation: 'revoke copies', about: 'b', actor: 'operator', code: 'OK' },
      { operation: 'grant copies', about: 'b', actor: 'operator', code: 'OK' },
    ]);
  });

test('a grant that is revoked between the check of a copy and its record begins no copy', async t => {
  let meanwhile: (() => Promise<unknown>) | undefined;
  const gateway = await open(t, {
    wrapEngine: (engine): Engine => ({
      ...engine,
      async transaction(work) {
        const between = meanwhile;
        meanwhile = undefined;
        await between?.();
        return engine.transaction(work);
      },
    }),
  });
  await change(gateway, 'PUT', { kind: 'snapshot' });
  const calls = gateway.backend.calls.length;
  meanwhile = () => change(gateway, 'DELETE', { kind: 'snapshot' });
  await assert.rejects(copy(gateway, 'b.new', { source: ofSnapshot }), { code: 'NOT_FOUND' });
  assert.ok(!gateway.backend.calls.slice(calls).includes('create'));
  assert.deepEqual(await gateway.engine.reader.all("select 1 from volumes where cluster = 'b'"), []);
});

test('copies granted by an owner need the consent of the other cluster, and those of an operator do not', async t => {
  const gateway = await open(t);
  for (const kind of kinds) {
    const byOwner = await change(gateway, 'PUT', { kind, as: 'a', to: 'any' });
    assert.deepEqual([byOwner.body['cluster'], byOwner.body['isAccepted']], ['any', false]);
    assert.equal((await change(gateway, 'PUT', { kind, as: 'a' })).body['isAccepted'], undefined);
  }
  const agreeing = { ...any, sharesFrom: ['a'] };
  for (const source of Object.values(sources)) {
    await assert.rejects(copy(gateway, 'any.new', { by: any, source }), { code: 'NOT_FOUND' });
    await copy(gateway, `any.${source.kind}`, { by: agreeing, source });
  }
  const byOperator = await change(gateway, 'PUT', { kind: 'volume', to: 'any' });
  assert.deepEqual(byOperator.body, { cluster: 'any', sources: ['a.one'] });
  await copy(gateway, 'any.new', { by: any, source: ofVolume });
});

test('only the owner and operators grant copies, to another cluster that exists, of something that is there', async t => {
  const gateway = await open(t);
  for (const kind of kinds) {
    await change(gateway, 'PUT', { kind });
    for (const method of ['PUT', 'DELETE'] as const)
      assertProblem(await change(gateway, method, { kind, as: 'b' }), 404, 'NOT_FOUND');
    for (const to of ['a', 'nobody'])
      assertProblem(await change(gateway, 'PUT', { kind, to }), 400, 'INVALID_ARGUMENT');
    const missing = await gateway.ask(`PUT /v1/admin/${kind}s/a.none/copy-grants/b`, { as: 'operator' });
    assertProblem(missing, 404, 'NOT_FOUND');
  }
});

test('the grant of a group is that of its members, which are shown without the group', async t => {
  const gateway = await openGateway(t, { volumes: ['one', 'two'] });
  const body = { name: 'one', volumeIds: ['a.one', 'a.two'] };
  const { body: group } = await gateway.ask('PUT /v1/groups/a.one', { body });
  const ids = (group as { readonly snapshots: readonly { readonly id: string }[] }).snapshots.map(
    ({ id }) => id,
  );
  assert.deepEqual((await change(gateway, 'PUT', { kind: 'group' })).body['sources'], ids);
  for (const snapshotId of ids) {
    const { groupId, owner } = await gateway.snapshots.get(b, snapshotId);
    assert.deepEqual([groupId, owner], [undefined, 'a']);
    await copy(gateway, `b.${snapshotId.slice(2)}`, { source: { kind: 'snapshot', snapshotId } });
  }
  assert.equal((await gateway.snapshots.get(a, ids[0] ?? '')).groupId, 'a.one');
  assertProblem(await gateway.ask('GET /v1/groups/a.one', { as: 'b' }), 404, 'NOT_FOUND');
  await change(gateway, 'DELETE', { kind: 'group' });
  for (const id of ids) await assert.rejects(gateway.snapshots.get(b, id), { code: 'NOT_FOUND' });
});

test('a granted source can be deleted: its grants end with it, and copies of it stay', async t => {
  const gateway = await open(t);
  for (const kind of kinds) await change(gateway, 'PUT', { kind });
  for (const source of Object.values(sources)) await copy(gateway, `b.${source.kind}`, { source });
  for (const kind of ['group', 'snapshot', 'volume'] as const)
    assert.equal((await gateway.ask(`DELETE /v1/${kind}s/a.one`)).status, 204);
  assert.deepEqual(await gateway.engine.reader.all('select * from copy_grants'), []);
  const left = (await gateway.volumes.list(b, { limit: 10 })).volumes.map(({ id, state }) => [id, state]);
  assert.deepEqual(left, [
    ['b.snapshot', 'ready'],
    ['b.volume', 'ready'],
  ]);
  await gateway.create('a.one');
  await gateway.snapshot('a.one', 'a.one');
  for (const source of Object.values(sources))
    await assert.rejects(copy(gateway, 'b.new', { source }), { code: 'NOT_FOUND' });
});

test('a source is not deleted while another cluster still copies it', async t => {
  const gateway = await open(t);
  await change(gateway, 'PUT', { kind: 'snapshot' });
  gateway.backend.failNext('create', 'before', unavailableProblem('injected'));
  await assert.rejects(copy(gateway, 'b.begun', { source: ofSnapshot }), { code: 'UNAVAILABLE' });
  const refused = await gateway.ask('DELETE /v1/snapshots/a.one');
  assertProblem(refused, 409, 'FAILED_PRECONDITION');
  assert.match(String(refused.body['detail']), /volume "b.begun" is being created from it$/);
});

test('a soft-deleted volume is not copied, and its grants are valid again once it is restored', async t => {
  const gateway = await openGateway(t, { volumes: ['one'], keepDeletedMs: hour });
  await change(gateway, 'PUT', { kind: 'volume' });
  await gateway.volumes.delete(a, 'a.one');
  await assert.rejects(copy(gateway, 'b.new', { source: ofVolume }), { code: 'NOT_FOUND' });
  assertProblem(await change(gateway, 'PUT', { kind: 'volume', to: 'any' }), 404, 'NOT_FOUND');
  await gateway.ask('PUT /v1/admin/deleted-volumes/a.one/restore', { as: 'operator' });
  await copy(gateway, 'b.new', { source: ofVolume });
});

test('a transferred volume loses the grants of its former owner', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  await change(gateway, 'PUT', { kind: 'volume', to: 'any' });
  const body = { cluster: 'b' };
  const { status } = await gateway.ask('PUT /v1/admin/volumes/a.one/owner', { as: 'operator', body });
  assert.equal(status, 200);
  assert.deepEqual(await gateway.engine.reader.all('select * from copy_grants'), []);
});

test('a volume that is shared for attachments alone is not copied, and the answer names its owner', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  await gateway.ask('PUT /v1/volumes/a.one/grants/b', { body: { access: 'read-write' } });
  const refused = { code: 'FAILED_PRECONDITION', detail: /^volume "a.one" belongs to cluster "a"/ };
  await assert.rejects(copy(gateway, 'b.new', { source: ofVolume }), refused);
  await change(gateway, 'PUT', { kind: 'volume' });
  await copy(gateway, 'b.new', { source: ofVolume });
});

test('the copies of a source are granted to a limited number of clusters', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  const { max } = limits.grantsPerVolume;
  await gateway.engine.transaction(async sql => {
    for (let index = 0; index < max; index++)
      await copyGrantTable.add(sql, {
        cluster: `c${index}`,
        kind: 'volume',
        id: 'a.one',
        byOperator: false,
      });
  });
  assertProblem(await change(gateway, 'PUT', { kind: 'volume' }), 507, 'RESOURCE_EXHAUSTED');
});

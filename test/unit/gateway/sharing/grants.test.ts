import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Engine, Reader, Sql } from '../../../../gateway/store.ts';
import { grantTable, listGrants } from '../../../../gateway/tables/grants.ts';
import type { Cluster } from '../../../../gateway/callers/cluster.ts';
import { preconditionProblem } from '../../../../src/api/problem.ts';
import type { Capability } from '../../../../src/api/storage.ts';
import type { Volume } from '../../../../src/api/volume.ts';
import {
  assertProblem,
  clusters,
  openGateway,
  mounted,
  volumeSpec,
  type Answer,
  type Gateway,
} from '../../../harness/gateway.ts';

const { a, b } = clusters;
const reading: Capability = { accessType: 'mount', accessMode: 'MULTI_NODE_READER_ONLY' };
const sharedWriting: Capability = { accessType: 'block', accessMode: 'MULTI_NODE_MULTI_WRITER' };
const grants = '/v1/volumes/a.one/grants';

type Access = 'read-only' | 'read-write';

/** Opens a gateway with the volume `a.one`, shared with `b`; each cluster has reported a node `n1`. */
async function openShared(t: TestContext, access: Access = 'read-write') {
  const gateway = await openGateway(t, { volumes: ['one'] });
  for (const cluster of [a, b]) await gateway.nodes.put(cluster, 'n1', {});
  assert.equal((await gateway.ask(`PUT ${grants}/b`, { body: { access } })).status, 200);
  return gateway;
}

const attach = (
  { attachments }: Pick<Gateway, 'attachments'>,
  cluster: typeof a | typeof b,
  capability: Capability = mounted,
) =>
  attachments.attach(
    { cluster, volumeId: 'a.one', nodeId: 'n1' },
    { capability, readonly: capability === reading },
  );
const detach = ({ attachments }: Pick<Gateway, 'attachments'>, cluster: typeof a | typeof b) =>
  attachments.detach({ cluster, volumeId: 'a.one', nodeId: 'n1' });

test('a grantee lists the volume with its owner, gets it and can validate it; no other cluster does', async t => {
  const { create, ask, volumes } = await openShared(t, 'read-only');
  await create('b.own');
  const shown = (await volumes.list(b, { limit: 10 })).volumes;
  assert.deepEqual(
    shown.map(({ id, owner, access, grants: of }) => ({ id, owner, access, of })),
    [
      { id: 'a.one', owner: 'a', access: 'read-only', of: undefined },
      { id: 'b.own', owner: undefined, access: undefined, of: undefined },
    ],
  );
  assert.deepEqual(await volumes.get(b, 'a.one'), shown[0]);
  assert.deepEqual((await volumes.get(a, 'a.one')).grants, [{ cluster: 'b', access: 'read-only' }]);
  assert.deepEqual((await volumes.list(a, { limit: 10 })).volumes[0]?.grants?.length, 1);
  const confirmed = async (capability: Capability): Promise<boolean> =>
    (await volumes.validate(b, 'a.one', { capabilities: [capability] })).confirmed;
  assert.deepEqual([await confirmed(reading), await confirmed(mounted)], [true, false]);
  assertProblem(await ask('GET /v1/volumes/a.one', { as: 'any' }), 404, 'NOT_FOUND');
});

test('pages contain shared and own volumes, by id', async t => {
  const { create, volumes } = await openShared(t);
  for (const name of ['one', 'two']) await create(`b.${name}`);
  const ids: string[] = [];
  for (let pageToken: string | undefined; ;) {
    const page = await volumes.list(b, { limit: 1, pageToken });
    ids.push(...page.volumes.map(({ id }: Volume) => id));
    pageToken = page.nextPageToken;
    if (pageToken === undefined) break;
  }
  assert.deepEqual(ids, ['a.one', 'b.one', 'b.two']);
});

const forbidden: readonly (readonly [route: string, body?: unknown])[] = [
  ['DELETE /v1/volumes/a.one'],
  ['PUT /v1/volumes/a.one/size', { requiredBytes: 2 ** 21 }],
  ['PUT /v1/volumes/a.one/parameters', { mutableParameters: { tier: 'fast' } }],
  ['PUT /v1/snapshots/b.cut', { name: 'cut', volumeId: 'a.one' }],
  ['PUT /v1/groups/b.cut', { name: 'cut', volumeIds: ['a.one'] }],
  ['PUT /v1/volumes/b.copy', volumeSpec('copy', { source: { kind: 'volume', volumeId: 'a.one' } })],
  ['PUT /v1/volumes/a.one/grants/any', { access: 'read-only' }],
  ['DELETE /v1/volumes/a.one/grants/any'],
];
for (const [route, body] of forbidden)
  test(`a grantee may not call ${route}, and learns the owner`, async t => {
    const gateway = await openShared(t);
    const calls = gateway.backend.calls.length;
    const refused = await gateway.ask(route, { as: 'b', body });
    assertProblem(refused, 409, 'FAILED_PRECONDITION');
    assert.match(String(refused.body['detail']), /^volume "a\.one" belongs to cluster "a"/);
    assert.equal(gateway.backend.calls.length, calls);
  });

test('a read-only grantee attaches the volume only read-only', async t => {
  const gateway = await openShared(t, 'read-only');
  const readOnly = /^volume "a\.one" is shared with cluster "b" read-only; attach it read-only$/;
  await assert.rejects(attach(gateway, b), { code: 'FAILED_PRECONDITION', detail: readOnly });
  const { attachment } = await attach(gateway, b, reading);
  assert.deepEqual([attachment.state, attachment.readonly], ['attached', true]);
  assert.equal(
    (await gateway.attachments.get({ cluster: b, volumeId: 'a.one', nodeId: 'n1' })).state,
    'attached',
  );
});

test('a volume for one writer is attached to one node over all clusters, even if both use the same node name', async t => {
  const gateway = await openShared(t);
  await attach(gateway, a);
  const held = /^volume "a\.one" is attached to node "n1" of cluster "a"$/;
  await assert.rejects(attach(gateway, b), { code: 'FAILED_PRECONDITION', detail: held });
  await detach(gateway, b);
  assert.equal((await gateway.volumes.get(a, 'a.one')).attachments.length, 1);
  assert.deepEqual((await gateway.volumes.get(b, 'a.one')).attachments, []);
  await detach(gateway, a);
  await attach(gateway, b);
  await assert.rejects(attach(gateway, a), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual((await gateway.volumes.get(a, 'a.one')).attachments, []);
  assert.equal((await gateway.volumes.get(b, 'a.one')).attachments.length, 1);
});

test('one of two clusters that attach at once wins, at any gateway', async t => {
  const gateway = await openShared(t);
  const replica = await gateway.replica();
  for (let round = 0; round < 10; round++) {
    const outcomes = await Promise.allSettled([attach(gateway, a), attach(replica, b)]);
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    const rows = await gateway.engine.reader.all('select cluster from attachments');
    assert.equal(rows.length, 1);
    await detach(gateway, a);
    await detach(gateway, b);
  }
});

test("the storage gets the node's cluster, and so detaches only that node", async t => {
  const seen: unknown[] = [];
  const gateway = await openGateway(t, {
    own: memory => ({
      async attach(volume, access) {
        seen.push(['attach', access.nodeId, access.cluster]);
        return memory.attach(volume, access);
      },
      async detach({ id }, ...node) {
        seen.push(['detach', id, ...node]);
      },
    }),
  });
  const { create, volumes, nodes, sharing } = gateway;
  await create('a.one', { capabilities: [sharedWriting] });
  for (const cluster of [a, b]) await nodes.put(cluster, 'n1', {});
  await sharing.grant({ volumeId: 'a.one', grantee: 'b' }, { access: 'read-write' });
  for (const cluster of [a, b]) await attach(gateway, cluster, sharedWriting);
  await detach(gateway, b);
  assert.deepEqual(seen, [
    ['attach', 'n1', 'a'],
    ['attach', 'n1', 'b'],
    ['detach', 'a.one', 'n1', 'b'],
  ]);
  assert.equal((await volumes.get(a, 'a.one')).attachments.length, 1);
});

test('the owner cannot delete a volume that is shared, or attached elsewhere, and learns who holds it', async t => {
  const gateway = await openShared(t);
  const refused = async (detail: RegExp): Promise<void> =>
    assert.rejects(gateway.volumes.delete(a, 'a.one'), { code: 'FAILED_PRECONDITION', detail });
  await refused(/^volume "a\.one" is shared with cluster "b"/);
  await attach(gateway, b);
  await refused(/^volume "a\.one" is attached to node "n1" of cluster "b"$/);
  await detach(gateway, b);
  assert.equal((await gateway.ask(`DELETE ${grants}/b`)).status, 204);
  await gateway.volumes.delete(a, 'a.one');
});

test('a grant is revoked or reduced only while it is unused, and then nothing of it is left', async t => {
  const gateway = await openShared(t);
  const { ask } = gateway;
  await attach(gateway, b);
  for (const route of [`DELETE ${grants}/b`, 'DELETE /v1/admin/volumes/a.one/grants/b'])
    assertProblem(
      await ask(route, { as: route.includes('admin') ? 'operator' : 'a' }),
      409,
      'FAILED_PRECONDITION',
    );
  const narrowed = await ask(`PUT ${grants}/b`, { body: { access: 'read-only' } });
  assertProblem(narrowed, 409, 'FAILED_PRECONDITION');
  assert.match(String(narrowed.body['detail']), /node "n1" of cluster "b" for writing/);
  await detach(gateway, b);
  for (let time = 0; time < 2; time++) assert.equal((await ask(`DELETE ${grants}/b`)).status, 204);
  assert.deepEqual((await gateway.volumes.list(b, { limit: 10 })).volumes, []);
  await assert.rejects(attach(gateway, b), { code: 'NOT_FOUND' });
  assert.equal((await gateway.volumes.get(a, 'a.one')).grants, undefined);
});

const force = (gateway: Pick<Gateway, 'ask'>): Promise<Answer> =>
  gateway.ask('DELETE /v1/admin/volumes/a.one/grants/b?force=true', { as: 'operator' });

test('an operator revokes by force: the nodes are shut out first, and none is admitted meanwhile', async t => {
  const gateway = await openShared(t);
  await attach(gateway, b);
  const resume = gateway.backend.hold('detach');
  const revoked = force(gateway);
  await gateway.backend.entered('detach');
  const node = { cluster: b, volumeId: 'a.one', nodeId: 'n1' };
  await assert.rejects(attach(gateway, b), { code: 'ABORTED' });
  assert.equal((await gateway.attachments.get(node)).state, 'detaching');
  resume();
  assert.equal((await revoked).status, 204);
  await assert.rejects(gateway.attachments.get(node), { code: 'NOT_FOUND' });
  await gateway.volumes.delete(a, 'a.one');
});

test("a volume's owner cannot be revoked, even by force", async t => {
  const gateway = await openShared(t);
  await attach(gateway, a);
  for (const route of [`DELETE ${grants}/a`, 'DELETE /v1/admin/volumes/a.one/grants/a?force=true']) {
    const answer = await gateway.ask(route, { as: route.includes('admin') ? 'operator' : 'a' });
    assertProblem(answer, 400, 'INVALID_ARGUMENT');
  }
  const node = { cluster: a, volumeId: 'a.one', nodeId: 'n1' };
  assert.equal((await gateway.attachments.get(node)).state, 'attached');
});

test('a volume whose nodes cannot be shut out stays attached and shared, and the operator learns that', async t => {
  const gateway = await openShared(t);
  await attach(gateway, b);
  gateway.backend.failNext('detach', 'before', preconditionProblem('in use (injected)'));
  assertProblem(await force(gateway), 409, 'FAILED_PRECONDITION');
  const { access, attachments } = await gateway.volumes.get(b, 'a.one');
  assert.deepEqual([access, attachments.length], ['read-write', 1]);
  assert.equal((await force(gateway)).status, 204);
});

test('an operator shares any volume, but only with existing clusters, and not with its owner', async t => {
  const gateway = await openShared(t);
  const shareAny = (cluster: string): Promise<Answer> =>
    gateway.ask(`PUT /v1/admin/volumes/a.one/grants/${cluster}`, {
      as: 'operator',
      body: { access: 'read-only' },
    });
  assert.equal((await shareAny('any')).status, 200);
  for (const cluster of ['nobody', 'a']) assertProblem(await shareAny(cluster), 400, 'INVALID_ARGUMENT');
  const { body } = await gateway.ask('GET /v1/admin/audit-log?resource=a.one&limit=3', { as: 'operator' });
  assert.partialDeepStrictEqual(body['entries'], [
    { operation: 'grant read-only', about: 'a', actor: 'operator', code: 'INVALID_ARGUMENT' },
    { operation: 'grant', about: 'nobody', actor: 'operator', code: 'INVALID_ARGUMENT' },
    { operation: 'grant read-only', about: 'any', actor: 'operator', code: 'OK' },
  ]);
});

const { any } = clusters;
const listOf = async ({ volumes }: Pick<Gateway, 'volumes'>, cluster: Cluster): Promise<readonly string[]> =>
  (await volumes.list(cluster, { limit: 100 })).volumes.map(({ id }) => id);
const share = ({ ask }: Pick<Gateway, 'ask'>, as: 'a' | 'operator', grantee = 'any'): Promise<Answer> =>
  ask(`PUT /v1/${as === 'a' ? '' : 'admin/'}volumes/a.one/grants/${grantee}`, {
    as,
    body: { access: 'read-write' },
  });

test('a cluster neither lists, gets nor attaches a volume that it has not agreed to, and the owner sees that', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  const { ask, volumes } = gateway;
  const { status, body } = await share(gateway, 'a');
  assert.deepEqual([status, body['isAccepted']], [200, false]);
  assert.deepEqual(await listOf(gateway, any), []);
  const spec = { capability: mounted, readonly: false };
  for (const [route, given] of [
    ['GET /v1/volumes/a.one'],
    ['POST /v1/volumes/a.one/validate', { capabilities: [mounted] }],
    ['PUT /v1/volumes/a.one/attachments/n1', spec],
    ['PUT /v1/snapshots/any.cut', { name: 'cut', volumeId: 'a.one' }],
  ] as const)
    assertProblem(await ask(route, { as: 'any', body: given }), 404, 'NOT_FOUND');
  assert.deepEqual((await volumes.get(a, 'a.one')).grants, [
    { cluster: 'any', access: 'read-write', isAccepted: false },
  ]);
  const agreeing = { ...any, sharesFrom: ['b', 'a'] };
  assert.deepEqual(await listOf(gateway, agreeing), ['a.one']);
  await gateway.attachments.attach({ cluster: agreeing, volumeId: 'a.one', nodeId: 'n1' }, spec);
  assert.deepEqual(await listOf(gateway, { ...any, sharesFrom: ['b'] }), []);
});

test('a cluster that withdraws its agreement keeps its attachments, detaches them, and attaches nothing anew', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  await share(gateway, 'a');
  const node = { volumeId: 'a.one', nodeId: 'n1' };
  const spec = { capability: mounted, readonly: false };
  await gateway.attachments.attach({ ...node, cluster: { ...any, sharesFrom: ['a'] } }, spec);
  await assert.rejects(gateway.volumes.get(any, 'a.one'), { code: 'NOT_FOUND' });
  const count = async (): Promise<number> =>
    (await gateway.engine.reader.all("select 1 from attachments where cluster = 'any'")).length;
  assert.equal(await count(), 1);
  await gateway.attachments.detach({ ...node, cluster: any });
  assert.equal(await count(), 0);
  await assert.rejects(gateway.attachments.attach({ ...node, cluster: any }, spec), { code: 'NOT_FOUND' });
});

test("an operator's grant needs no agreement, until its owner revokes it", async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  await share(gateway, 'a');
  assert.equal((await share(gateway, 'operator')).body['isAccepted'], undefined);
  assert.deepEqual(await listOf(gateway, any), ['a.one']);
  await gateway.ask(`PUT ${grants}/any`, { body: { access: 'read-only' } });
  assert.deepEqual(await listOf(gateway, any), ['a.one']);
  assert.equal((await gateway.ask(`DELETE ${grants}/any`)).status, 204);
  assert.equal((await share(gateway, 'a')).body['isAccepted'], false);
  assert.deepEqual(await listOf(gateway, any), []);
});

test('a cluster leaves its own share, agreed to or not, and no other one', async t => {
  const gateway = await openShared(t);
  const { ask } = gateway;
  await share(gateway, 'a');
  const leave = (as: string, of = as): Promise<Answer> => ask(`DELETE ${grants}/${of}`, { as });
  assertProblem(await leave('b', 'any'), 409, 'FAILED_PRECONDITION');
  assertProblem(await leave('any', 'b'), 404, 'NOT_FOUND');
  await attach(gateway, b);
  assertProblem(await leave('b'), 409, 'FAILED_PRECONDITION');
  await detach(gateway, b);
  for (let time = 0; time < 2; time++)
    for (const cluster of ['b', 'any']) assert.equal((await leave(cluster)).status, 204);
  assert.equal((await gateway.volumes.get(a, 'a.one')).grants, undefined);
  assert.deepEqual(await listOf(gateway, b), []);
  const unknown = await ask('DELETE /v1/volumes/a.none/grants/b', { as: 'b' });
  assert.equal(unknown.status, 204);
  const { body } = await ask('GET /v1/admin/audit-log?resource=a.one&limit=2', { as: 'operator' });
  assert.partialDeepStrictEqual(body['entries'], [
    { operation: 'revoke', actor: 'any', about: 'any', code: 'OK' },
    { operation: 'revoke', actor: 'b', about: 'b', code: 'OK' },
  ]);
});

test('a volume is shared only with existing clusters', async t => {
  const gateway = await openShared(t);
  for (const name of ['nobody', 'constructor', 'No-Name'])
    assertProblem(await share(gateway, 'a', name), 400, 'INVALID_ARGUMENT');
});

test("thousands of a stranger's grants cost a cluster no time and no place in its list", async t => {
  const gateway = await openGateway(t);
  for (const name of ['x', 'y']) await gateway.create(`any.${name}`);
  const reads: string[] = [];
  await gateway.engine.transaction(async sql => {
    for (let index = 0; index < 2_057; index++)
      await grantTable.add(sql, {
        cluster: 'any',
        volumeId: `a.v${index}`,
        access: 'read-only',
        revoking: false,
        byOperator: false,
      });
  });
  const reader: Reader = {
    async all(...query) {
      const rows = await gateway.engine.reader.all(...query);
      if (query[0].includes('from grants')) reads.push(...rows.map(({ volume_id: id }) => String(id)));
      return rows;
    },
  };
  const own = { cluster: 'any', afterId: '', limit: 50 };
  assert.deepEqual(await listGrants(reader, { ...own, sharesFrom: ['b', 'c'] }), []);
  assert.deepEqual(reads, []);
  const ofA = await listGrants(reader, { ...own, sharesFrom: ['a', 'b', 'a'] });
  assert.equal(new Set(ofA.map(({ volumeId }) => volumeId)).size, 50);
  assert.equal(reads.length, 50);
  assert.deepEqual(await listOf(gateway, any), ['any.x', 'any.y']);
});

test("an owner's grant stays the owner's when it is revoked between two runs of its transaction", async t => {
  let meanwhile: (() => Promise<unknown>) | undefined;
  const undone = new Error('undone');
  const runTwice = (engine: Engine): Engine => ({
    ...engine,
    async transaction(work) {
      const between = meanwhile;
      meanwhile = undefined;
      const undo = async (sql: Sql): Promise<void> => {
        await work(sql);
        throw undone;
      };
      if (between) await assert.rejects(engine.transaction(undo), undone);
      await between?.();
      return engine.transaction(work);
    },
  });
  const { create, ask } = await openGateway(t, { wrapEngine: runTwice });
  await create('a.one');
  const asOperator = { as: 'operator', body: { access: 'read-only' } };
  assert.equal((await ask('PUT /v1/admin/volumes/a.one/grants/any', asOperator)).status, 200);
  meanwhile = () => ask('DELETE /v1/admin/volumes/a.one/grants/any', { as: 'operator' });
  const { body } = await ask(`PUT ${grants}/any`, { body: { access: 'read-write' } });
  assert.equal(body['isAccepted'], false);
  assertProblem(await ask('GET /v1/volumes/a.one', { as: 'any' }), 404, 'NOT_FOUND');
});

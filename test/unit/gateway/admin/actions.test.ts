import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createActions } from '../../../../gateway/admin/actions.ts';
import { attachmentTable } from '../../../../gateway/tables/attachments.ts';
import { preconditionProblem } from '../../../../src/api/problem.ts';
import {
  assertProblem,
  clusters,
  endClaims,
  openGateway,
  type Answer,
  type Gateway,
} from '../../../harness/gateway.ts';
import { hour, snapshotsIn, volumesIn } from '../../../harness/gateway/fixtures.ts';

const { a, b } = clusters;
const shared = { capability: { accessType: 'block', accessMode: 'MULTI_NODE_MULTI_WRITER' } } as const;
const points = ['before-intent', 'after-intent', 'after-commit', 'before-answer'] as const;

const ask = (gateway: Pick<Gateway, 'ask'>, action: string, body: object = {}): Promise<Answer> =>
  gateway.ask(`PUT /v1/admin/volumes/a.one/${action}`, { as: 'operator', body });

/** Opens a gateway with the volume `a.one`, attached to `n1` and `n2` of a. Cluster a has deleted `n2`. */
async function openAttached(t: TestContext) {
  const gateway = await openGateway(t, { volumes: ['one'], nodes: ['n1', 'n2'] });
  for (const nodeId of ['n1', 'n2']) await gateway.attach('a.one', nodeId, shared);
  await assert.rejects(gateway.nodes.delete(a, 'n2'), { code: 'FAILED_PRECONDITION' });
  gateway.backend.calls.length = 0;
  return gateway;
}

const nodesOf = ({ body }: Answer): readonly string[] =>
  (body['attachments'] as { nodeId: string }[]).map(({ nodeId }) => nodeId);

async function attachedTo({ engine }: Pick<Gateway, 'engine'>): Promise<readonly string[]> {
  const rows = await engine.reader.all('select cluster, node_id from attachments order by cluster, node_id');
  return rows.map(row => `${row.cluster}/${row.node_id}`);
}

async function logged({ engine }: Pick<Gateway, 'engine'>, operation: string): Promise<readonly string[]> {
  const query = "select about, code from audit_log where actor = 'operator' and operation = ? order by id";
  return (await engine.reader.all(query, operation)).map(({ about, code }) => `${about ?? ''} ${code}`);
}

test('an operator detaches a volume from a node that is gone, and by force from one that its cluster reports', async t => {
  const gateway = await openAttached(t);
  assert.deepEqual(nodesOf(await ask(gateway, 'detachment', { nodeId: 'n2' })), ['n2']);
  const refused = await ask(gateway, 'detachment', { nodeId: 'n1' });
  assertProblem(refused, 409, 'FAILED_PRECONDITION');
  assert.match(String(refused.body['detail']), /node "n1", which cluster "a" still reports; delete the pods/);
  assert.deepEqual(await attachedTo(gateway), ['a/n1']);
  assert.deepEqual(nodesOf(await ask(gateway, 'detachment', { nodeId: 'n1', force: true })), ['n1']);
  assert.deepEqual(gateway.backend.calls, ['detach a.one', 'detach a.one']);
  assert.deepEqual(await attachedTo(gateway), []);
  assert.deepEqual(nodesOf(await ask(gateway, 'detachment')), []);
  assert.deepEqual(await logged(gateway, 'detach'), ['n2 OK', 'n1 FAILED_PRECONDITION', 'n1 OK']);
});

test('a node that its cluster wants to delete needs no force', async t => {
  const gateway = await openAttached(t);
  await assert.rejects(gateway.nodes.delete(a, 'n1'), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(nodesOf(await ask(gateway, 'detachment')), ['n1', 'n2']);
  await gateway.nodes.delete(a, 'n1');
});

test('a node that its cluster never reported may still run, so a detachment needs force', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  await gateway.attach('a.one', 'n9', shared);
  const refused = await ask(gateway, 'detachment');
  assertProblem(refused, 409, 'FAILED_PRECONDITION');
  assert.match(
    String(refused.body['detail']),
    /"n9", which cluster "a" does not report, so it may still run;/,
  );
  assert.deepEqual(await attachedTo(gateway), ['a/n9']);
  assert.deepEqual(nodesOf(await ask(gateway, 'detachment', { force: true })), ['n9']);
});

test('a node that comes back while a detachment runs keeps the volume', async t => {
  const gateway = await openAttached(t);
  await assert.rejects(gateway.nodes.delete(a, 'n1'), { code: 'FAILED_PRECONDITION' });
  let isBack = false;
  const { detach } = gateway.backend;
  gateway.backend.detach = async (...asked) => {
    if (!isBack) await gateway.nodes.put(a, 'n2', {});
    isBack = true;
    return detach(...asked);
  };
  assertProblem(await ask(gateway, 'detachment'), 409, 'FAILED_PRECONDITION');
  assert.deepEqual(await attachedTo(gateway), ['a/n2']);
});

test('in a pool that cannot cut a node off, a detachment needs force and says that the node may still write', async t => {
  const gateway = await openAttached(t);
  const ofCutOff = await ask(gateway, 'detachment', { nodeId: 'n1', force: true, dryRun: true });
  assert.equal(ofCutOff.body['isCutOff'], true);
  Object.assign(gateway.backend, { cannotCutOff: true });
  const refused = await ask(gateway, 'detachment', { nodeId: 'n2' });
  assertProblem(refused, 409, 'FAILED_PRECONDITION');
  assert.match(
    String(refused.body['detail']),
    /^pool "main" cannot cut node "n2" off from volume "a\.one"; once/,
  );
  assert.deepEqual(gateway.backend.calls, []);
  const { body } = await ask(gateway, 'detachment', { nodeId: 'n2', force: true });
  assert.equal(body['isCutOff'], false);
  assert.deepEqual(await attachedTo(gateway), ['a/n1']);
});

const askNode = (gateway: Gateway, nodeId: string, body: object = {}): Promise<Answer> =>
  gateway.ask(`PUT /v1/admin/nodes/a/${nodeId}/detachment`, { as: 'operator', body });

test('an operator detaches a node that its cluster has deleted, sees the effect first, and any other one only by force', async t => {
  const gateway = await openAttached(t);
  const shown = {
    attachments: [{ volumeId: 'a.one', state: 'attached', readonly: false }],
    total: 1,
    isCutOff: true,
  };
  assert.deepEqual((await askNode(gateway, 'n2', { dryRun: true })).body, shown);
  for (const dryRun of [true, false]) {
    const refused = await askNode(gateway, 'n1', { dryRun });
    assertProblem(refused, 409, 'FAILED_PRECONDITION');
    assert.match(
      String(refused.body['detail']),
      /node "n1", which cluster "a" still reports; delete the pods/,
    );
  }
  assert.deepEqual(gateway.backend.calls, []);
  assert.deepEqual(await attachedTo(gateway), ['a/n1', 'a/n2']);
  assert.deepEqual((await askNode(gateway, 'n2')).body, shown);
  assert.deepEqual((await askNode(gateway, 'n1', { force: true })).body, shown);
  assert.deepEqual(await attachedTo(gateway), []);
  assert.deepEqual((await askNode(gateway, 'n1')).body, { attachments: [], total: 0, isCutOff: true });
});

test('in a pool that cannot cut a node off, the detachment of a node needs force and says that it may still write', async t => {
  const gateway = await openAttached(t);
  Object.assign(gateway.backend, { cannotCutOff: true });
  const refused = await askNode(gateway, 'n2');
  assertProblem(refused, 409, 'FAILED_PRECONDITION');
  assert.match(
    String(refused.body['detail']),
    /^pool "main" cannot cut node "n2" off from volume "a\.one"; once/,
  );
  assert.deepEqual(gateway.backend.calls, []);
  for (const dryRun of [true, false])
    assert.equal((await askNode(gateway, 'n2', { force: true, dryRun })).body['isCutOff'], false);
  assert.deepEqual(await attachedTo(gateway), ['a/n1']);
});

test('a forced detachment leaves a volume that was attached again meanwhile, and says so', async t => {
  const gateway = await openAttached(t);
  const n2 = { cluster: a, volumeId: 'a.one', nodeId: 'n2' };
  let isBack = false;
  const { detach } = gateway.backend;
  gateway.backend.detach = async (...asked) => {
    await detach(...asked);
    if (isBack) return;
    isBack = true;
    // Stands for another gateway, because the volume is busy here.
    await gateway.engine.transaction(async sql => {
      await attachmentTable.update(sql, { ...n2, cluster: 'a' }, { attachmentId: 'newer' });
    });
  };
  const refused = await ask(gateway, 'detachment', { force: true });
  assertProblem(refused, 409, 'ABORTED');
  assert.match(String(refused.body['detail']), /was attached to node "n2" again meanwhile; try again$/);
  assert.deepEqual(await attachedTo(gateway), ['a/n2']);
});

test('a detachment from all nodes is refused before any node is detached', async t => {
  const gateway = await openAttached(t);
  assertProblem(await ask(gateway, 'detachment'), 409, 'FAILED_PRECONDITION');
  assert.deepEqual(gateway.backend.calls, []);
  assert.deepEqual(nodesOf(await ask(gateway, 'detachment', { force: true, dryRun: true })), ['n1', 'n2']);
  assert.deepEqual(await attachedTo(gateway), ['a/n1', 'a/n2']);
  assert.deepEqual(gateway.backend.calls, []);
  assert.deepEqual(nodesOf(await ask(gateway, 'detachment', { force: true })), ['n1', 'n2']);
  const ofMissing = { as: 'operator', body: {} };
  const missing = await gateway.ask('PUT /v1/admin/volumes/a.none/detachment', ofMissing);
  assertProblem(missing, 404, 'NOT_FOUND');
});

test("a detachment from one cluster's nodes leaves the nodes of other clusters, and a name finds a node with a key", async t => {
  const gateway = await openAttached(t);
  const key = `n1~${'k'.repeat(43)}`;
  await gateway.sharing.grant({ volumeId: 'a.one', grantee: 'b' }, { access: 'read-write' });
  const ofB = { cluster: { ...b, acceptAnyNode: true }, volumeId: 'a.one', nodeId: key };
  await gateway.attachments
    .attach(ofB, { ...shared, readonly: false })
    .catch(() => assert.fail('a node with a key must be valid'));
  assert.deepEqual(nodesOf(await ask(gateway, 'detachment', { cluster: 'b', nodeId: 'n1', force: true })), [
    key,
  ]);
  assert.deepEqual(await attachedTo(gateway), ['a/n1', 'a/n2']);
});

test('force does not skip the proof: a node that the storage cannot shut out stays attached', async t => {
  const gateway = await openAttached(t);
  gateway.backend.failNext('detach', 'before', preconditionProblem('in use (injected)'));
  assertProblem(await ask(gateway, 'detachment', { nodeId: 'n1', force: true }), 409, 'FAILED_PRECONDITION');
  assert.deepEqual(await attachedTo(gateway), ['a/n1', 'a/n2']);
});

test('a gateway that dies at any point of a detachment leaves it to a sweep or to the next call', async t => {
  for (const point of points)
    for (const isSwept of [true, false]) {
      const gateway = await openAttached(t);
      const dying = await gateway.replica({
        checkpoint(step) {
          if (step.operation === 'detach' && step.point === point) throw new Error('the gateway died');
        },
      });
      assert.equal((await ask(dying, 'detachment', { nodeId: 'n1', force: true })).status, 503, point);
      await endClaims(gateway);
      if (isSwept) await gateway.recovery.sweep();
      const isNoted = point !== 'before-intent';
      if (isSwept && isNoted) assert.deepEqual(await attachedTo(gateway), ['a/n2'], point);
      // A detachment that has begun needs no force.
      const { status } = await ask(gateway, 'detachment', { nodeId: 'n1', force: !isNoted });
      assert.equal(status, 200, point);
      assert.deepEqual(await attachedTo(gateway), ['a/n2'], point);
    }
});

for (const [keepDeletedMs, outcome] of [
  [0, 'deleted'],
  [hour, 'soft-deleted'],
] as const)
  test(`an operator's deletion leaves a volume ${outcome} if deleted volumes are kept for ${keepDeletedMs} ms`, async t => {
    const gateway = await openGateway(t, { volumes: ['one'], keepDeletedMs });
    const planned = await ask(gateway, 'deletion', { dryRun: true });
    assert.deepEqual(planned.body, { outcome });
    assert.equal((await gateway.volumes.get(a, 'a.one')).state, 'ready');
    assert.deepEqual(await logged(gateway, 'delete'), []);
    const { body } = await ask(gateway, 'deletion');
    assert.equal(body['outcome'], outcome);
    assert.equal(body['restorableUntil'] === undefined, outcome === 'deleted');
    assert.deepEqual(await volumesIn(gateway.backend), outcome === 'deleted' ? [] : ['a.one']);
    assert.deepEqual(
      (await ask(gateway, 'deletion')).body,
      outcome === 'deleted' ? { outcome: 'missing' } : body,
    );
    assert.deepEqual(await logged(gateway, 'delete'), [' OK']);
  });

test('a volume that is attached or shared is not deleted, and a dry run says so too', async t => {
  const gateway = await openAttached(t);
  for (const dryRun of [true, false]) {
    const refused = await ask(gateway, 'deletion', { dryRun });
    assertProblem(refused, 409, 'FAILED_PRECONDITION');
    assert.match(String(refused.body['detail']), /is attached to node "n1", "n2"$/);
  }
  await ask(gateway, 'detachment', { force: true });
  await gateway.sharing.grant({ volumeId: 'a.one', grantee: 'b' }, { access: 'read-only' });
  for (const dryRun of [true, false])
    assertProblem(await ask(gateway, 'deletion', { dryRun }), 409, 'FAILED_PRECONDITION');
  assert.equal((await gateway.volumes.get(a, 'a.one')).state, 'ready');
});

test('a deletion of a volume that is transferred meanwhile is ABORTED and deletes nothing', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  const volumes: Gateway['volumes'] = {
    ...gateway.volumes,
    async delete(...asked) {
      const { status } = await ask(gateway, 'owner', { cluster: 'b' });
      assert.equal(status, 200);
      return gateway.volumes.delete(...asked);
    },
  };
  const { deleteAdminVolume } = createActions({ ...gateway, volumes });
  const detail = /was not deleted: it was transferred to cluster "b" meanwhile, as "b\.one"$/;
  await assert.rejects(deleteAdminVolume({ volumeId: 'a.one', body: { dryRun: false } }), {
    code: 'ABORTED',
    detail,
  });
  assert.deepEqual(await volumesIn(gateway.backend), ['a.one']);
  assert.equal((await gateway.volumes.get(b, 'b.one')).state, 'ready');
});

test('a gateway that dies at any point of a deletion leaves it to the next call', async t => {
  for (const point of points) {
    const gateway = await openGateway(t, { volumes: ['one'] });
    const dying = await gateway.replica({
      checkpoint(step) {
        if (step.operation === 'delete' && step.point === point) throw new Error('the gateway died');
      },
    });
    assert.equal((await ask(dying, 'deletion')).status, 503, point);
    await endClaims(gateway);
    assert.equal((await ask(gateway, 'deletion')).status, 200, point);
    assert.deepEqual(await volumesIn(gateway.backend), [], point);
    await assert.rejects(gateway.volumes.get(a, 'a.one'), { code: 'NOT_FOUND' });
  }
});

/** Opens a gateway with the snapshot `a.cut`, and the group `a.both` of `a.one` and `a.two`. */
async function openCut(t: TestContext) {
  const gateway = await openGateway(t, { volumes: ['one', 'two'] });
  await gateway.snapshot('a.cut', 'a.one');
  const { group } = await gateway.groups.create(a, 'a.both', { name: 'both', volumeIds: ['a.one', 'a.two'] });
  return { gateway, members: group.snapshots.map(({ id }) => id) };
}

const askDeletion = (gateway: Gateway, of: string, dryRun = false): Promise<Answer> =>
  gateway.ask(`PUT /v1/admin/${of}/deletion`, { as: 'operator', body: { dryRun } });

test('an operator deletes a snapshot or a group, sees the effect first, and the audit log has it', async t => {
  const { gateway, members } = await openCut(t);
  for (const [of, deleted] of [
    ['snapshots/a.cut', ['a.cut']],
    ['groups/a.both', members],
  ] as const) {
    const before = await snapshotsIn(gateway.backend);
    assert.deepEqual((await askDeletion(gateway, of, true)).body, { snapshots: deleted });
    assert.deepEqual(await snapshotsIn(gateway.backend), before);
    assert.deepEqual((await askDeletion(gateway, of)).body, { snapshots: deleted });
    assert.equal((await snapshotsIn(gateway.backend)).length, before.length - deleted.length);
    assert.deepEqual((await askDeletion(gateway, of)).body, { snapshots: [] });
  }
  assert.deepEqual(await logged(gateway, 'delete'), [' OK', ' OK']);
});

test('an operator cannot delete a member without its group, or a snapshot that a copy needs, and the audit log says so', async t => {
  const { gateway, members } = await openCut(t);
  const refusals = async (of: string, status: number, code: string): Promise<string> => {
    const [planned, refused] = [await askDeletion(gateway, of, true), await askDeletion(gateway, of)];
    for (const one of [planned, refused]) assertProblem(one, status, code);
    assert.equal(refused.body['detail'], planned.body['detail']);
    return String(refused.body['detail']);
  };
  const ofMember = await refusals(`snapshots/${members[0]}`, 400, 'INVALID_ARGUMENT');
  assert.match(ofMember, /belongs to group "a\.both"; delete the group$/);
  const resume = gateway.backend.hold('create');
  const source = { kind: 'snapshot', snapshotId: 'a.cut' } as const;
  const copying = gateway.create('a.copy', { source });
  await gateway.backend.entered('create');
  const ofSource = await refusals('snapshots/a.cut', 409, 'FAILED_PRECONDITION');
  assert.match(ofSource, /^snapshot "a\.cut" is in use: volume "a\.copy" is being created from it$/);
  resume();
  await copying;
  assert.deepEqual(await logged(gateway, 'delete'), [' INVALID_ARGUMENT', ' FAILED_PRECONDITION']);
});

test('each refused change of an operator or a reader of operators is in the audit log once', async t => {
  const gateway = await openAttached(t);
  const send = (as: string, route: string, body: object = {}): Promise<Answer> =>
    gateway.ask(`PUT /v1/admin/${route}`, { as, body });
  const routes: readonly (readonly [route: string, body: object, entry: string])[] = [
    ['volumes/a.one/owner', { cluster: 'nobody' }, 'transfer a.one INVALID_ARGUMENT'],
    ['volumes/a.one/grants/nobody', { access: 'read-only' }, 'grant a.one INVALID_ARGUMENT'],
    ['volumes/a.one/deletion', {}, 'delete a.one FAILED_PRECONDITION'],
    ['volumes/a.one/detachment', { nodeId: 'n1' }, 'detach a.one FAILED_PRECONDITION'],
    ['volumes/a.one/detachment', { nodeId: 7 }, 'detach a.one INVALID_ARGUMENT'],
    ['nodes/a/n1/detachment', {}, 'detach a/n1 FAILED_PRECONDITION'],
    ['pools/nowhere/drain', {}, 'drain nowhere NOT_FOUND'],
    ['imports/b.x', { pool: 'nowhere' }, 'import b.x INVALID_ARGUMENT'],
    ['deleted-volumes/a.none/restore', {}, 'restore a.none NOT_FOUND'],
  ];
  const entries = async (): Promise<readonly string[]> => {
    const query = 'select operation, resource, code, count from audit_log where code <> ? order by id';
    return (await gateway.engine.reader.all(query, 'OK')).map(
      ({ operation, resource, code, count }) =>
        `${operation} ${resource} ${code}${count === 1 ? '' : ` ${count}`}`,
    );
  };
  const before = (await entries()).length;
  for (const [route, body] of routes) assert.ok((await send('operator', route, body)).status >= 400, route);
  assert.deepEqual(
    (await entries()).slice(before),
    routes.map(([, , entry]) => entry),
  );
  await send('reader of operators', 'volumes/a.one/deletion');
  assert.deepEqual((await entries()).slice(before + routes.length), ['delete a.one NOT_FOUND']);
});

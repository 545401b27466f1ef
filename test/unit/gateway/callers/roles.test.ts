import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { allOperations, type OperationId } from '../../../../src/api/operations.ts';
import {
  callers,
  openGateway,
  mounted,
  volumeSpec,
  type Answer,
  type Gateway,
} from '../../../harness/gateway.ts';
import type { FaultyBackend } from '../../../fakes/faulty-backend.ts';

/** The routes of each role: a cluster's or operators' routes, read-only or all. */
const rights = {
  a: { of: 'cluster', may: 'all' },
  b: { of: 'cluster', may: 'all' },
  any: { of: 'cluster', may: 'all' },
  'reader of a': { of: 'cluster', may: 'read' },
  'reader of b': { of: 'cluster', may: 'read' },
  operator: { of: 'operators', may: 'all' },
  'reader of operators': { of: 'operators', may: 'read' },
} as const;

/** The owners of the resource that a route names: the caller's cluster, another cluster, or nobody. */
const owners = { own: 'a.pvc-1', foreign: 'b.pvc-1', nowhere: 'b.never' } as const;

const bodies: Readonly<Partial<Record<OperationId, unknown>>> = {
  getCapacity: { capabilities: [mounted] },
  createVolume: volumeSpec('pvc-1'),
  validateVolume: { capabilities: [mounted] },
  expandVolume: { requiredBytes: 2 ** 21 },
  modifyVolume: { mutableParameters: {} },
  attachVolume: { capability: mounted, readonly: false },
  grantVolume: { access: 'read-only' },
  createSnapshot: { name: 'pvc-1', volumeId: 'a.pvc-1' },
  createGroup: { name: 'pvc-1', volumeIds: ['a.pvc-1'] },
};

const operations = allOperations.map(({ id, tag, method, path, route }) => ({
  id,
  of: tag === 'admin' ? 'operators' : 'cluster',
  method,
  hasOwner: tag !== 'admin' && /\{(volume|snapshot|group)Id\}/.test(path),
  ask({ ask }: Gateway, as: string, resource: string): Promise<Answer> {
    const ofResource = route.replace(/\{(volume|snapshot|group)Id\}/, resource).replace('{nodeId}', 'n1');
    return ask(ofResource.replaceAll(/\{\w+\}/g, 'x'), {
      as,
      body: bodies[id] ?? (method === 'GET' ? undefined : {}),
    });
  },
}));

test('every caller has its rights in the table', () => {
  assert.deepEqual(Object.keys(rights).sort(), Object.keys(callers).sort());
});

for (const [as, { of, may }] of Object.entries(rights)) {
  test(`to ${as}, a forbidden route does not exist for any owner's resource, and nothing but the audit log is read or changed`, async t => {
    const gateway = await openGateway(t);
    await prepare(gateway);
    const unchanged = watch(t, gateway);
    for (const { id, ask, ...one } of operations.filter(
      ({ of: owner, method }) => owner !== of || (may === 'read' && method !== 'GET'),
    ))
      for (const resource of Object.values(owners)) {
        const { status, body } = await ask(gateway, as, resource);
        assert.equal(status, 404, id);
        const detail = String(body['detail']);
        assert.match(detail, /^there is no (GET|PUT|POST|DELETE) \//, id);
        assert.equal(/ for readers, .*: use a key /.test(detail), may === 'read' && one.of === of, id);
      }
    unchanged();
  });

  test(`to ${as}, every other route exists`, async t => {
    const gateway = await openGateway(t);
    await prepare(gateway);
    for (const { id, ask } of operations.filter(
      one => one.of === of && (may === 'all' || one.method === 'GET'),
    )) {
      const { status, body } = await ask(gateway, as, owners.own);
      assert.ok(status !== 401 && !/^there is no [A-Z]+ \//.test(String(body['detail'])), id);
    }
  });
}

for (const as of ['a', 'reader of a'] as const)
  for (const { id, method, ask } of operations.filter(
    one => one.hasOwner && (as === 'a' || one.method === 'GET'),
  ))
    test(`to ${as}, ${id} of another cluster looks like a missing one, and only its own grants and attachments are read`, async t => {
      const gateway = await openGateway(t);
      await prepare(gateway);
      const unchanged = watch(t, gateway);
      const foreign = await ask(gateway, as, owners.foreign);
      const reads = unchanged();
      const nowhere = await ask(gateway, as, owners.nowhere);
      assert.equal(unchanged() - reads, reads);
      assert.equal(foreign.status, nowhere.status);
      const asIfNowhere = String(foreign.body['detail']).replace('pvc-1', 'never');
      assert.equal(asIfNowhere, String(nowhere.body['detail']));
      assert.ok(foreign.status === 404 || (foreign.status === 204 && method === 'DELETE'));
    });

/**
 * Returns a check that the store has not been read or written since, so that no timing reveals which objects exist. The
 * check returns the number of the only exceptions: reads of the cluster's own grants and attachments.
 */
function watch(t: TestContext, { engine, backend }: Gateway<FaultyBackend>): () => number {
  const { mock: reads } = t.mock.method(engine.reader, 'all');
  const { mock: writes } = t.mock.method(engine, 'transaction');
  const calls = backend.calls.length;
  return () => {
    const others = reads.calls.filter(
      ({ arguments: [sql] }) =>
        !/ from (?:(?:copy_)?grants where |attachments where .*\b)cluster = /.test(sql),
    );
    assert.deepEqual([others.length, writes.callCount(), backend.calls.length], [0, 0, calls]);
    return reads.callCount();
  };
}

/** Makes an attached volume with a snapshot and a group, for a and for b. */
async function prepare({ ask }: Gateway): Promise<void> {
  for (const as of ['a', 'b']) {
    const [id, name] = [`${as}.pvc-1`, 'pvc-1'];
    await ask('PUT /v1/nodes/n1', { as, body: {} });
    await ask(`PUT /v1/volumes/${id}`, { as, body: volumeSpec(name) });
    await ask(`PUT /v1/volumes/${id}/attachments/n1`, { as, body: bodies.attachVolume });
    await ask(`PUT /v1/snapshots/${id}`, { as, body: { name, volumeId: id } });
    const { status } = await ask(`PUT /v1/groups/${id}`, { as, body: { name, volumeIds: [id] } });
    assert.equal(status, 201);
  }
}

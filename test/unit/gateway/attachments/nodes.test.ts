import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createNodes } from '../../../../gateway/attachments/nodes.ts';
import { readStore } from '../../../../gateway/observability/state.ts';
import { createPools } from '../../../../gateway/pools/pools.ts';
import { countAtNode } from '../../../../gateway/tables/counts.ts';
import { listMissingNodes, nodeTable } from '../../../../gateway/tables/nodes.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { sample } from '../../../../src/lib/metrics.ts';
import { openGateway, clusters, mounted } from '../../../harness/gateway.ts';
import { waitingPool } from '../../../harness/gateway/waiting-pool.ts';

const cluster = clusters.a;
const [here, away] = [{ zone: 'a' }, { zone: 'b' }];

/** Opens a gateway with the volumes a.one and a.two, and the node n1, all in one zone. */
async function open(t: TestContext) {
  const capacity = [{ totalBytes: 2 ** 30, segments: here }];
  const gateway = await openGateway(t, { volumes: ['one', 'two'], capacity });
  const { attachments, nodes, backend } = gateway;
  await nodes.put(cluster, 'n1', { topology: here });
  const key = (name: string) => ({ cluster, volumeId: `a.${name}`, nodeId: 'n1' });
  const attach = (name: string) => attachments.attach(key(name), { capability: mounted, readonly: false });
  const detach = (name: string) => attachments.detach(key(name));
  return {
    ...gateway,
    attach,
    detach,
    async beginDetach(name: string) {
      backend.failNext('detach', 'before', new Error('unreachable'));
      await assert.rejects(detach(name), { code: 'UNAVAILABLE' });
    },
  };
}

type NodesBench = Awaited<ReturnType<typeof open>>;

test('a node is as it was last reported, for its own cluster only', async t => {
  const { nodes } = await open(t);
  const first = { maxVolumes: 3, topology: { zone: 'z1' } };
  const { created } = await nodes.put(cluster, 'n2', first);
  assert.equal(created, true);
  const second = { node: { id: 'n2', maxVolumes: 4 }, created: false };
  assert.deepEqual(await nodes.put(cluster, 'n2', { maxVolumes: 4 }), second);
  await nodes.put(clusters.b, 'n2', { maxVolumes: 2 });
  assert.deepEqual(await nodes.get(cluster, 'n2'), second.node);
  await nodes.delete(cluster, 'n2');
  await assert.rejects(nodes.get(cluster, 'n2'), { code: 'NOT_FOUND' });
  assert.equal((await nodes.get(clusters.b, 'n2')).maxVolumes, 2);
});

test('a node with volumes is not deleted, and the message names one', async t => {
  const { nodes, attach, detach } = await open(t);
  await attach('one');
  await assert.rejects(nodes.delete(cluster, 'n1'), {
    code: 'FAILED_PRECONDITION',
    detail: /^node "n1" still has 1 volume attached, such as "a.one"$/,
  });
  await detach('one');
  for (let i = 0; i < 2; i++) await nodes.delete(cluster, 'n1');
});

for (const [way, comeBack] of [
  [
    'is reported again',
    async ({ nodes }: NodesBench) => void (await nodes.put(cluster, 'n1', { topology: here })),
  ],
  ['gets another volume', async ({ attach }: NodesBench) => void (await attach('two'))],
] as const)
  test(`a node that was deleted while it had volumes is gone until it ${way}`, async t => {
    const gateway = await open(t);
    const { nodes, attach } = gateway;
    await attach('one');
    await assert.rejects(nodes.delete(cluster, 'n1'), { code: 'FAILED_PRECONDITION' });
    const [listed] = (await nodes.list(cluster, { limit: 10 })).nodes;
    assert.deepEqual(listed, { id: 'n1', topology: here, isMissing: true });
    assert.deepEqual(await nodes.get(cluster, 'n1'), listed);
    await comeBack(gateway);
    assert.deepEqual(await nodes.get(cluster, 'n1'), { id: 'n1', topology: here });
  });

test('a gone node without volumes is neither counted nor listed as gone', async t => {
  const { nodes, attach, detach, engine } = await open(t);
  const readNumber = async () =>
    (await readStore(engine.reader)).find(([name]) => name === 'fairlead_gateway_missing_nodes')?.[2];
  await attach('one');
  await assert.rejects(nodes.delete(cluster, 'n1'), { code: 'FAILED_PRECONDITION' });
  assert.equal((await listMissingNodes(engine.reader, 10)).length, 1);
  assert.deepEqual(await readNumber(), [sample({ cluster: 'a' }, 1)]);
  await detach('one');
  assert.deepEqual(await listMissingNodes(engine.reader, 10), []);
  assert.deepEqual(await readNumber(), []);
});

test('a full node is RESOURCE_EXHAUSTED, and has space again after a detach', async t => {
  const { nodes, attach, detach } = await open(t);
  await nodes.put(cluster, 'n1', { topology: here, maxVolumes: 1 });
  await attach('one');
  const full = /node "n1" has 1 volumes attached, and its maximum is 1/;
  await assert.rejects(attach('two'), { code: 'RESOURCE_EXHAUSTED', detail: full });
  assert.equal((await attach('one')).created, false);
  await detach('one');
  assert.equal((await attach('two')).created, true);
});

test('after an unfinished detach, a node that is full by now does not get the volume back', async t => {
  const { attach, detach, beginDetach, nodes, volumes } = await open(t);
  await attach('one');
  await attach('two');
  await beginDetach('one');
  await nodes.put(cluster, 'n1', { topology: here, maxVolumes: 1 });
  await assert.rejects(attach('one'), { code: 'RESOURCE_EXHAUSTED' });
  const { attachments } = await volumes.get(cluster, 'a.one');
  assert.deepEqual(attachments, [{ nodeId: 'n1', state: 'detaching', readonly: false }]);
  await detach('two');
  // The volume does not count against its own node.
  assert.equal((await attach('one')).attachment.state, 'attached');
});

test('after an unfinished detach, a node that is elsewhere by now does not get the volume back', async t => {
  const { attach, detach, beginDetach, nodes } = await open(t);
  await attach('one');
  await beginDetach('one');
  await nodes.put(cluster, 'n1', { topology: away });
  await assert.rejects(attach('one'), { code: 'FAILED_PRECONDITION' });
  await detach('one');
});

test('an unfinished attach continues even if the node changes or leaves', async t => {
  const { attach, nodes, backend } = await open(t);
  await attach('two');
  backend.failNext('attach', 'after', new Error('the answer was lost'));
  await assert.rejects(attach('one'), { code: 'UNAVAILABLE' });
  await nodes.put(cluster, 'n1', { topology: away, maxVolumes: 1 });
  assert.equal((await attach('one')).attachment.state, 'attached');
});

test('a node stays until each storage that tracks nodes has forgotten it', async t => {
  const gateway = await open(t);
  const told: string[] = [];
  let isDown = true;
  gateway.backend.forgetNode = async ({ nodeId }) => {
    if (isDown) throw new Problem('UNAVAILABLE', 'the storage does not answer');
    told.push(nodeId);
  };
  await gateway.nodes.put(clusters.b, 'n1', {});
  // A storage that the cluster may not use knows none of its nodes.
  await gateway.nodes.delete({ ...clusters.b, pools: [] }, 'n1');
  await assert.rejects(gateway.nodes.delete(cluster, 'n1'), { code: 'UNAVAILABLE' });
  assert.equal((await gateway.nodes.get(cluster, 'n1')).id, 'n1');
  isDown = false;
  await gateway.nodes.delete(cluster, 'n1');
  assert.deepEqual(told, ['n1']);
  await assert.rejects(gateway.nodes.get(cluster, 'n1'), { code: 'NOT_FOUND' });
});

test('a node stays while a pool that may know it is not open', async t => {
  const { nodes, engine, operations, slices, backend } = await open(t);
  const waiting = new Map([['slow', waitingPool('pool "slow" is not open')]]);
  const list = () => [{ name: 'main', backend }];
  const opening = createNodes({
    engine,
    operations,
    slices,
    pools: createPools(list, list, () => waiting),
  });
  await assert.rejects(opening.delete(cluster, 'n1'), {
    code: 'UNAVAILABLE',
    detail: /^pool "slow" is not open$/,
  });
  assert.equal((await nodes.get(cluster, 'n1')).id, 'n1');
  // The cluster cannot use this pool, so its storage cannot know the node.
  await opening.delete({ ...cluster, pools: ['main'] }, 'n1');
  await assert.rejects(nodes.get(cluster, 'n1'), { code: 'NOT_FOUND' });
});

test('a node is noted as gone only because of its volumes, and a failed note does not hide them', async t => {
  const { engine, operations, slices, pools, attach, nodes } = await open(t);
  const failing = (reader: typeof engine.reader) => {
    let notes = 0;
    const transaction = async () => {
      notes++;
      throw new Error('the note failed (injected)');
    };
    const options = { engine: { ...engine, reader, transaction }, operations, slices, pools };
    return { deleted: createNodes(options).delete(cluster, 'n1'), notes: () => notes };
  };
  const down = { ...engine.reader, all: async () => assert.fail('the store is down (injected)') };
  const unread = failing(down);
  await assert.rejects(unread.deleted, /the store is down/);
  assert.equal(unread.notes(), 0);
  await attach('one');
  const unnoted = failing(engine.reader);
  await assert.rejects(unnoted.deleted, { code: 'FAILED_PRECONDITION' });
  assert.equal(unnoted.notes(), 1);
  assert.equal((await nodes.get(cluster, 'n1')).isMissing, undefined);
});

test("a storage with the cluster's volumes forgets a node even if its pool no longer serves the cluster", async t => {
  const { nodes, backend } = await open(t);
  const told: string[] = [];
  backend.forgetNode = async ({ nodeId }) => void told.push(nodeId);
  await nodes.delete({ ...cluster, pools: [] }, 'n1');
  assert.deepEqual(told, ['n1']);
});

test("a cluster has a maximum of nodes, counted without other clusters'", async t => {
  const { nodes, engine } = await open(t);
  await engine.transaction(async sql => {
    for (let index = 1; index < 10_000; index++) {
      const node = { cluster: cluster.name, nodeId: `old-${index}` };
      await nodeTable.add(sql, { ...node, spec: {}, goneMs: undefined });
      await countAtNode(sql, 'nodes', { ...node, change: 1 });
    }
  });
  await assert.rejects(nodes.put(cluster, 'n2', {}), { code: 'RESOURCE_EXHAUSTED' });
  await nodes.put(cluster, 'n1', { maxVolumes: 4 });
  await nodes.put(clusters.b, 'n2', {});
  await nodes.delete(cluster, 'old-1');
  await nodes.put(cluster, 'n2', {});
});

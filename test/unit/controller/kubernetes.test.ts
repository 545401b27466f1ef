import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Node } from '../../../src/api/node.ts';
import { Problem } from '../../../src/api/problem.ts';
import { readConnection } from '../../../src/controller/kubernetes/connection.ts';
import { reportNodes } from '../../../src/controller/kubernetes/nodes.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { startKubernetes } from '../../fakes/kubernetes.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../../harness/machine.ts';
import { until } from '../../harness/node-agent-bench.ts';

const driverName = 'csi.fairlead.dev';
const zone = 'topology.fairlead.dev/zone';
const drainedNodes = 'fairlead/drained';
const configMap = '/api/v1/namespaces/fairlead/configmaps/drained';
const taint = { key: `${driverName}/agent-not-ready`, effect: 'NoSchedule' };
const other = { key: 'other', effect: 'NoSchedule' };

const driverOn = (nodeID: string, more: object = {}) => ({ name: driverName, nodeID, ...more });

/** A gateway that knows nodes, of which some have volumes. */
function makeGateway(known: readonly Node[] = []) {
  const nodes = new Map(known.map(node => [node.id, node]));
  const inUse = new Set<string>();
  return {
    nodes,
    inUse,
    ids: () => [...nodes.keys()].toSorted(),
    client: {
      async listNodes({ pageToken = '' }: { readonly pageToken?: string | undefined }) {
        const [first, ...rest] = [...nodes.values()]
          .filter(({ id }) => id > pageToken)
          .toSorted((a, b) => (a.id < b.id ? -1 : 1));
        return { nodes: first ? [first] : [], ...(rest.length > 0 && { nextPageToken: first?.id }) };
      },
      async putNode({ nodeId, body }: { readonly nodeId: string; readonly body: object }) {
        const node = { id: nodeId, ...body };
        nodes.set(nodeId, node);
        return node;
      },
      async deleteNode({ nodeId }: { readonly nodeId: string }) {
        if (inUse.has(nodeId)) throw new Problem('FAILED_PRECONDITION', 'has volumes');
        nodes.delete(nodeId);
      },
    },
  };
}

const named = (kind: string, value: object) => ({ [`${kind}s`]: [{ name: 'x', [kind]: value }] });

/** A cluster that is followed by way of a kubeconfig file. */
async function open(t: TestContext, gateway = makeGateway()) {
  const dir = makeTemporaryDirectory();
  t.after(() => removeTemporaryDirectory(dir));
  const kubernetes = await startKubernetes(t, { token: 'first' });
  writeFileSync(join(dir, 'token'), 'first\n');
  const path = join(dir, 'kubeconfig');
  writeFileSync(
    path,
    JSON.stringify({
      'current-context': 'x',
      ...named('context', { cluster: 'x', user: 'x' }),
      ...named('cluster', { server: kubernetes.url }),
      ...named('user', { tokenFile: 'token' }),
    }),
  );
  const start = () => {
    const reporting = reportNodes({
      client: gateway.client,
      driverName,
      kubernetes: path,
      drainedNodes,
      log: silentLog,
    });
    t.after(() => reporting.close());
    return reporting;
  };
  return {
    kubernetes,
    gateway,
    start,
    path,
    setToken: (token: string) => writeFileSync(join(dir, 'token'), token),
  };
}

test('nodes with the driver are reported with their topology and limit, the others are not', async t => {
  const { kubernetes, gateway, start } = await open(t);
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    kubernetes.putNode(name, { labels: { [zone]: 'z1', unrelated: 'x' } });
    kubernetes.putCsiNode(name, name === 'c' ? undefined : driverOn(`id-${name}`));
  }
  kubernetes.putCsiNode(
    'a',
    driverOn('id-a', { topologyKeys: [zone, 'lacking'], allocatable: { count: 7 } }),
  );
  start();
  await until(() => gateway.ids().length === 4);
  assert.deepEqual(gateway.ids(), ['id-a', 'id-b', 'id-d', 'id-e']);
  assert.deepEqual(gateway.nodes.get('id-a'), { id: 'id-a', maxVolumes: 7, topology: { [zone]: 'z1' } });
  assert.deepEqual(gateway.nodes.get('id-b'), { id: 'id-b' });
  await until(kubernetes.isWatched);
  kubernetes.putCsiNode('c', driverOn('id-c'));
  kubernetes.putNode('a', { labels: { [zone]: 'z2' } });
  await until(() => gateway.ids().includes('id-c'));
  await until(() => gateway.nodes.get('id-a')?.topology?.[zone] === 'z2');
});

test('a node that left is forgotten once it has no volumes, and one whose agent is replaced is not', async t => {
  const { kubernetes, gateway, start } = await open(t, makeGateway([{ id: 'long-gone' }]));
  for (const name of ['a', 'b']) {
    kubernetes.putNode(name);
    kubernetes.putCsiNode(name, driverOn(name));
  }
  const reporting = start();
  await until(() => gateway.ids().join() === 'a,b');
  await until(kubernetes.isWatched);
  gateway.inUse.add('a');
  kubernetes.removeNode('a');
  kubernetes.putCsiNode('b');
  kubernetes.putNode('c');
  kubernetes.putCsiNode('c', driverOn('c'));
  await until(() => gateway.ids().includes('c'));
  assert.deepEqual(gateway.ids(), ['a', 'b', 'c']);
  gateway.inUse.clear();
  await reporting.close();
  kubernetes.putCsiNode('b', driverOn('b'));
  start();
  await until(() => gateway.ids().join() === 'b,c');
});

test('what happened while nobody watched is learnt: after an expired watch and a renewed token', async t => {
  const { kubernetes, gateway, start, setToken } = await open(t);
  start();
  await until(kubernetes.isWatched);
  setToken('second');
  kubernetes.accept('second');
  kubernetes.forget();
  kubernetes.putNode('a');
  kubernetes.putCsiNode('a', driverOn('a'));
  await until(() => gateway.ids().includes('a'));
});

test('the start-up taint is taken off a node when the driver is registered there, and no other', async t => {
  const { kubernetes, start } = await open(t);
  kubernetes.putNode('a', { taints: [other, taint] });
  kubernetes.putCsiNode('a');
  start();
  await until(kubernetes.isWatched);
  assert.deepEqual(
    kubernetes.asked.filter(line => line.startsWith('PATCH')),
    [],
  );
  kubernetes.putCsiNode('a', driverOn('a'));
  const taints = () =>
    (kubernetes.get('/api/v1/nodes/a')?.['spec'] as { taints?: unknown } | undefined)?.taints;
  await until(() => JSON.stringify(taints()) === JSON.stringify([other]));
});

test('the nodes that are being drained are written down where their agents read it', async t => {
  const { kubernetes, start } = await open(t);
  const drained = () => (kubernetes.get(configMap)?.['data'] as { nodes?: string } | undefined)?.nodes;
  for (const name of ['a', 'b', 'c']) kubernetes.putCsiNode(name, driverOn(`id-${name}`));
  kubernetes.putNode('a', { unschedulable: true });
  kubernetes.putNode('b', { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] });
  kubernetes.putNode('c', { taints: [other] });
  start();
  await until(() => drained() === 'id-a\nid-b\n');
  await until(kubernetes.isWatched);
  for (const name of ['a', 'b']) kubernetes.putNode(name);
  await until(() => drained() === '');
});

test('a kubeconfig that cannot be used says why', async t => {
  const { path, kubernetes } = await open(t);
  const contexts = [{ name: 'x', context: { cluster: 'x', user: 'x' } }];
  const clusters = [{ name: 'x', cluster: { server: kubernetes.url } }];
  const users = [{ name: 'x', user: { exec: {} } }];
  for (const [config, says] of [
    [{}, /names no cluster/],
    [{ 'current-context': 'x', contexts, clusters, users }, /"exec"/],
  ] as const) {
    writeFileSync(path, JSON.stringify(config));
    await assert.rejects(readConnection(path), says);
  }
});

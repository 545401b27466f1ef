import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { GatewayKeySet } from '../../../src/api/http/gateway-keys.ts';
import { createKey, publicHalf } from '../../../src/api/http/jwt.ts';
import { readNodeId } from '../../../src/api/ids.ts';
import type { Node } from '../../../src/api/node.ts';
import { Problem } from '../../../src/api/problem.ts';
import type { RefusedNode } from '../../../src/controller/kubernetes/compare.ts';
import { readConnection } from '../../../src/controller/kubernetes/connection.ts';
import { reportNodes } from '../../../src/controller/kubernetes/nodes.ts';
import { changeTaints } from '../../../src/controller/kubernetes/taints.ts';
import { createMetrics } from '../../../src/controller/metrics.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { startKubernetes, writeKubeconfig } from '../../fakes/kubernetes.ts';
import { directoryOf } from '../../harness/machine.ts';
import { until } from '../../harness/node.ts';

const driverName = 'csi.fairlead.dev';
const zone = 'topology.fairlead.dev/zone';
const drainedNodes = 'fairlead/drained';
const configMap = '/api/v1/namespaces/fairlead/configmaps/drained';
const taint = { key: `${driverName}/agent-not-ready`, effect: 'NoSchedule' };
const other = { key: 'other', effect: 'NoSchedule' };

const driverOn = (nodeID: string, more: object = {}) => ({ name: driverName, nodeID, ...more });

/** Makes a gateway with known nodes. Some of them have volumes. */
function openGateway(known: readonly Node[] = []) {
  const nodes = new Map(known.map(node => [node.id, node]));
  const inUse = new Set<string>();
  const calls: string[] = [];
  return {
    nodes,
    inUse,
    /** The calls so far, in order. */
    calls,
    keySet: async (): Promise<GatewayKeySet | undefined> => undefined,
    ids: () => [...nodes.keys()].toSorted(),
    client: {
      async listNodes({ pageToken = '' }: { readonly pageToken?: string | undefined }) {
        calls.push('list');
        const [first, ...rest] = [...nodes.values()]
          .filter(({ id }) => id > pageToken)
          .toSorted((a, b) => (a.id < b.id ? -1 : 1));
        return { nodes: first ? [first] : [], ...(rest.length > 0 && { nextPageToken: first?.id }) };
      },
      async putNode({ nodeId, body }: { readonly nodeId: string; readonly body: object }) {
        calls.push(`put ${nodeId}`);
        const { name } = readNodeId(nodeId);
        const holder = [...inUse].find(id => id !== nodeId && readNodeId(id).name === name);
        if (holder) throw new Problem('FAILED_PRECONDITION', `node "${nodeId}" is refused: "${holder}"`);
        const node = { id: nodeId, ...body };
        nodes.set(nodeId, node);
        return node;
      },
      async getNode({ nodeId }: { readonly nodeId: string }) {
        const node = nodes.get(nodeId);
        if (!node) throw new Problem('NOT_FOUND', `there is no node "${nodeId}"`);
        return node;
      },
      async detachDeadNode() {
        calls.push('detach');
      },
      async deleteNode({ nodeId }: { readonly nodeId: string }) {
        calls.push(`delete ${nodeId}`);
        const node = nodes.get(nodeId);
        if (node && inUse.has(nodeId)) {
          nodes.set(nodeId, { ...node, isMissing: true });
          throw new Problem('FAILED_PRECONDITION', 'has volumes');
        }
        nodes.delete(nodeId);
      },
    },
  };
}

/** Creates a log that keeps the details of its warnings. */
function createCapturingLog() {
  const warnings: string[] = [];
  return { ...silentLog, warnings, warn: (_: string, { detail = '' } = {}) => void warnings.push(detail) };
}

/** Follows a cluster through a kubeconfig file. */
async function open(t: TestContext, gateway = openGateway(), needsDetails = () => false) {
  const dir = directoryOf(t);
  const kubernetes = await startKubernetes(t, { token: 'first' });
  writeFileSync(join(dir, 'token'), 'first\n');
  const path = writeKubeconfig(dir, kubernetes.url, { tokenFile: 'token' });
  const refused: (readonly RefusedNode[])[] = [];
  const metrics = createMetrics();
  const log = createCapturingLog();
  const start = () => {
    const reporting = reportNodes({
      client: gateway.client,
      needsDetails,
      driverName,
      kubernetes: path,
      drainedNodes,
      readGatewayKeys: () => gateway.keySet(),
      observeRefused(nodes) {
        refused.push(nodes);
        metrics.observeRefused(nodes);
      },
      log,
    });
    t.after(() => reporting.close());
    return reporting;
  };
  return {
    kubernetes,
    gateway,
    start,
    path,
    refused: () => refused.at(-1)?.map(({ name, nodeId, reason }) => [name, nodeId, reason].join(' ')),
    /** Returns the metric `fairlead_controller_refused_nodes` as text. */
    counted: () =>
      JSON.stringify(metrics.show().find(({ name }) => name === 'fairlead_controller_refused_nodes')),
    logged: () => log.warnings,
    setToken: (token: string) => writeFileSync(join(dir, 'token'), token),
  };
}

test('nodes with the driver are reported with their topology and limit, and no others', async t => {
  const { kubernetes, gateway, start } = await open(t);
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    kubernetes.putNode(name, { labels: { [zone]: 'z1', unrelated: 'x' } });
    kubernetes.putCsiNode(name, name === 'c' ? undefined : driverOn(name));
  }
  kubernetes.putCsiNode('a', driverOn('a', { topologyKeys: [zone, 'lacking'], allocatable: { count: 7 } }));
  start();
  await until(() => gateway.ids().length === 4);
  assert.deepEqual(gateway.ids(), ['a', 'b', 'd', 'e']);
  assert.deepEqual(gateway.nodes.get('a'), { id: 'a', maxVolumes: 7, topology: { [zone]: 'z1' } });
  assert.deepEqual(gateway.nodes.get('b'), { id: 'b' });
  await until(kubernetes.isWatched);
  kubernetes.putCsiNode('c', driverOn('c'));
  kubernetes.putNode('a', { labels: { [zone]: 'z2' } });
  await until(() => gateway.ids().includes('c'));
  await until(() => gateway.nodes.get('a')?.topology?.[zone] === 'z2');
});

test("a node is reported with its name, its cloud's id and its internal addresses only to a gateway that needs them", async t => {
  const status = {
    addresses: [
      { type: 'Hostname', address: 'a' },
      { type: 'InternalIP', address: '192.0.2.7' },
      { type: 'ExternalIP', address: '198.51.100.7' },
      { type: 'InternalIP', address: '2001:db8::7' },
    ],
  };
  const rows = [
    [true, { id: 'a', name: 'a', providerId: 'aws:///z/i-0abc', addresses: ['192.0.2.7', '2001:db8::7'] }],
    [false, { id: 'a' }],
  ] as const;
  for (const [isNeeded, expected] of rows) {
    const { kubernetes, gateway, start } = await open(t, openGateway(), () => isNeeded);
    kubernetes.putNode('a', { status, providerID: 'aws:///z/i-0abc' });
    kubernetes.putCsiNode('a', driverOn('a'));
    start();
    await until(() => gateway.ids().length === 1);
    assert.deepEqual(gateway.nodes.get('a'), expected);
  }
});

test('many new nodes are reported at the same time, but not all of them', async t => {
  const gateway = openGateway();
  const inFlight = { now: 0, max: 0 };
  const areSixteen = Promise.withResolvers<void>();
  const { putNode } = gateway.client;
  gateway.client.putNode = async request => {
    inFlight.max = Math.max(inFlight.max, ++inFlight.now);
    if (inFlight.now === 16) areSixteen.resolve();
    await areSixteen.promise;
    inFlight.now--;
    return putNode(request);
  };
  const { kubernetes, start } = await open(t, gateway);
  for (let index = 0; index < 40; index++) {
    kubernetes.putNode(`n${index}`);
    kubernetes.putCsiNode(`n${index}`, driverOn(`n${index}`));
  }
  start();
  await until(() => gateway.ids().length === 40);
  assert.equal(inFlight.max, 16);
});

test('a topology key that a later registration names is reported for every node', async t => {
  const { kubernetes, gateway, start } = await open(t);
  const rack = 'topology.fairlead.dev/rack';
  for (const name of ['a', 'b']) {
    kubernetes.putNode(name, { labels: { [zone]: 'z1', [rack]: 'r1', late: 'l1' } });
    kubernetes.putCsiNode(name, driverOn(name, { topologyKeys: [zone] }));
  }
  start();
  await until(() => gateway.ids().join() === 'a,b');
  await until(kubernetes.isWatched);
  for (const name of ['a', 'b']) {
    kubernetes.putCsiNode(name, driverOn(name, { topologyKeys: [zone, rack] }));
    await until(() => gateway.nodes.get(name)?.topology?.[rack] === 'r1');
  }
  const made = Array.from({ length: 20 }, (_, index) => `made/up-${index}`);
  kubernetes.putCsiNode('a', driverOn('a', { topologyKeys: [zone, rack, ...made] }));
  kubernetes.putCsiNode('b', driverOn('b', { topologyKeys: [zone, rack, 'late'] }));
  await until(() => gateway.nodes.get('b')?.topology?.['late'] === 'l1');
  kubernetes.putNode('b', { labels: { [zone]: 'z1', [rack]: 'r2' } });
  await until(() => gateway.nodes.get('b')?.topology?.[rack] === 'r2');
  assert.deepEqual(gateway.nodes.get('a')?.topology, { [zone]: 'z1', [rack]: 'r1' });
});

test('a change of one node asks the gateway about no other node', async t => {
  const { kubernetes, gateway, start } = await open(t);
  for (const name of ['a', 'b', 'c']) {
    kubernetes.putNode(name, { labels: { [zone]: 'z1' } });
    kubernetes.putCsiNode(name, driverOn(name, { topologyKeys: [zone] }));
  }
  start();
  await until(() => gateway.ids().join() === 'a,b,c');
  await until(kubernetes.isWatched);
  gateway.calls.length = 0;
  kubernetes.putNode('b', { labels: { [zone]: 'z2' } });
  await until(() => gateway.nodes.get('b')?.topology?.[zone] === 'z2');
  kubernetes.removeNode('c');
  await until(() => gateway.ids().join() === 'a,b');
  kubernetes.putNode('d');
  kubernetes.putCsiNode('d', driverOn('d'));
  await until(() => gateway.ids().join() === 'a,b,d');
  assert.deepEqual(gateway.calls, ['put b', 'delete c', 'put d']);
});

test('a node that left is forgotten once it has no volumes, and one whose agent is replaced is kept', async t => {
  const { kubernetes, gateway, start } = await open(t, openGateway([{ id: 'long-gone' }]));
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

test('a node that comes back unchanged while volumes are attached to it is reported again', async t => {
  const { kubernetes, gateway, start } = await open(t);
  kubernetes.putNode('a');
  kubernetes.putCsiNode('a', driverOn('a'));
  start();
  await until(() => gateway.ids().includes('a'));
  await until(kubernetes.isWatched);
  gateway.inUse.add('a');
  kubernetes.removeNode('a');
  await until(() => gateway.nodes.get('a')?.isMissing === true);
  kubernetes.putNode('a');
  kubernetes.putCsiNode('a', driverOn('a'));
  await until(() => gateway.nodes.get('a')?.isMissing === undefined);
  assert.deepEqual(gateway.nodes.get('a'), { id: 'a' });
});

const [key, otherKey] = ['A'.repeat(43), 'B'.repeat(43)];

test('a CSINode with the id or the name of another node reports nothing, and is logged once', async t => {
  const { kubernetes, gateway, start, refused, logged } = await open(t);
  kubernetes.putNode('a', { labels: { [zone]: 'z1' } });
  kubernetes.putCsiNode('a', driverOn(`a~${key}`, { topologyKeys: [zone], allocatable: { count: 7 } }));
  const foreign = { byId: `a~${key}`, byName: `a~${otherKey}`, keyless: 'a', stale: `gone~${key}` };
  for (const [name, nodeId] of Object.entries(foreign)) {
    kubernetes.putNode(name, { labels: { [zone]: 'z2' }, taints: [taint] });
    kubernetes.putCsiNode(name, driverOn(nodeId, { topologyKeys: [zone], allocatable: { count: 9 } }));
  }
  start();
  const all = Object.entries(foreign).map(([name, nodeId]) => `${name} ${nodeId} foreign-id`);
  await until(() => refused()?.toSorted().join() === all.toSorted().join());
  await until(kubernetes.isWatched);
  kubernetes.putNode('b');
  kubernetes.putCsiNode('b', driverOn('b'));
  await until(() => gateway.ids().includes('b'));
  assert.deepEqual(gateway.ids(), [`a~${key}`, 'b']);
  assert.partialDeepStrictEqual(gateway.nodes.get(`a~${key}`), { maxVolumes: 7, topology: { [zone]: 'z1' } });
  assert.equal(logged().length, all.length);
  assert.match(
    logged().join('\n'),
    /node "byName" has a node id with the name "a"; start the agent there with/,
  );
  assert.deepEqual(
    kubernetes.asked.filter(line => line.startsWith('PATCH /api/v1/nodes')),
    [],
  );
});

test('a second key of a name is reported once the node with the first key has no volumes', async t => {
  const first = `a~${key}`;
  const { kubernetes, gateway, start, refused, counted, logged } = await open(
    t,
    openGateway([{ id: first }]),
  );
  gateway.inUse.add(first);
  kubernetes.putNode('a', { taints: [taint] });
  kubernetes.putCsiNode('a', driverOn(`a~${otherKey}`));
  start();
  await until(() => refused()?.join() === `a a~${otherKey} second-key`);
  assert.match(counted(), /second-key[^\d]*1\b/);
  await until(kubernetes.isWatched);
  // The refusal does not delay other changes.
  kubernetes.putNode('b');
  kubernetes.putCsiNode('b', driverOn('b'));
  await until(() => gateway.ids().includes('b'));
  assert.deepEqual(gateway.ids(), [first, 'b']);
  assert.equal(logged().length, 1);
  gateway.inUse.clear();
  kubernetes.putNode('c');
  await until(() => gateway.ids().join() === `a~${otherKey},b`);
  await until(() => refused()?.length === 0);
  assert.match(counted(), /second-key[^\d]*0\b/);
});

test('changes during an expired watch or a token renewal are noticed', async t => {
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

test('the start-up taint is removed only from nodes where the driver is registered', async t => {
  const { kubernetes, start } = await open(t);
  kubernetes.putNode('a', { taints: [other, taint] });
  kubernetes.putCsiNode('a');
  start();
  await until(kubernetes.isWatched);
  assert.deepEqual(
    kubernetes.asked.filter(line => line.startsWith('PATCH /api/v1/nodes/')),
    [],
  );
  kubernetes.putCsiNode('a', driverOn('a'));
  const taints = () =>
    (kubernetes.get('/api/v1/nodes/a')?.['spec'] as { taints?: unknown } | undefined)?.taints;
  await until(() => JSON.stringify(taints()) === JSON.stringify([other]));
});

test('a taint is changed although others change the Node at the same time', async () => {
  let version = 1;
  let taints: readonly object[] = [other];
  const server = {
    async read<T>() {
      return { metadata: { name: 'a', resourceVersion: String(version) }, spec: { taints } } as T;
    },
    async patch(_path: string, _type: string, body: unknown) {
      const { metadata, spec } = body as {
        metadata: { resourceVersion: string };
        spec: { taints: object[] };
      };
      // The kubelet is faster twice.
      if (version < 3) version++;
      if (metadata.resourceVersion !== String(version)) throw Object.assign(new Error('x'), { status: 409 });
      ({ taints } = spec);
    },
    async *readLines() {},
    close() {},
  };
  assert.equal(await changeTaints({ server, name: 'a', change: found => [...found, taint] }), true);
  assert.deepEqual(taints, [other, taint]);
});

test('the draining nodes are written to the file that their agents read', async t => {
  const { kubernetes, start } = await open(t);
  const drained = () => (kubernetes.get(configMap)?.['data'] as { nodes?: string } | undefined)?.nodes;
  for (const name of ['a', 'b', 'c']) kubernetes.putCsiNode(name, driverOn(name));
  kubernetes.putNode('a', { unschedulable: true });
  kubernetes.putNode('b', { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] });
  kubernetes.putNode('c', { taints: [other] });
  start();
  await until(() => drained() === 'a\nb\n');
  await until(kubernetes.isWatched);
  for (const name of ['a', 'b']) kubernetes.putNode(name);
  await until(() => drained() === '');
});

const keyOf = async (kid: string) => ({ keys: [publicHalf(await createKey(kid))] });

test("the gateway's keys are written to the file that agents read, and stay while the gateway does not answer", async t => {
  const { kubernetes, start, gateway } = await open(t);
  const [first, second] = [await keyOf('one'), await keyOf('two')];
  const data = () => kubernetes.get(configMap)?.['data'] as Readonly<Record<string, string>> | undefined;
  const written = () => JSON.parse(data()?.['jwks.json'] ?? 'null') as unknown;
  const isWritten = (keySet: unknown) => () => JSON.stringify(written()) === JSON.stringify(keySet);
  start();
  await until(isWritten(null));
  await until(kubernetes.isWatched);
  gateway.keySet = async () => first;
  kubernetes.putNode('a', { unschedulable: true });
  kubernetes.putCsiNode('a', driverOn('a'));
  await until(isWritten(first));
  gateway.keySet = () => Promise.reject(new Problem('UNAVAILABLE', 'no answer'));
  kubernetes.putNode('a');
  await until(() => data()?.['nodes'] === '');
  assert.deepEqual(written(), first);
  gateway.keySet = async () => second;
  kubernetes.putNode('b');
  kubernetes.putCsiNode('b', driverOn('b'));
  await until(isWritten(second));
});

test('the error of an unusable kubeconfig says why', async t => {
  const { path, kubernetes } = await open(t);
  const contexts = [{ name: 'x', context: { cluster: 'x', user: 'x' } }];
  const clusters = [{ name: 'x', cluster: { server: kubernetes.url } }];
  const users = [{ name: 'x', user: { exec: {} } }];
  for (const [config, says] of [
    [{}, /names no cluster/],
    [{ contexts: {} }, /kubeconfig" is not a kubeconfig file: "contexts" is not a list$/],
    [{ clusters: 'x' }, /is not a kubeconfig file: "clusters" is not a list$/],
    [{ 'current-context': 'x', contexts, clusters, users }, /"exec"/],
  ] as const) {
    writeFileSync(path, JSON.stringify(config));
    await assert.rejects(readConnection(path), says);
  }
  writeFileSync(path, 'contexts: []\nusers\nclusters: []\n');
  await assert.rejects(readConnection(path), /kubeconfig:2:1: a key is not on one line with its colon; add/);
});

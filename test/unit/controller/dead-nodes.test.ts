import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createServer as createSocketServer, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { Node } from '../../../src/api/node.ts';
import { Problem } from '../../../src/api/problem.ts';
import { reportNodes } from '../../../src/controller/kubernetes/nodes.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { startKubernetes, writeKubeconfig } from '../../fakes/kubernetes.ts';
import { listen } from '../../harness/listen.ts';
import { directoryOf } from '../../harness/machine.ts';
import { until } from '../../harness/node.ts';

const driverName = 'csi.fairlead.dev';
const mark = { key: 'node.kubernetes.io/out-of-service', value: driverName, effect: 'NoExecute' };
const other = { key: 'other', effect: 'NoSchedule' };
const volume = `kubernetes.io/csi/${driverName}^east.one`;
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const names = ['a', 'b', 'c'] as const;
const afterMs = 400;

/** A kubelet's answer; by default the node uses a volume and nothing listens at its address. */
type State = { readonly ready: string; readonly uses?: readonly string[]; readonly kubelet?: number };
const statusOf = ({ ready, uses = [volume], kubelet = 1 }: State) => ({
  conditions: [
    { type: 'MemoryPressure', status: 'False' },
    { type: 'Ready', status: ready },
  ],
  addresses: [
    { type: 'Hostname', address: 'a' },
    { type: 'InternalIP', address: '127.0.0.1' },
  ],
  daemonEndpoints: { kubeletEndpoint: { Port: kubelet } },
  volumesInUse: uses,
});

/** Makes a gateway that knows the nodes. `faults` are its answers to the next detachments. */
function openGateway() {
  const nodes = new Map<string, Node>(names.map(id => [id, { id }]));
  const calls: string[] = [];
  const faults: Problem[] = [];
  return {
    nodes,
    calls,
    faults,
    client: {
      listNodes: async () => ({ nodes: [...nodes.values()] }),
      async getNode({ nodeId }: { readonly nodeId: string }) {
        const node = nodes.get(nodeId);
        if (!node) throw new Problem('NOT_FOUND', `there is no node "${nodeId}"`);
        return node;
      },
      async putNode({ nodeId, body }: { readonly nodeId: string; readonly body: object }) {
        calls.push(`report ${nodeId}`);
        const node = { id: nodeId, ...body };
        nodes.set(nodeId, node);
        return node;
      },
      async detachDeadNode({ nodeId }: { readonly nodeId: string }) {
        calls.push(`detach ${nodeId}`);
        const fault = faults.shift();
        // The gateway refuses before it records anything, and fails otherwise after that.
        if (fault?.code !== 'FAILED_PRECONDITION') nodes.set(nodeId, { id: nodeId, isDead: true });
        if (fault) throw fault;
      },
      deleteNode: async ({ nodeId }: { readonly nodeId: string }) => void nodes.delete(nodeId),
    },
  };
}

/** Opens a cluster of three nodes whose kubelets renew their leases. */
async function open(t: TestContext) {
  const directory = directoryOf(t);
  const kubernetes = await startKubernetes(t, { token: 'first' });
  const gateway = openGateway();
  const path = writeKubeconfig(directory, kubernetes.url, { token: 'first' });
  for (const name of names) {
    kubernetes.putNode(name, { taints: [other], status: statusOf({ ready: 'True' }) });
    kubernetes.putCsiNode(name, { name: driverName, nodeID: name });
    kubernetes.renew(name);
  }
  const alive = new Set<string>(names);
  const renewing = setInterval(() => alive.forEach(name => kubernetes.renew(name)), afterMs / 10);
  t.after(() => clearInterval(renewing));
  let looks = 0;
  type Settings = { after?: number; agentPort?: number; lookEveryMs?: number };
  const start = ({ after = afterMs, agentPort, lookEveryMs = 20 }: Settings = {}) => {
    const deadNodes = { afterMs: () => (looks++, after || undefined), agentPort, lookEveryMs };
    const reporting = reportNodes({
      client: gateway.client,
      driverName,
      kubernetes: path,
      drainedNodes: undefined,
      deadNodes,
      log: silentLog,
    });
    t.after(() => reporting.close());
    return reporting;
  };
  const taintsOf = (name: string) =>
    (kubernetes.get(`/api/v1/nodes/${name}`)?.['spec'] as { readonly taints?: unknown } | undefined)?.taints;
  return {
    kubernetes,
    gateway,
    alive,
    start,
    taintsOf,
    /** Ends a kubelet, which Kubernetes notices. */
    die(name: string, state: Partial<State> = {}): void {
      alive.delete(name);
      kubernetes.putStatus(name, statusOf({ ready: 'Unknown', ...state }));
    },
    untilTainted: () => until(() => JSON.stringify(taintsOf('a')) === JSON.stringify([other, mark])),
    messageOf: (reason: string) =>
      kubernetes.get(`/api/v1/namespaces/default/events/a.${driverName}.${reason}`)?.['message'],
    /** Resolves once the nodes have been looked at, and later than a silent node would have been found dead. */
    async untilLooked(): Promise<void> {
      const laterMs = performance.now() + 3 * afterMs;
      await until(() => performance.now() > laterMs);
      const enough = looks + 3;
      await until(() => looks >= enough);
    },
    /** Requires that the node was neither detached nor tainted. */
    requireAlone: () => assert.deepEqual([gateway.calls, taintsOf('a')], [[], [other]]),
  };
}

test('a dead node gets the taint after its volumes are detached, and loses it once it is back and clean', async t => {
  const { kubernetes, gateway, alive, start, die, taintsOf, untilTainted, messageOf, untilLooked } =
    await open(t);
  const { detachDeadNode } = gateway.client;
  const taintsAtDetach: unknown[] = [];
  gateway.client.detachDeadNode = async request => {
    taintsAtDetach.push(taintsOf('a'));
    await detachDeadNode(request);
  };
  start();
  die('a');
  await untilTainted();
  assert.deepEqual(taintsAtDetach[0], [other]);
  await until(() => String(messageOf('detached')).startsWith('the node is dead: '));
  // The kubelet is back, but has not taken down the old volume yet.
  alive.add('a');
  kubernetes.putStatus('a', statusOf({ ready: 'True' }));
  await untilLooked();
  assert.deepEqual([taintsOf('a'), gateway.nodes.get('a')?.isDead], [[other, mark], true]);
  kubernetes.putStatus('a', statusOf({ ready: 'True', uses: [] }));
  await until(() => JSON.stringify(taintsOf('a')) === JSON.stringify([other]));
  assert.deepEqual(gateway.nodes.get('a'), { id: 'a' });
  assert.deepEqual([...new Set(gateway.calls)], ['detach a', 'report a']);
  await until(() => messageOf('backinservice') !== undefined);
});

test('the taint stays until the agent of a node that is back has taken down the volumes from before', async t => {
  const { kubernetes, gateway, alive, start, die, taintsOf, untilTainted, messageOf, untilLooked } =
    await open(t);
  let page: string | undefined;
  const server = createServer((request, response) =>
    page === undefined ? void request.socket.destroy() : void response.end(page),
  );
  const agentPort = Number((await listen(t, server)).split(':').at(-1));
  start({ agentPort });
  die('a');
  await untilTainted();
  alive.add('a');
  // Kubelet names no volume that Kubernetes has detached, even while it unmounts the volume.
  kubernetes.putStatus('a', statusOf({ ready: 'True', uses: [] }));
  await until(() => String(messageOf('notinservice')).includes('its agent does not answer at 127.0.0.1'));
  page = 'csi: ok\nvolumes: 2\n';
  await until(() => String(messageOf('notinservice')).endsWith('its agent has volumes from before (2)'));
  await untilLooked();
  assert.deepEqual([taintsOf('a'), gateway.nodes.get('a')?.isDead], [[other, mark], true]);
  page = 'csi: ok\nvolumes: 0\n';
  await until(() => JSON.stringify(taintsOf('a')) === JSON.stringify([other]));
  assert.deepEqual(gateway.nodes.get('a'), { id: 'a' });
});

test('an agent of a release that does not say its volumes leaves the taint to the kubelet', async t => {
  const { kubernetes, alive, start, die, taintsOf, untilTainted } = await open(t);
  let isUp = false;
  const server = createServer((request, response) =>
    isUp ? void response.end('csi: ok\n') : void request.socket.destroy(),
  );
  start({ agentPort: Number((await listen(t, server)).split(':').at(-1)) });
  die('a');
  await untilTainted();
  [isUp] = [true];
  alive.add('a');
  kubernetes.putStatus('a', statusOf({ ready: 'True', uses: [] }));
  await until(() => JSON.stringify(taintsOf('a')) === JSON.stringify([other]));
});

test('a machine that replaces a dead one under its name is reported, and loses the taint', async t => {
  const { kubernetes, gateway, alive, start, die, taintsOf, untilTainted } = await open(t);
  start();
  die('a');
  await untilTainted();
  const nodeID = `a~${'k'.repeat(43)}`;
  kubernetes.putCsiNode('a', { name: driverName, nodeID });
  alive.add('a');
  kubernetes.putStatus('a', statusOf({ ready: 'True', uses: [] }));
  await until(() => JSON.stringify(taintsOf('a')) === JSON.stringify([other]));
  await until(() => gateway.nodes.has(nodeID) && !gateway.nodes.has('a'));
});

test('a node that is back is not detached again by a controller whose watch is late', async t => {
  const { kubernetes, gateway, alive, start, die, taintsOf, untilLooked } = await open(t);
  kubernetes.refuseChanges(true);
  start();
  die('a');
  await until(() => gateway.nodes.get('a')?.isDead === true);
  alive.add('a');
  await untilLooked();
  kubernetes.putStatus('a', statusOf({ ready: 'True', uses: [] }), 'unseen');
  const { length } = gateway.calls;
  kubernetes.refuseChanges(false);
  // Since the last comparison failed, the next one is of all nodes.
  kubernetes.putNode('b', { unschedulable: true, status: statusOf({ ready: 'True' }) });
  await until(() => gateway.nodes.get('a')?.isDead !== true);
  assert.deepEqual([gateway.calls.slice(length), taintsOf('a')], [['report a'], [other]]);
});

test('a report of a node that another controller has detached waits until the node is back', async t => {
  const { kubernetes, gateway, start, untilTainted } = await open(t);
  const { listNodes } = gateway.client;
  const listed = Promise.withResolvers<void>();
  gateway.client.listNodes = () => listNodes().finally(() => listed.resolve());
  start();
  await listed.promise;
  const node = { id: 'a', isDead: true } as const;
  kubernetes.putStatus('a', statusOf({ ready: 'Unknown' }));
  gateway.nodes.set('a', node);
  kubernetes.putCsiNode('a', { name: driverName, nodeID: 'a', allocatable: { count: 7 } });
  await untilTainted();
  assert.deepEqual([gateway.nodes.get('a'), [...new Set(gateway.calls)]], [node, ['detach a']]);
});

test('no node is dead while more than half of the nodes are silent', async t => {
  const { alive, start, die, untilTainted, untilLooked, requireAlone } = await open(t);
  start();
  // Kubernetes has noticed only one of the two.
  die('a');
  alive.delete('b');
  await untilLooked();
  requireAlone();
  alive.add('b');
  await untilTainted();
});

test('a node is dead only when its lease is silent and Kubernetes has noticed it', async t => {
  const { kubernetes, alive, start, die, untilTainted, untilLooked, requireAlone } = await open(t);
  start();
  die('a', { ready: 'True' });
  await untilLooked();
  requireAlone();
  alive.add('a');
  kubernetes.renew('a');
  kubernetes.putStatus('a', statusOf({ ready: 'False' }));
  await untilLooked();
  requireAlone();
  die('a');
  await untilTainted();
});

test('a renewal that the watch has not brought yet keeps a node alive', async t => {
  const { kubernetes, start, die, untilLooked, requireAlone } = await open(t);
  start();
  await until(() => kubernetes.isWatched(3));
  const before = kubernetes.asked.length;
  die('a');
  kubernetes.renew('a', 'unseen');
  const isJudged = () => kubernetes.asked.slice(before).includes(`GET ${leases}/a`);
  await until(isJudged);
  await untilLooked();
  requireAlone();
});

test('a node whose kubelet or agent still answers is left alone, and an Event says so', async t => {
  for (const program of ['kubelet', 'agent'] as const) {
    const { start, die, untilTainted, messageOf, untilLooked, requireAlone } = await open(t);
    const server = createServer((_, response) => void response.writeHead(503).end());
    const port = Number((await listen(t, server)).split(':').at(-1));
    start(program === 'agent' ? { agentPort: port } : {});
    die('a', program === 'kubelet' ? { kubelet: port } : {});
    await until(() => messageOf('notdetached') !== undefined);
    assert.match(String(messageOf('notdetached')), new RegExp(`left alone: its ${program} still answers; `));
    await untilLooked();
    requireAlone();
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
    await untilTainted();
  }
});

test('a frozen kubelet, whose kernel still accepts connections, does not answer', async t => {
  const { start, die, untilTainted } = await open(t);
  const sockets = new Set<Socket>();
  const server = createSocketServer(socket => void sockets.add(socket.on('error', () => {})));
  const port = Number((await listen(t, server)).split(':').at(-1));
  t.after(() => sockets.forEach(socket => socket.destroy()));
  start();
  die('a', { kubelet: port });
  await untilTainted();
  assert.ok(sockets.size > 0);
});

test('a node with volumes of another driver, or without volumes of this one, is left alone', async t => {
  const foreign = 'kubernetes.io/csi/other.example^x';
  const { kubernetes, start, die, untilTainted, messageOf, untilLooked, requireAlone } = await open(t);
  start();
  die('a', { uses: [] });
  await untilLooked();
  requireAlone();
  assert.equal(messageOf('notdetached'), undefined);
  kubernetes.putStatus('a', statusOf({ ready: 'Unknown', uses: [volume, foreign] }));
  await until(() =>
    String(messageOf('notdetached')).includes(`volumes of other drivers, such as "${foreign}"`),
  );
  requireAlone();
  kubernetes.putStatus('a', statusOf({ ready: 'Unknown' }));
  await untilTainted();
});

test('a dead node gets no taint while the gateway refuses its detachment or does not confirm it', async t => {
  const { gateway, start, die, taintsOf, untilTainted, messageOf } = await open(t);
  const refusal = new Problem('FAILED_PRECONDITION', 'pool "files" cannot cut node "a" off');
  const gone = new Problem('UNAVAILABLE', 'the gateway does not answer');
  gateway.faults.push(refusal);
  start();
  die('a');
  await until(() => String(messageOf('notdetached')).endsWith(refusal.detail));
  assert.deepEqual([gateway.calls[0], taintsOf('a')], ['detach a', [other]]);
  gateway.faults.push(gone, gone);
  await until(() => String(messageOf('notdetached')).endsWith(gone.detail));
  await untilTainted();
});

test('another controller continues with a node that the gateway has detached, even if the node is back', async t => {
  for (const ready of ['Unknown', 'True']) {
    const { kubernetes, gateway, start, die, alive, taintsOf, untilTainted, untilLooked } = await open(t);
    kubernetes.refuseChanges(true);
    const first = start();
    die('a');
    await until(() => gateway.nodes.get('a')?.isDead === true);
    await first.close();
    assert.deepEqual(taintsOf('a'), [other]);
    kubernetes.refuseChanges(false);
    if (ready === 'True') alive.add('a');
    kubernetes.putStatus('a', statusOf({ ready }));
    // The second controller has not seen the silence itself.
    start({ after: 3_600_000 });
    await untilTainted();
    await until(() => kubernetes.isWatched(3));
    kubernetes.putStatus('a', statusOf({ ready: 'True', uses: [] }));
    await until(() => gateway.nodes.get('a')?.isDead !== true);
    await until(() => JSON.stringify(taintsOf('a')) === JSON.stringify([other]));
    await untilLooked();
    assert.equal(gateway.calls.filter(call => call === 'report a').length, 1);
  }
});

test('a controller soon tries again to detach a node that another one began to detach', async t => {
  const { kubernetes, gateway, start, die, untilTainted } = await open(t);
  die('a');
  gateway.nodes.set('a', { id: 'a', isDead: true });
  gateway.faults.push(new Problem('UNAVAILABLE', 'volume "east.one" is busy'));
  // The second controller does not judge the node itself, and its maximum pause is longer than this test waits.
  start({ after: 3_600_000, lookEveryMs: 60_000 });
  await untilTainted();
  // A watch that begins anew would be a reason to try again, too.
  const watches = kubernetes.asked.filter(one => one.endsWith(' watch'));
  assert.equal(new Set(watches).size, watches.length);
});

test('a node that another controller has put back into service is not detached again', async t => {
  const { kubernetes, gateway, start, alive, die, untilTainted, taintsOf, untilLooked } = await open(t);
  start();
  die('a');
  await untilTainted();
  await until(() => kubernetes.isWatched(3));
  await untilLooked();
  // The other controller is faster, and a pod uses a volume there again.
  gateway.nodes.set('a', { id: 'a' });
  alive.add('a');
  kubernetes.putNode('a', { taints: [other], status: statusOf({ ready: 'True' }) });
  const { length } = gateway.calls;
  await untilLooked();
  assert.deepEqual(gateway.calls.slice(length), []);
  assert.deepEqual(taintsOf('a'), [other]);
});

test('dead nodes are left alone without deadNodes, and also a taint that a person gave', async t => {
  const { kubernetes, gateway, start, die, taintsOf, untilLooked, requireAlone } = await open(t);
  const byPerson = { ...mark, value: 'nodeshutdown' };
  const first = start({ after: 0 });
  die('a');
  await untilLooked();
  requireAlone();
  await first.close();
  kubernetes.putNode('a', { taints: [byPerson], status: statusOf({ ready: 'Unknown' }) });
  start();
  await untilLooked();
  kubernetes.putStatus('a', statusOf({ ready: 'True', uses: [] }));
  await untilLooked();
  assert.deepEqual([gateway.calls, taintsOf('a')], [[], [byPerson]]);
});

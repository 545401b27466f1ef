import type { StorageClient } from '../../api/client.ts';
import type { Node, NodeSpec } from '../../api/node.ts';
import { asProblem } from '../../api/problem.ts';
import { sameJson } from '../../lib/json.ts';
import type { Log } from '../../lib/log.ts';
import { type ApiServer, statusOf } from './api-server.ts';
import { startupTaintOf, type ClusterNode, type NodeObject, type Registration } from './objects.ts';

/** What of the gateway is called here. */
export type Gateway = Pick<StorageClient, 'listNodes' | 'putNode' | 'deleteNode'>;

/** The nodes of a cluster by their names in Kubernetes, and the driver on them. */
export type Cluster = {
  readonly nodes: ReadonlyMap<string, ClusterNode>;
  readonly registrations: ReadonlyMap<string, Registration | undefined>;
};

/** Who is told what is not so yet. */
export type Compared = {
  readonly client: Gateway;
  readonly server: ApiServer;
  readonly driverName: string;
  readonly drainedNodes: string | undefined;
  readonly log: Log;
};

const callTimeoutMs = 15_000;
const deadline = () => ({ deadlineMs: Date.now() + callTimeoutMs });

/** Makes the gateway know the cluster's nodes, and the cluster which of them are ready. What fails for one node is logged, and throws at the end. */
export async function compareNodes(compared: Compared, cluster: Cluster): Promise<void> {
  const registered = [...cluster.registrations].flatMap(([name, registration]) => {
    const node = cluster.nodes.get(name);
    return node && registration ? [{ name, node, registration }] : [];
  });
  const wanted = new Map(
    registered.map(({ node, registration }) => [registration.nodeId, toSpec(node, registration)]),
  );
  const works = [...(await findChanges(compared, wanted))];
  for (const { name, node } of registered)
    if (node.hasStartupTaint) works.push(() => removeStartupTaint(compared, name));
  const drained = registered
    .filter(({ node }) => node.isDrained)
    .map(({ registration }) => registration.nodeId);
  works.push(() => recordDrained(compared, drained));
  const faults: unknown[] = [];
  for (const work of works) await work().catch((error: unknown) => faults.push(error));
  if (faults.length > 0) throw faults[0];
}

/** Labels that a node lacks say nothing. */
function toSpec({ labels }: ClusterNode, { maxVolumes, topologyKeys }: Registration): NodeSpec {
  const segments = topologyKeys.flatMap(key => (labels[key] ? [[key, labels[key]] as const] : []));
  return {
    ...(maxVolumes !== undefined && { maxVolumes }),
    ...(segments.length > 0 && { topology: Object.fromEntries(segments) }),
  };
}

/** What the gateway is to be told: nodes that it does not know so, and those that it knows and that have left. */
async function findChanges({ client, log }: Compared, wanted: ReadonlyMap<string, NodeSpec>) {
  const known = new Map((await listAll(client)).map(({ id, ...spec }) => [id, spec]));
  const puts = [...wanted]
    .filter(([nodeId, spec]) => !sameJson(known.get(nodeId), spec))
    .map(([nodeId, body]) => async () => {
      await client.putNode({ nodeId, body }, deadline());
      log.info('the node was reported', { nodeId });
    });
  const deletes = [...known.keys()]
    .filter(nodeId => !wanted.has(nodeId))
    .map(nodeId => async () => {
      try {
        await client.deleteNode({ nodeId }, deadline());
        log.info('the node left', { nodeId });
      } catch (error) {
        // It is asked for again later, when its volumes are detached.
        if (asProblem(error).code !== 'FAILED_PRECONDITION') throw error;
      }
    });
  return [...puts, ...deletes];
}

async function listAll(client: Gateway): Promise<readonly Node[]> {
  const nodes: Node[] = [];
  for (let pageToken: string | undefined; ;) {
    const page = await client.listNodes(
      { limit: 0, ...(pageToken !== undefined && { pageToken }) },
      deadline(),
    );
    nodes.push(...page.nodes);
    pageToken = page.nextPageToken;
    if (pageToken === undefined) return nodes;
  }
}

/** Lets pods come to a node. Whoever changes its taints at the same time comes first, and this is done again. */
async function removeStartupTaint({ server, driverName, log }: Compared, name: string): Promise<void> {
  const path = `/api/v1/nodes/${encodeURIComponent(name)}`;
  const { metadata, spec } = await server.read<NodeObject>(path);
  const taints = spec.taints ?? [];
  const others = taints.filter(({ key }) => key !== startupTaintOf(driverName));
  if (others.length === taints.length) return;
  await server.patch(path, 'application/merge-patch+json', {
    metadata: { resourceVersion: metadata.resourceVersion },
    spec: { taints: others },
  });
  log.info('the start-up taint was removed', { nodeId: name });
}

/** Writes the ids of nodes that are being drained, one to a line, where agents read them. */
async function recordDrained(
  { server, drainedNodes, driverName }: Compared,
  ids: readonly string[],
): Promise<void> {
  if (drainedNodes === undefined) return;
  const [namespace = '', name = ''] = drainedNodes.split('/');
  const path = `/api/v1/namespaces/${namespace}/configmaps/${name}`;
  const nodes = ids
    .toSorted()
    .map(id => `${id}\n`)
    .join('');
  const current = await server
    .read<{ readonly data?: { readonly nodes?: string } }>(path)
    .catch((error: unknown) => {
      if (statusOf(error) === 404) return undefined;
      throw error;
    });
  if (current?.data?.nodes === nodes) return;
  await server.patch(`${path}?fieldManager=${driverName}&force=true`, 'application/apply-patch+yaml', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace, name },
    data: { nodes },
  });
}

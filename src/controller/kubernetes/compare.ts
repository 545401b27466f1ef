import type { StorageClient } from '../../api/client.ts';
import { readNodeId } from '../../api/ids.ts';
import type { Node, NodeSpec } from '../../api/node.ts';
import { asProblem } from '../../api/problem.ts';
import { sameJson } from '../../lib/json.ts';
import type { Log } from '../../lib/log.ts';
import { updateAgents, type AgentChannel } from './agents.ts';
import { startupTaintOf, type ClusterNode, type NodeObject, type Registration } from './objects.ts';

export type Gateway = Pick<StorageClient, 'listNodes' | 'putNode' | 'deleteNode'>;

/** A cluster's nodes, and the driver's registration on each, by the node's name in Kubernetes. */
export type Cluster = {
  readonly nodes: ReadonlyMap<string, ClusterNode>;
  readonly registrations: ReadonlyMap<string, Registration | undefined>;
};

/** The reason why a node is not reported. */
export type RefusalReason = 'foreign-id' | 'second-key';

/** A CSINode that is not reported. `name` is the name of its Node. */
export type RefusedNode = {
  readonly name: string;
  readonly nodeId: string;
  readonly reason: RefusalReason;
  readonly detail: string;
};

/** The gateway, the agents and the log that a comparison updates. */
type ComparisonTargets = AgentChannel & {
  readonly client: Gateway;
  /** Gets all nodes that are refused at present, at the end of each comparison. */
  readonly onRefused: (refused: readonly RefusedNode[]) => void;
  readonly log: Log;
};

const callTimeoutMs = 15_000;
const deadline = () => ({ deadlineMs: Date.now() + callTimeoutMs });

/**
 * Reports the cluster's nodes to the gateway, removes start-up taints, and updates the agents. Passes refused nodes
 * to `onRefused`. After any other failure it continues with the other nodes, and throws the first failure at the end.
 */
export async function compareNodes(compared: ComparisonTargets, cluster: Cluster): Promise<void> {
  const nodes = [...cluster.registrations].flatMap(([name, registration]) => {
    const node = cluster.nodes.get(name);
    return node && registration ? [{ name, node, registration }] : [];
  });
  const refused = nodes.filter(isForeign).map(toForeign);
  const registered = nodes.filter(one => !isForeign(one));
  const { deletes, puts } = await findChanges(compared, registered);
  const steps = [...deletes];
  for (const [one, put] of puts)
    steps.push(() =>
      put().catch((error: unknown) => {
        const { code, detail } = asProblem(error);
        if (code !== 'FAILED_PRECONDITION') throw error;
        refused.push(toRefused(one, 'second-key', detail));
      }),
    );
  for (const { name, node } of registered)
    if (node.hasStartupTaint)
      steps.push(async () => {
        if (refused.every(one => one.name !== name)) await removeStartupTaint(compared, name);
      });
  const drained = registered
    .filter(({ node }) => node.isDrained)
    .map(({ registration }) => registration.nodeId);
  steps.push(() => updateAgents(compared, drained));
  const faults: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => faults.push(error));
  compared.onRefused(refused);
  if (faults.length > 0) throw faults[0];
}

type RegisteredNode = {
  readonly name: string;
  readonly node: ClusterNode;
  readonly registration: Registration;
};

/** True when a CSINode has the id of a node with another name. A kubelet can write any id into its CSINode. */
function isForeign({ name, registration }: RegisteredNode): boolean {
  return readNodeId(registration.nodeId).name !== name;
}

function toForeign(foreign: RegisteredNode): RefusedNode {
  const { name, registration } = foreign;
  const idName = readNodeId(registration.nodeId).name;
  const detail = `the CSINode of node "${name}" has a node id with the name "${idName}"; start the agent there with --node-id ${name}`;
  return toRefused(foreign, 'foreign-id', detail);
}

function toRefused(
  { name, registration }: RegisteredNode,
  reason: RefusalReason,
  detail: string,
): RefusedNode {
  return { name, nodeId: registration.nodeId, reason, detail };
}

/** Makes the node's specification. Topology keys without a label on the node are left out. */
function toSpec({ labels }: ClusterNode, { maxVolumes, topologyKeys }: Registration): NodeSpec {
  const segments = topologyKeys.flatMap(key => (labels[key] ? [[key, labels[key]] as const] : []));
  return {
    ...(maxVolumes !== undefined && { maxVolumes }),
    ...(segments.length > 0 && { topology: Object.fromEntries(segments) }),
  };
}

/**
 * Finds the nodes that have left but that the gateway still knows, and the nodes that the gateway does not know as
 * they are now.
 */
async function findChanges({ client, log }: ComparisonTargets, registered: readonly RegisteredNode[]) {
  const known = new Map((await listAll(client)).map(node => [node.id, node]));
  const wanted = new Set(registered.map(({ registration }) => registration.nodeId));
  const puts = registered.flatMap(one => {
    const { nodeId } = one.registration;
    const body = toSpec(one.node, one.registration);
    // A node that has come back differs by its `isGone`, and the report ends this.
    if (sameJson(known.get(nodeId), { id: nodeId, ...body })) return [];
    const put = async () => {
      await client.putNode({ nodeId, body }, deadline());
      log.info('reported the node', { nodeId });
    };
    return [[one, put] as const];
  });
  const deletes = [...known.keys()]
    .filter(nodeId => !wanted.has(nodeId))
    .map(nodeId => async () => {
      try {
        await client.deleteNode({ nodeId }, deadline());
        log.info('the node has left the cluster', { nodeId });
      } catch (error) {
        // The next comparison tries again, until the node's volumes are detached.
        if (asProblem(error).code !== 'FAILED_PRECONDITION') throw error;
      }
    });
  return { deletes, puts };
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

/**
 * Removes the taint that keeps pods off a new node. Fails on a concurrent change of the node's taints; the next
 * comparison tries again.
 */
async function removeStartupTaint(
  { server, driverName, log }: ComparisonTargets,
  name: string,
): Promise<void> {
  const path = `/api/v1/nodes/${encodeURIComponent(name)}`;
  const { metadata, spec } = await server.read<NodeObject>(path);
  const taints = spec.taints ?? [];
  const others = taints.filter(({ key }) => key !== startupTaintOf(driverName));
  if (others.length === taints.length) return;
  await server.patch(path, 'application/merge-patch+json', {
    metadata: { resourceVersion: metadata.resourceVersion },
    spec: { taints: others },
  });
  log.info('removed the start-up taint', { nodeId: name });
}

import { readNodeId } from '../../api/ids.ts';
import type { Node, NodeSpec } from '../../api/node.ts';
import { asProblem } from '../../api/problem.ts';
import { forEachAtMost } from '../../lib/concurrency.ts';
import { sameJson } from '../../lib/json.ts';
import type { Log } from '../../lib/log.ts';
import { updateAgents, type AgentChannel } from './agents.ts';
import { deadline, findNode, type Gateway } from './gateway.ts';
import {
  startupTaintOf,
  type ClusterNode,
  type RegisteredNode,
  type Registration,
  type Taint,
} from './objects.ts';
import { settleDead, type SettleTargets } from './settle-dead.ts';
import { changeTaints } from './taints.ts';

/** A cluster's nodes, and the driver's registration on each, by the node's name in Kubernetes. */
export type Cluster = {
  readonly nodes: ReadonlyMap<string, ClusterNode>;
  readonly registrations: ReadonlyMap<string, Registration | undefined>;
  /** The names of nodes that were found dead since the last comparison. */
  readonly dead: ReadonlySet<string>;
};

export type RefusalReason = 'foreign-id' | 'second-key';

/** A CSINode that is not reported. `name` is the name of its Node. */
export type RefusedNode = {
  readonly name: string;
  readonly nodeId: string;
  readonly reason: RefusalReason;
  readonly detail: string;
};

/** The gateway, the agents and the log that a comparison updates. */
type ComparisonTargets = AgentChannel &
  SettleTargets & {
    readonly client: Gateway;
    /** The gateway has pools that need the addresses, the names and the providers' ids of nodes. */
    readonly needsDetails: () => boolean;
    /** Gets all nodes that are refused at present, at the end of each comparison. */
    readonly onRefused: (refused: readonly RefusedNode[]) => void;
    readonly log: Log;
  };

/** The number of nodes that are changed at a time: a new cluster may have thousands, and each costs a round trip. */
const maxInFlight = 16;

/** One comparison: of the nodes with these names, or of all nodes if `names` is undefined. */
export type Comparison = (
  targets: ComparisonTargets,
  cluster: Cluster,
  names: ReadonlySet<string> | undefined,
) => Promise<void>;

/**
 * Creates the comparison of the cluster's nodes with the gateway's. It reports nodes to the gateway, removes start-up
 * taints, and updates the agents. It passes refused nodes to `onRefused`. After any other failure it continues with
 * the other nodes, and throws the first failure at the end.
 *
 * A comparison of all nodes reads the list of the gateway. Later ones remember it, so that their requests depend only on
 * the nodes that they compare.
 */
export function createComparison(): Comparison {
  /** The nodes that the gateway knows, by name and id. */
  let known = new Map<string, Map<string, Node>>();
  const refused = new Map<string, RefusedNode>();
  /** The names of nodes to compare again, because the gateway refused a change of them. */
  const unsettled = new Set<string>();

  async function readKnown(client: Gateway): Promise<void> {
    const all = await listAll(client);
    known = new Map(
      [...Map.groupBy(all, ({ id }) => readNodeId(id).name)].map(([name, nodes]) => [
        name,
        new Map(nodes.map(node => [node.id, node])),
      ]),
    );
    for (const names of [refused, unsettled]) names.clear();
  }

  function remember(name: string, node: Node): void {
    known.getOrInsertComputed(name, () => new Map<string, Node>()).set(node.id, node);
  }

  async function remove({ client, log }: ComparisonTargets, name: string, node: Node): Promise<void> {
    const { id: nodeId } = node;
    try {
      await client.deleteNode({ nodeId }, deadline());
      known.get(name)?.delete(nodeId);
      log.info('the node has left the cluster', { nodeId });
    } catch (error) {
      // Later comparisons try again, until the node's volumes are detached.
      if (asProblem(error).code !== 'FAILED_PRECONDITION') throw error;
      unsettled.add(name);
      remember(name, { ...node, isMissing: true });
    }
  }

  async function put(targets: ComparisonTargets, one: RegisteredNode, body: NodeSpec): Promise<void> {
    const { client, log } = targets;
    const { name, registration } = one;
    const { nodeId } = registration;
    // Another controller may have detached the node as dead since the last comparison, and a report would end that.
    const isKnown = known.get(name)?.has(nodeId) ?? false;
    if (isKnown && (await findNode(client, nodeId))?.isDead) return settle(targets, one, body);
    try {
      await client.putNode({ nodeId, body }, deadline());
      remember(name, { id: nodeId, ...body });
      log.info('reported the node', { nodeId });
    } catch (error) {
      const { code, detail } = asProblem(error);
      if (code !== 'FAILED_PRECONDITION') throw error;
      unsettled.add(name);
      refused.set(name, toRefused(one, 'second-key', detail));
    }
  }

  async function settle(targets: ComparisonTargets, one: RegisteredNode, body: NodeSpec): Promise<void> {
    const { node, isSettled } = await settleDead(targets, one, body);
    if (node) remember(one.name, node);
    if (!isSettled) unsettled.add(one.name);
  }

  /** Lists the steps for one node: first deletions, then reports, then start-up taints. */
  function findSteps(targets: ComparisonTargets, cluster: Cluster, name: string): Steps {
    for (const names of [refused, unsettled]) names.delete(name);
    const found = findRegistered(cluster, name);
    const isOther = found !== undefined && isForeign(found);
    if (isOther) refused.set(name, toForeign(found));
    const one = isOther ? undefined : found;
    const nodeId = one?.registration.nodeId;
    const ofName = known.get(name) ?? new Map<string, Node>();
    const left = [...ofName.values()].filter(({ id }) => id !== nodeId);
    const deletions = left.map(node => () => remove(targets, name, node));
    if (!one || nodeId === undefined) return [deletions, [], []];
    const body = toSpec(one, targets.needsDetails());
    if (cluster.dead.has(name) || one.node.isMarkedDead || ofName.get(nodeId)?.isDead)
      return [deletions, [() => settle(targets, one, body)], []];
    // A node that has come back differs by its `isMissing`, and the report ends this.
    const isKnown = sameJson(ofName.get(nodeId), { id: nodeId, ...body });
    return [
      deletions,
      isKnown ? [] : [() => put(targets, one, body)],
      one.node.hasStartupTaint ? [untaint] : [],
    ];

    async function untaint(): Promise<void> {
      // The gateway may have refused the report just before.
      if (refused.has(name)) return;
      const key = startupTaintOf(targets.driverName);
      const change = (taints: readonly Taint[]) => taints.filter(taint => taint.key !== key);
      if (await changeTaints({ ...targets, name, change }))
        targets.log.info('removed the start-up taint', { nodeId: name });
    }
  }

  return async (targets, cluster, changed) => {
    if (!changed) await readKnown(targets.client);
    const names = changed ? [...changed, ...unsettled] : [...cluster.registrations.keys(), ...known.keys()];
    const found = [...new Set(names)].map(name => findSteps(targets, cluster, name));
    const faults: unknown[] = [];
    const run = (step: Step): Promise<unknown> => step().catch((error: unknown) => faults.push(error));
    for (const phase of [0, 1, 2])
      await forEachAtMost(
        maxInFlight,
        found.flatMap(phases => phases[phase] ?? []),
        run,
      );
    await run(() => updateAgents(targets, findDrained(cluster)));
    targets.onRefused([...refused.values()]);
    if (faults.length > 0) throw faults[0];
  };
}

type Step = () => Promise<void>;
type Steps = readonly (readonly Step[])[];

function findRegistered({ nodes, registrations }: Cluster, name: string): RegisteredNode | undefined {
  const [node, registration] = [nodes.get(name), registrations.get(name)];
  return node && registration && { name, node, registration };
}

/** Lists the ids of nodes that are being drained. */
function findDrained(cluster: Cluster): readonly string[] {
  return [...cluster.nodes].flatMap(([name, { isDrained }]) => {
    const one = isDrained ? findRegistered(cluster, name) : undefined;
    return one && !isForeign(one) ? [one.registration.nodeId] : [];
  });
}

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

/**
 * Makes the node's specification. Topology keys without a label on the node are left out, and so are details that the
 * gateway does not need: one of an earlier release refuses them.
 */
function toSpec({ name, node, registration }: RegisteredNode, needsDetails: boolean): NodeSpec {
  const [{ labels, addresses, providerId }, { maxVolumes, topologyKeys }] = [node, registration];
  const segments = topologyKeys.flatMap(key => (labels[key] ? [[key, labels[key]] as const] : []));
  return {
    ...(maxVolumes !== undefined && { maxVolumes }),
    ...(segments.length > 0 && { topology: Object.fromEntries(segments) }),
    ...(needsDetails && {
      name,
      ...(providerId !== undefined && { providerId }),
      ...(addresses.length > 0 && { addresses: [...addresses] }),
    }),
  };
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

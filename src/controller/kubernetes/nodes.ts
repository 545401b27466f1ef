import type { GatewayKeySet } from '../../api/http/gateway-keys.ts';
import { readNodeId } from '../../api/ids.ts';
import { asProblem } from '../../api/problem.ts';
import { repeat } from '../../lib/concurrency.ts';
import type { Log } from '../../lib/log.ts';
import { createApiServer } from './api-server.ts';
import { defaultLookMs, looksPerJudgement, watchDeadNodes } from './dead-nodes.ts';
import { createNews, type DeadNodeNews } from './events.ts';
import { createComparison, type Cluster, type RefusedNode } from './compare.ts';
import { readConnection } from './connection.ts';
import { follow } from './follow.ts';
import { deadline, type Gateway } from './gateway.ts';
import {
  readNode,
  readRegistration,
  type CsiNodeObject,
  type NodeObject,
  type Registration,
} from './objects.ts';

/** The cluster whose nodes are reported, and the gateway that gets them. */
type NodeOptions = {
  readonly client: Gateway;
  /** The gateway has pools that admit nodes by their addresses. Absent: it has none. */
  readonly needsDetails?: () => boolean;
  readonly driverName: string;
  /** The value of `--kubernetes`. */
  readonly kubernetes: string;
  /** The ConfigMap, as `namespace/name`, that tells agents which nodes are being drained, and the gateway's keys. */
  readonly drainedNodes: string | undefined;
  /** Reads the gateway's public keys; undefined when the gateway has none. */
  readonly readGatewayKeys?: () => Promise<GatewayKeySet | undefined>;
  /** Gets all nodes that are refused at present, at the end of each comparison. */
  readonly observeRefused?: (refused: readonly RefusedNode[]) => void;
  /** See `watchDeadNodes`. Absent: dead nodes are left alone. */
  readonly deadNodes?: Pick<Parameters<typeof watchDeadNodes>[0], 'afterMs' | 'agentPort' | 'lookEveryMs'>;
  readonly log: Log;
};

/**
 * The time to collect changes, the maximum pause after a failure, and the maximum time between two comparisons, in ms. A
 * comparison is one of all nodes if the last such comparison began at least `everyMs / 2` ago, so at most 1.5 times
 * `everyMs` lies between two of these.
 */
const [collectMs, retryMs, everyMs] = [100, 10_000, 300_000] as const;
/** The pause after the first failure in a row. It doubles with each: a gateway that was restarted is back soon. */
const firstRetryMs = 1_000;

/** With more topology keys all labels are kept: a kubelet can register any keys, and each new one lists all nodes. */
const maxTopologyKeys = 16;

/**
 * Reports to the gateway the nodes with the driver, and the nodes that have left the cluster; removes start-up taints
 * and updates the agents. Every replica of the controller may do so: a comparison leaves equal records alone.
 */
export function reportNodes(given: NodeOptions) {
  const { driverName, kubernetes, observeRefused, deadNodes, log, ...rest } = given;
  const options = { needsDetails: () => false, ...rest };
  const ending = new AbortController();
  const { signal } = ending;
  const cluster: { nodes?: Cluster['nodes']; registrations?: Map<string, Registration | undefined> } = {};
  const compareNodes = createComparison();
  /** The names of nodes that have changed since the last comparison; undefined: all nodes have to be compared. */
  let changed: Set<string> | undefined;
  let allComparedMs = 0;
  let collecting: { readonly timer: ReturnType<typeof setTimeout>; readonly atMs: number } | undefined;
  let refusals = new Set<string>();
  /** The number of comparisons in a row that failed, and that left a dead node to a later one. */
  let [failures, delays] = [0, 0];
  /** The names of dead nodes for the next comparison. */
  let dead = new Set<string>();
  const report = createNews({ driverName, log });
  const maxRetryDeadMs = looksPerJudgement * (deadNodes?.lookEveryMs ?? defaultLookMs);

  async function compare(): Promise<void> {
    const { nodes, registrations } = cluster;
    if (!nodes || !registrations || signal.aborted) return;
    // A registration with a new key may arrive meanwhile, and these nodes do not have its labels.
    const view = { nodes, registrations: new Map(registrations), dead };
    dead = new Set();
    const isDue = performance.now() - allComparedMs >= everyMs / 2;
    const names = isDue ? undefined : changed;
    if (!names) allComparedMs = performance.now();
    changed = new Set();
    let isSettled = true;
    try {
      const server = createApiServer(await readConnection(kubernetes), signal);
      const onNews = (news: DeadNodeNews): Promise<void> => {
        if (news.reason === 'NotDetached' || news.reason === 'NotInService') isSettled = false;
        return report(server, news);
      };
      const { agentPort } = deadNodes ?? {};
      const targets = { ...options, agentPort, onRefused, onNews, log, server, driverName };
      await compareNodes(targets, view, names).finally(() => server.close());
      failures = 0;
      if (isSettled) delays = 0;
      else compareAfter(retryPauseMs(delays++, maxRetryDeadMs));
    } catch (error) {
      changed = undefined;
      if (signal.aborted) return;
      log.warn('cannot report nodes to the gateway', { detail: asProblem(error).detail });
      compareAfter(retryPauseMs(failures++, retryMs));
    }
  }

  /** Logs each refusal once. Retries a second key soon, because the first key's node may be drained at any time. */
  function onRefused(refused: readonly RefusedNode[]): void {
    observeRefused?.(refused);
    for (const { nodeId, detail } of refused)
      if (!refusals.has(detail)) log.warn('the node is not reported', { nodeId, detail });
    refusals = new Set(refused.map(({ detail }) => detail));
    if (refused.some(({ reason }) => reason === 'second-key')) compareAfter(retryMs);
  }

  const comparing = repeat(compare, everyMs);
  /** Compares in `ms`, or sooner if a comparison is due before. */
  function compareAfter(ms: number): void {
    const atMs = performance.now() + ms;
    if (signal.aborted || (collecting && collecting.atMs <= atMs)) return;
    clearTimeout(collecting?.timer);
    const timer = setTimeout(() => {
      collecting = undefined;
      comparing.again();
    }, ms);
    collecting = { timer, atMs };
  }

  function noteChange(name: string | undefined): void {
    if (name === undefined) changed = undefined;
    else changed?.add(name);
    compareAfter(collectMs);
  }

  const source = { kubernetes, log, signal };
  const watches: Promise<void>[] = [];
  /** The topology keys of all registrations so far. */
  const topologyKeys = new Set<string>();
  let listing: AbortController | undefined;

  /** Lists all nodes, with the labels of the present topology keys. Until then no nodes are compared. */
  function followNodes(): void {
    listing?.abort();
    const own = (listing = new AbortController());
    delete cluster.nodes;
    const kept = topologyKeys.size > maxTopologyKeys ? undefined : topologyKeys;
    const following = follow(
      { ...source, signal: AbortSignal.any([signal, own.signal]) },
      {
        path: '/api/v1/nodes',
        read: (node: NodeObject) => readNode(node, driverName, kept),
        onChange(all, name) {
          if (own.signal.aborted) return;
          cluster.nodes = all;
          noteChange(name);
        },
      },
    );
    watches.push(following);
  }

  function addTopologyKeys(registrations: Iterable<Registration | undefined>): void {
    const before = topologyKeys.size;
    if (before > maxTopologyKeys) return;
    for (const one of registrations) for (const key of one?.topologyKeys ?? []) topologyKeys.add(key);
    if (!listing || topologyKeys.size > before) followNodes();
  }

  watches.push(
    follow(source, {
      path: '/apis/storage.k8s.io/v1/csinodes',
      read: (node: CsiNodeObject) => readRegistration(node, driverName),
      onChange(all, name) {
        // Kubelet shortly has no driver registered while an agent is replaced. The last registration stays: the node
        // has not left.
        const before = cluster.registrations;
        const latest = (one: string): Registration | undefined => all.get(one) ?? before?.get(one);
        if (!before || name === undefined)
          cluster.registrations = new Map(all.keys().map(one => [one, latest(one)]));
        else if (all.has(name)) before.set(name, latest(name));
        else before.delete(name);
        addTopologyKeys(name === undefined ? all.values() : [all.get(name)]);
        noteChange(name);
      },
    }),
  );
  /** Detaches a dead node. The comparison that follows asks the gateway how far this came. */
  async function detach(name: string): Promise<void> {
    const nodeId = cluster.registrations?.get(name)?.nodeId;
    // A kubelet can write another node's id into its CSINode.
    if (nodeId === undefined || readNodeId(nodeId).name !== name) return;
    try {
      await options.client.detachDeadNode({ nodeId }, deadline());
    } finally {
      dead.add(name);
      noteChange(name);
    }
  }

  const watchingDead =
    deadNodes &&
    watchDeadNodes({
      ...source,
      ...deadNodes,
      driverName,
      nodes: () => cluster.nodes,
      detach,
      report,
    });
  return {
    /** Stops all work, and resolves once none is running. */
    async close(): Promise<void> {
      ending.abort(new Error('the controller ends'));
      clearTimeout(collecting?.timer);
      await Promise.all([...watches, comparing.close(), watchingDead?.close()]);
    },
  };
}

/** Returns the pause after a failure that followed `count` others. */
function retryPauseMs(count: number, maxMs: number): number {
  return Math.min(firstRetryMs * 2 ** count, maxMs);
}

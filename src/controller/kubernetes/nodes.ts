import type { GatewayKeySet } from '../../api/http/gateway-keys.ts';
import { asProblem } from '../../api/problem.ts';
import { repeat } from '../../lib/concurrency.ts';
import type { Log } from '../../lib/log.ts';
import { createApiServer } from './api-server.ts';
import { compareNodes, type Cluster, type Gateway, type RefusedNode } from './compare.ts';
import { readConnection } from './connection.ts';
import { follow } from './follow.ts';
import { readNode, readRegistration, type CsiNodeObject, type NodeObject } from './objects.ts';

/** The cluster whose nodes are reported, and the gateway that gets them. */
type NodeOptions = {
  readonly client: Gateway;
  readonly driverName: string;
  /** The value of `--kubernetes`. */
  readonly kubernetes: string;
  /** The ConfigMap, as `namespace/name`, that tells agents which nodes are being drained, and the gateway's keys. */
  readonly drainedNodes: string | undefined;
  /** Reads the gateway's public keys; undefined when the gateway has none. */
  readonly readGatewayKeys?: () => Promise<GatewayKeySet | undefined>;
  /** Gets all nodes that are refused at present, at the end of each comparison. */
  readonly observeRefused?: (refused: readonly RefusedNode[]) => void;
  readonly log: Log;
};

/**
 * The time to collect changes, the pause after a failure, and the time between two comparisons without a change, in
 * ms.
 */
const [collectMs, retryMs, everyMs] = [100, 10_000, 300_000] as const;

/**
 * Reports to the gateway the nodes with the driver, and the nodes that have left the cluster; removes start-up taints
 * and updates the agents. Every replica of the controller may do so: a comparison leaves equal records alone.
 */
export function reportNodes({ driverName, kubernetes, observeRefused, log, ...options }: NodeOptions) {
  const ending = new AbortController();
  const { signal } = ending;
  const cluster: { -readonly [K in keyof Cluster]?: Cluster[K] } = {};
  let collecting: { readonly timer: ReturnType<typeof setTimeout>; readonly atMs: number } | undefined;
  let refusals = new Set<string>();

  async function compare(): Promise<void> {
    const { nodes, registrations } = cluster;
    if (!nodes || !registrations || signal.aborted) return;
    try {
      const server = createApiServer(await readConnection(kubernetes), signal);
      const targets = { ...options, onRefused, log, server, driverName };
      await compareNodes(targets, { nodes, registrations }).finally(() => server.close());
    } catch (error) {
      if (signal.aborted) return;
      log.warn('cannot report nodes to the gateway', { detail: asProblem(error).detail });
      compareAfter(retryMs);
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

  const source = { kubernetes, log, signal };
  const watches = [
    follow(source, {
      path: '/api/v1/nodes',
      read: (node: NodeObject) => readNode(node, driverName),
      onChange(all) {
        cluster.nodes = all;
        compareAfter(collectMs);
      },
    }),
    follow(source, {
      path: '/apis/storage.k8s.io/v1/csinodes',
      read: (node: CsiNodeObject) => readRegistration(node, driverName),
      onChange(all) {
        const before = cluster.registrations;
        // Kubelet shortly has no driver registered while an agent is replaced. The last registration stays: the node
        // has not left.
        cluster.registrations = new Map([...all].map(([name, now]) => [name, now ?? before?.get(name)]));
        compareAfter(collectMs);
      },
    }),
  ];
  return {
    /** Stops all work, and resolves once none is running. */
    async close(): Promise<void> {
      ending.abort(new Error('the controller ends'));
      clearTimeout(collecting?.timer);
      await Promise.all([...watches, comparing.close()]);
    },
  };
}

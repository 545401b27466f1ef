import { asProblem } from '../../api/problem.ts';
import { repeat } from '../../lib/concurrency.ts';
import type { Log } from '../../lib/log.ts';
import { createApiServer } from './api-server.ts';
import { compareNodes, type Cluster, type Gateway } from './compare.ts';
import { readConnection } from './connection.ts';
import { follow } from './follow.ts';
import { readNode, readRegistration, type CsiNodeObject, type NodeObject } from './objects.ts';

/** Which cluster's nodes are reported, and to whom. */
type NodeOptions = {
  readonly client: Gateway;
  readonly driverName: string;
  /** As `--kubernetes` says. */
  readonly kubernetes: string;
  /** The ConfigMap, as `namespace/name`, in which agents find whether their node is being drained. */
  readonly drainedNodes: string | undefined;
  readonly log: Log;
};

/** How long changes are collected, how soon what failed is tried again, and how often all is compared all the same. */
const [collectMs, retryMs, everyMs] = [100, 10_000, 300_000] as const;

/**
 * Tells the gateway which nodes the driver is registered on, and which have left the cluster; takes the start-up taint off
 * nodes, and tells agents of drains. Each replica of the controller may do it: what is so already is not done again.
 */
export function reportNodes({ driverName, kubernetes, log, ...options }: NodeOptions) {
  const ending = new AbortController();
  const { signal } = ending;
  const cluster: { -readonly [K in keyof Cluster]?: Cluster[K] } = {};
  let collecting: ReturnType<typeof setTimeout> | undefined;

  async function compare(): Promise<void> {
    const { nodes, registrations } = cluster;
    if (!nodes || !registrations || signal.aborted) return;
    try {
      const server = createApiServer(await readConnection(kubernetes), signal);
      await compareNodes({ ...options, log, server, driverName }, { nodes, registrations }).finally(() =>
        server.close(),
      );
    } catch (error) {
      if (signal.aborted) return;
      log.warn('nodes could not be reported', { detail: asProblem(error).detail });
      compareAfter(retryMs);
    }
  }

  const comparing = repeat(compare, everyMs);
  function compareAfter(ms: number): void {
    if (signal.aborted) return;
    collecting ??= setTimeout(() => {
      collecting = undefined;
      comparing.again();
    }, ms);
  }

  const source = { kubernetes, log, signal };
  const following = [
    follow(source, {
      path: '/api/v1/nodes',
      read: (node: NodeObject) => readNode(node, driverName),
      tell(all) {
        cluster.nodes = all;
        compareAfter(collectMs);
      },
    }),
    follow(source, {
      path: '/apis/storage.k8s.io/v1/csinodes',
      read: (node: CsiNodeObject) => readRegistration(node, driverName),
      tell(all) {
        const before = cluster.registrations;
        // While an agent is replaced kubelet registers no driver: the node has not left.
        cluster.registrations = new Map([...all].map(([name, now]) => [name, now ?? before?.get(name)]));
        compareAfter(collectMs);
      },
    }),
  ];
  return {
    /** Ends all that is under way. */
    async close(): Promise<void> {
      ending.abort(new Error('the controller ends'));
      clearTimeout(collecting);
      await Promise.all([...following, comparing.close()]);
    },
  };
}

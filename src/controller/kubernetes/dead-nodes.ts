import { asProblem } from '../../api/problem.ts';
import { forEachAtMost, repeat } from '../../lib/concurrency.ts';
import { createApiServer, type ApiServer } from './api-server.ts';
import type { Cluster } from './compare.ts';
import { readConnection } from './connection.ts';
import type { DeadNodeNews } from './events.ts';
import { follow, type KubernetesObject, type Source } from './follow.ts';
import { readHealthPage } from './health-page.ts';
import { addressOf, nodePath, readNode, type NodeObject, toVolumeUse } from './objects.ts';

type LeaseObject = KubernetesObject & { readonly spec?: { readonly renewTime?: string } };
/** The last renewal of a node's lease, the time when this process saw it, and the time when it judged the node. */
type Renewal = { readonly renewTime: string; readonly atMs: number; judgedMs?: number };

type WatchOptions = Source & {
  readonly driverName: string;
  /** The port of the agents' health check on the nodes' addresses; undefined: agents are not asked. */
  readonly agentPort: number | undefined;
  /** Returns the time after which a silent node is dead; undefined while dead nodes are left alone. */
  readonly afterMs: () => number | undefined;
  readonly nodes: () => Cluster['nodes'] | undefined;
  /** Detaches all volumes from a dead node. Called again until the node is out of service or back. */
  readonly detach: (name: string) => Promise<void>;
  readonly report: (server: ApiServer, news: DeadNodeNews) => Promise<void>;
  /** The maximum time between two looks, in ms. */
  readonly lookEveryMs?: number;
};

const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
/** The time between two looks by default, in ms. */
export const defaultLookMs = 2_000;
/** The number of looks from one judgement of a node to the next. */
export const looksPerJudgement = 5;
/** The number of nodes that are judged at a time. */
const maxInFlight = 16;

/**
 * Finds dead nodes: their kubelet has not renewed its lease for the time `afterMs`, Kubernetes has noticed this, and neither
 * kubelet nor agent answers a request. Only this process's clock counts. If more than half of the nodes are silent or not
 * ready, none is dead: the fault is in the control plane or in its network.
 */
export function watchDeadNodes(options: WatchOptions) {
  const { kubernetes, log, signal, driverName, agentPort, lookEveryMs = defaultLookMs } = options;
  const renewals = new Map<string, Renewal>();
  let following: Promise<void> | undefined;

  function followLeases(): Promise<void> {
    return follow(options, {
      path: leases,
      read: ({ spec }: LeaseObject) => spec?.renewTime,
      onChange(all, changed) {
        for (const name of changed === undefined ? [...renewals.keys(), ...all.keys()] : [changed]) {
          const renewTime = all.get(name);
          if (renewTime === undefined) renewals.delete(name);
          else if (renewals.get(name)?.renewTime !== renewTime)
            renewals.set(name, { renewTime, atMs: performance.now() });
        }
      },
    });
  }

  async function look(): Promise<void> {
    const [afterMs, nodes] = [options.afterMs(), options.nodes()];
    if (afterMs === undefined) return;
    following ??= followLeases();
    if (!nodes) return;
    const nowMs = performance.now();
    const silentMs = (name: string): number => nowMs - (renewals.get(name)?.atMs ?? nowMs);
    // A node that fell silent with the others may not be marked yet.
    const silent = [...nodes].filter(([name, node]) => !node.isReady || silentMs(name) >= afterMs / 2);
    if (silent.length * 2 > nodes.size) return;
    const isDue = ({ judgedMs }: Renewal): boolean =>
      judgedMs === undefined || nowMs - judgedMs >= looksPerJudgement * lookEveryMs;
    const overdue = silent.flatMap(([name, node]) => {
      const renewal = renewals.get(name);
      if (node.isReady || node.isOutOfService || !renewal || silentMs(name) < afterMs) return [];
      return isDue(renewal) ? [{ name, renewal }] : [];
    });
    if (overdue.length === 0) return;
    const server = createApiServer(await readConnection(kubernetes), signal);
    await forEachAtMost(maxInFlight, overdue, async ({ name, renewal }) => {
      renewal.judgedMs = nowMs;
      await judge(server, name);
    }).finally(() => server.close());
  }

  /** Judges the node again by the present answers of the API server and of the node itself. */
  async function judge(server: ApiServer, name: string): Promise<void> {
    const [node, lease] = await Promise.all([
      server.read<NodeObject>(nodePath(name)),
      server.read<LeaseObject>(`${leases}/${encodeURIComponent(name)}`),
    ]);
    const { isReady, isOutOfService } = readNode(node, driverName, new Set());
    if (isReady || isOutOfService || lease.spec?.renewTime !== renewals.get(name)?.renewTime) return;
    const { own, other } = toVolumeUse(node, driverName);
    if (own.length === 0) return;
    const spoken = other.length > 0 ? undefined : await findAnswer(node);
    const obstacle =
      spoken === undefined
        ? other[0] &&
          `it also has volumes of other drivers, such as "${other[0]}", whose paths are not closed`
        : `its ${spoken} still answers`;
    const report = (detail: string): Promise<void> =>
      options.report(server, { name, reason: 'NotDetached', detail });
    if (obstacle !== undefined)
      return report(
        `the node is silent, but is left alone: ${obstacle}; if its machine is off, give it the taint node.kubernetes.io/out-of-service`,
      );
    // Nothing may lie between the judgement and this.
    await options
      .detach(name)
      .catch((error: unknown) => report(`cannot detach the dead node: ${asProblem(error).detail}`));
  }

  /** Returns the program on the node that answers a request; undefined if none does. */
  async function findAnswer(node: NodeObject): Promise<string | undefined> {
    const host = addressOf(node);
    const kubeletPort = node.status?.daemonEndpoints?.kubeletEndpoint?.Port;
    if (host === undefined) return undefined;
    const programs = [
      ['kubelet', kubeletPort],
      ['agent', agentPort],
    ] as const;
    const answers = await Promise.all(
      programs.map(async ([program, port]) =>
        port !== undefined && (await readHealthPage({ host, port })) !== undefined ? program : undefined,
      ),
    );
    return answers.find(program => program !== undefined);
  }

  const looking = repeat(
    () =>
      look().catch((error: unknown) => {
        if (!signal.aborted) log.warn('cannot look for dead nodes', { detail: (error as Error).message });
      }),
    lookEveryMs,
  );
  return {
    /** Resolves once no work is running. The source's signal has to be aborted before. */
    async close(): Promise<void> {
      await Promise.all([looking.close(), following]);
    },
  };
}

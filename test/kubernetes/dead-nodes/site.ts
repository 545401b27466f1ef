import { join } from 'node:path';
import type { Node } from '../cluster/node.ts';
import { childrenOf, signalTo } from '../cluster/program.ts';
import type { Site } from '../cluster/site.ts';
import { agent, containersOf, controller, kill } from '../installation/containers.ts';
import { startGateway, type Gateway } from '../installation/gateway.ts';
import { buildImage } from '../installation/image.ts';
import { prepareCluster, startWithNodes, type InstalledCluster } from '../installation/installation.ts';
import { releaseFor } from '../installation/release.ts';

/** A cluster of three nodes whose controller detaches dead nodes. */
export type DeadNodeSite = { readonly gateway: Gateway; readonly east: InstalledCluster };

/** Installs a release with the values that the guide asks for, on a cluster with the usual times of Kubernetes. */
export async function installWithDeadNodes(site: Site): Promise<DeadNodeSite> {
  const plan = {
    fast: join(import.meta.dirname, 'cutting-storage.ts'),
    entries: { east: { deadNodes: { after: '60s' } } },
  };
  const nodes = ['east-1', 'east-2', 'east-3'];
  const [gateway, image, started] = await Promise.all([
    startGateway(site, ['east'], plan),
    buildImage(join(site.directory, 'image')),
    startWithNodes(site, { number: 1, nodes, firstNode: 1, nodeGraceSeconds: 50 }),
  ]);
  gateway.takeIssuer('east', await started.cluster.kubectl('get', '--raw', '/openid/v1/jwks'));
  const east = await prepareCluster(started, releaseFor('east'), { gateway, image });
  await east.release.install('controller.replicas=2', 'metrics.enabled=true');
  return { gateway, east };
}

/** Finds a node with a controller, and one without. */
export async function findNodes({ east }: DeadNodeSite) {
  const names = new Set((await containersOf(east, controller)).map(({ node }) => node));
  const busy = east.nodes.find(({ name }) => names.has(name));
  const idle = east.nodes.find(({ name }) => !names.has(name));
  if (!busy || !idle) throw new Error(`the controllers are on ${[...names].join(', ')}`);
  return { busy, idle };
}

/** A way to lose a node, and its end. */
export type Loss = {
  lose(site: DeadNodeSite, node: Node): Promise<void>;
  end(site: DeadNodeSite, node: Node): Promise<void>;
};

/** The kubelet and the agent end; the containers of the node go on. */
export const programs: Loss = {
  async lose({ east }, node) {
    await node.kubelet().end('SIGKILL');
    await kill(east, agent, node.name);
  },
  end: async (_, node) => node.startKubelet(),
};

/** All programs of the node stop where they are. The kernel, which the nodes of a site share, still accepts connections. */
export const frozen: Loss = {
  // The command of the namespace's first process notices the end of a run that is killed meanwhile.
  lose: async (_, node) =>
    void (await node.run(['sh', '-c', 'kill -s STOP -- -1; kill -s CONT $(pgrep -P 1 -x cat)'])),
  async end(_, node) {
    await node.run(['sh', '-c', 'kill -s CONT -- -1']);
    // The commands that entered the namespaces of the node stopped with the programs that they had started.
    for (const pid of childrenOf(process.pid)) signalTo(pid, 'SIGCONT');
  },
};

/** The node's network cable is unplugged. */
export const unplugged: Loss = {
  lose: (_, node) => node.setPlugged(false),
  end: (_, node) => node.setPlugged(true),
};

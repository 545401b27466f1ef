import { join } from 'node:path';
import { gatewayOf, nodeAddressOf, podSubnetOf } from './addresses.ts';
import { capture } from './capture.ts';
import { startContainerd, type Containerd } from './containerd.ts';
import type { Cluster } from './cluster.ts';
import type { Namespace } from './namespace.ts';
import { writeNodeFiles } from './node-files.ts';
import type { Program } from './program.ts';
import type { Site } from './site.ts';
import { waitFor } from './wait.ts';

/** A node of a cluster, with a kubelet and a containerd of its own. */
export interface Node {
  readonly name: string;
  readonly namespace: Namespace;
  readonly containerd: Containerd;
  /** Returns the current kubelet, or the last one if none runs. */
  kubelet(): Program;
  /** Starts kubelet again after its end. */
  startKubelet(): void;
  /** Unplugs the node's only network cable, or plugs it in again. */
  setPlugged(isPlugged: boolean): Promise<void>;
  /** Runs a command in the node's namespaces and returns its output. */
  run(argv: readonly string[]): Promise<string>;
}

/** Joins a node to a cluster; resolves once it is ready. Nodes are numbered across the site, from 1. */
export async function startNode(cluster: Cluster, name: string, number: number): Promise<Node> {
  const { site } = cluster;
  const namespace = await site.openNode(name);
  await connect(site, namespace, number);
  const { directory, cgroup } = namespace;
  const files = writeNodeFiles({ directory, bin: site.bin, cluster: cluster.number, number, cgroup });
  const containerd = await startContainerd(namespace, site.bin, files.containerd);
  await containerd.importImages(join(site.bin, 'images.tar'));
  const args = kubeletArgs(cluster, name, { number, config: files.kubelet });
  const startKubelet = () => namespace.start('kubelet', [join(cluster.programs, 'kubelet'), ...args]);
  let kubelet = startKubelet();
  await waitFor(`${name} to be ready`, async () => (await isReady(cluster, name)) || undefined, kubelet);
  return {
    name,
    namespace,
    containerd,
    kubelet: () => kubelet,
    startKubelet: () => void (kubelet = startKubelet()),
    async setPlugged(isPlugged) {
      await ip(site.namespace, 'link', 'set', nearOf(number), isPlugged ? 'up' : 'down');
      // The route goes with the link.
      if (isPlugged) await routePods(site, number);
    },
    run: argv => capture(namespace.enter(argv)),
  };
}

const kubeletArgs = (
  cluster: Cluster,
  name: string,
  { number, config }: { readonly number: number; readonly config: string },
) => [
  `--config=${config}`,
  `--kubeconfig=${cluster.credentials.kubeconfigOf(`system:node:${name}`)}`,
  `--hostname-override=${name}`,
  `--node-ip=${nodeAddressOf(number)}`,
];

async function isReady(cluster: Cluster, name: string): Promise<boolean> {
  const status = '{.status.conditions[?(@.type=="Ready")].status}';
  return (await cluster.kubectl('get', 'node', name, '--output', `jsonpath=${status}`)) === 'True';
}

/** Connects a node to the site, and so to the API servers and the other nodes, with a pair of interfaces. */
async function connect(site: Site, node: Namespace, number: number): Promise<void> {
  const near = nearOf(number);
  // Both namespaces are given by the process ids outside.
  const pair = [
    'ip',
    'link',
    'add',
    near,
    'type',
    'veth',
    'peer',
    'name',
    'uplink',
    'netns',
    String(node.pid),
  ];
  await capture(['nsenter', '--target', String(site.namespace.pid), '--net', '--', ...pair]);
  await ip(site.namespace, 'address', 'add', `${gatewayOf(number)}/30`, 'dev', near);
  await ip(site.namespace, 'link', 'set', near, 'up');
  await ip(node, 'address', 'add', `${nodeAddressOf(number)}/30`, 'dev', 'uplink');
  await ip(node, 'link', 'set', 'uplink', 'up');
  await ip(node, 'route', 'add', 'default', 'via', gatewayOf(number));
  await routePods(site, number);
}

/** The site's end of the cable to a node. */
const nearOf = (number: number) => `node${number}`;

const routePods = (site: Site, number: number) =>
  ip(site.namespace, 'route', 'add', `${podSubnetOf(number)}.0/24`, 'via', nodeAddressOf(number));

const ip = (namespace: Namespace, ...args: readonly string[]) => capture(namespace.enter(['ip', ...args]));

import { join } from 'node:path';
import { directory } from '../build/main.ts';
import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { startNode, type Node } from '../cluster/node.ts';
import { openSite, type Site } from '../cluster/site.ts';
import { startGateway, type Gateway } from './gateway.ts';
import { buildImage } from './image.ts';
import { installSnapshots, prepareRelease, releaseFor, type Release } from './release.ts';

/** A third name at the gateway, for a driver whose controller is not where its agents are. */
export const awayCluster = 'away';
/** A fourth, for a driver whose nodes take few volumes. */
export const smallCluster = 'small';

/** A cluster with Fairlead in it. */
export type Served = {
  readonly cluster: Cluster;
  readonly nodes: readonly Node[];
  readonly release: Release;
};

/** Two clusters on one gateway: the first has two nodes and a key, the second one, and the tokens of its service account. */
export type Installation = {
  readonly site: Site;
  /** The archive of the image. */
  readonly image: string;
  readonly gateway: Gateway;
  readonly east: Served;
  readonly west: Served;
};

/** Makes the clusters and the gateway and installs Fairlead by its chart. All of it ends with the site. */
export async function install(site: Site): Promise<Installation> {
  const [gateway, image, east, west] = await Promise.all([
    startGateway(site, ['east', 'west', awayCluster, smallCluster]),
    buildImage(join(site.directory, 'image')),
    startWithNodes(site, { number: 1, nodes: ['east-1', 'east-2'], firstNode: 1 }),
    startWithNodes(site, { number: 2, nodes: ['west-1'], firstNode: 3 }),
  ]);
  const serve = async (name: string, { cluster, nodes }: Started): Promise<Served> => {
    await Promise.all(nodes.map(node => node.containerd.importImages(image)));
    for (const node of nodes) await node.run(['mount', gateway.device, join(gateway.pools, 'fast')]);
    gateway.takeIssuer(name, await cluster.kubectl('get', '--raw', '/openid/v1/jwks'));
    const release = await prepareRelease(cluster, releaseFor(name), gateway);
    await release.install();
    return { cluster, nodes, release };
  };
  const served = await Promise.all([serve('east', east), serve('west', west)]);
  return { site, image, gateway, east: served[0], west: served[1] };
}

/** Opens the place in which all of it runs. */
export function openInstallationSite(): Promise<Site> {
  return openSite(directory);
}

type Plan = { readonly number: number; readonly nodes: readonly string[]; readonly firstNode: number };
type Started = { readonly cluster: Cluster; readonly nodes: readonly Node[] };

/** A cluster that has all but Fairlead. */
export async function startWithNodes(site: Site, plan: Plan): Promise<Started> {
  const cluster = await startCluster(site, plan);
  const start = async (name: string, index: number): Promise<Node> => {
    const node = await startNode(cluster, name, plan.firstNode + index);
    await node.containerd.importImages(join(site.bin, 'sidecars.tar'));
    return node;
  };
  const [nodes] = await Promise.all([Promise.all(plan.nodes.map(start)), installSnapshots(cluster)]);
  return { cluster, nodes };
}

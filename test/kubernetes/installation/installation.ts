import { join } from 'node:path';
import { directory } from '../build/main.ts';
import { startCluster, type Cluster, type ClusterPlan } from '../cluster/cluster.ts';
import { startNode, type Node } from '../cluster/node.ts';
import { openSite, type Site } from '../cluster/site.ts';
import { startGateway, type Gateway } from './gateway.ts';
import { buildImage } from './image.ts';
import { installSnapshots, prepareRelease, releaseFor, type Release, type ReleasePlan } from './release.ts';

/** A further cluster name at the gateway, for a driver whose controller and agents are in different clusters. */
export const awayCluster = 'away';
/** A further cluster name, for a driver whose nodes take few volumes. */
export const smallCluster = 'small';
/** A further cluster name, for a driver whose snapshots a backup program reads. */
export const backupCluster = 'backup';

export type InstalledCluster = {
  readonly cluster: Cluster;
  readonly nodes: readonly Node[];
  readonly release: Release;
};

/**
 * Two clusters on one gateway: east with two nodes and a key, west with one node and the tokens of its service account.
 */
export type Installation = {
  readonly site: Site;
  /** The path of the image's archive. */
  readonly image: string;
  readonly gateway: Gateway;
  readonly east: InstalledCluster;
  readonly west: InstalledCluster;
};

/** Makes the clusters and the gateway and installs Fairlead with its chart. Everything ends with the site. */
export async function install(site: Site): Promise<Installation> {
  const [gateway, image, east, west] = await Promise.all([
    startGateway(site, ['east', 'west', awayCluster, smallCluster, backupCluster]),
    buildImage(join(site.directory, 'image')),
    startWithNodes(site, { number: 1, nodes: ['east-1', 'east-2'], firstNode: 1 }),
    startWithNodes(site, { number: 2, nodes: ['west-1'], firstNode: 3 }),
  ]);
  const served = await Promise.all([
    serve({ gateway, image }, 'east', east),
    serve({ gateway, image }, 'west', west),
  ]);
  return { site, image, gateway, east: served[0], west: served[1] };
}

/** An installation without the cluster west. */
export type EastInstallation = Omit<Installation, 'west'>;

/** Makes the gateway and the cluster east alone, which has Kubernetes' own programs from a directory of their own. */
export async function installEast(site: Site, programs = site.bin): Promise<EastInstallation> {
  const [gateway, image, east] = await Promise.all([
    startGateway(site, ['east']),
    buildImage(join(site.directory, 'image')),
    startWithNodes(site, { number: 1, nodes: ['east-1', 'east-2'], firstNode: 1, programs }),
  ]);
  return { site, image, gateway, east: await serve({ gateway, image }, 'east', east) };
}

/** Installs Fairlead on a cluster. */
async function serve(
  storage: Storage,
  name: string,
  { cluster, nodes }: StartedCluster,
): Promise<InstalledCluster> {
  storage.gateway.takeIssuer(name, await cluster.kubectl('get', '--raw', '/openid/v1/jwks'));
  const served = await prepareCluster({ cluster, nodes }, releaseFor(name), storage);
  await served.release.install();
  return served;
}

/** A gateway, and the path of the archive of the programs' image. */
type Storage = Pick<Installation, 'gateway' | 'image'>;

/** Prepares the installation of the chart: the nodes get the image and the filesystem with the gateway's images. */
export async function prepareCluster(
  { cluster, nodes }: StartedCluster,
  plan: ReleasePlan,
  { gateway, image }: Storage,
): Promise<InstalledCluster> {
  await Promise.all(nodes.map(node => node.containerd.importImages(image)));
  for (const node of nodes) await node.run(['mount', gateway.device, join(gateway.pools, 'fast')]);
  return { cluster, nodes, release: await prepareRelease(cluster, plan, gateway) };
}

export function openInstallationSite(): Promise<Site> {
  return openSite(directory);
}

type Plan = ClusterPlan & { readonly firstNode: number };
type StartedCluster = { readonly cluster: Cluster; readonly nodes: readonly Node[] };

/** Starts a cluster with its nodes, without Fairlead. */
export async function startWithNodes(site: Site, plan: Plan): Promise<StartedCluster> {
  const cluster = await startCluster(site, plan);
  const start = async (name: string, index: number): Promise<Node> => {
    const node = await startNode(cluster, name, plan.firstNode + index);
    await node.containerd.importImages(join(site.bin, 'sidecars.tar'));
    return node;
  };
  const [nodes] = await Promise.all([Promise.all(plan.nodes.map(start)), installSnapshots(cluster)]);
  return { cluster, nodes };
}

import { join } from 'node:path';
import { directory } from '../build/main.ts';
import { balancerAddressOf } from '../cluster/addresses.ts';
import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { startNode, type Node } from '../cluster/node.ts';
import { startProxies } from './proxy.ts';
import { openSite, type Site } from '../cluster/site.ts';
import { containersOf, type Container, type Part } from '../installation/containers.ts';
import { keySetOf, startGateway, type Gateway } from '../installation/gateway.ts';
import { buildImage } from '../installation/image.ts';
import { prepareCluster, startWithNodes } from '../installation/installation.ts';
import { chart, releaseNamespace, type ReleasePlan } from '../installation/release.ts';
import { startDatabase, type Database } from './database.ts';
import { followGuide, hostedGateway, hostingNamespace } from './guide.ts';

export const replica: Part = { component: 'gateway', container: 'gateway', namespace: hostingNamespace };

/** The name that the guide gives the cluster whose pods use the replicas. */
export const servedCluster = 'west';

/**
 * Replicas of a gateway in a cluster of two nodes, their database, the gateway that is their storage, and a further cluster
 * whose driver uses them.
 */
export interface Hosting {
  readonly cluster: Cluster;
  readonly nodes: readonly Node[];
  readonly database: Database;
  readonly storage: Gateway;
  readonly served: Cluster;
  /** The address of the replicas, and the directory of the files that the guide makes. */
  readonly url: string;
  readonly files: string;
  /** Lists the ready replicas. */
  replicas(): Promise<readonly Container[]>;
  /** Upgrades the release with values in Helm's syntax; resolves once all replicas are ready. */
  upgrade(...sets: readonly string[]): Promise<void>;
  /** Runs a command of an operator and returns its output. */
  operate(...argv: readonly string[]): Promise<string>;
}

/** Opens a site for the replicas. */
export const openHostingSite = (): Promise<Site> => openSite(directory);

/** Starts the clusters, the database and the storage, and installs the replicas and then the driver as the guide says. */
export async function installHosting(site: Site): Promise<Hosting> {
  const names = ['hosting-1', 'hosting-2'];
  const [image, storage, cluster, other] = await Promise.all([
    buildImage(join(site.directory, 'image')),
    startGateway(site, [hostedGateway]),
    startCluster(site, { number: 1, nodes: names }),
    startWithNodes(site, { number: 2, nodes: ['west-1'], firstNode: 3 }),
  ]);
  const nodes = await Promise.all(names.map((name, index) => startNode(cluster, name, index + 1)));
  await startProxies(cluster, nodes, 1);
  const [database] = await Promise.all([
    startDatabase(site),
    ...nodes.map(({ containerd }) => containerd.importImages(image)),
  ]);
  const { files, run } = await followGuide({ cluster, database, storage });
  const gateway = { ...storage, ...madeByGuide(files) };
  const { release } = await prepareCluster(other, servedPlan, { gateway, image });
  await release.install();
  const how = ['--namespace', hostingNamespace, '--reset-then-reuse-values', '--wait', '--timeout=5m'];
  return {
    cluster,
    nodes,
    database,
    storage,
    served: other.cluster,
    url: `https://${balancerAddressOf(cluster.number)}:7700`,
    files,
    replicas: () => containersOf({ cluster }, replica),
    async upgrade(...sets) {
      await run('helm', 'upgrade', 'fairlead', chart, ...how, ...sets.flatMap(set => ['--set', set]));
    },
    operate: (...argv) => run('fairlead', ...argv),
  };
}

/** The files with which a cluster knows the replicas. */
const madeByGuide = (files: string): Pick<Gateway, 'certificate' | 'fileOf' | 'keySet'> => ({
  certificate: join(files, 'tls.crt'),
  fileOf: (name, what) => join(files, `${name}.${what}.yaml`),
  keySet: keySetOf(join(files, 'gateway.keys.json')),
});

const servedPlan: ReleasePlan = {
  name: servedCluster,
  namespace: releaseNamespace,
  values: {
    driver: { capabilities: [] },
    sidecars: { snapshotter: { enabled: false } },
    storageClasses: [{ name: 'ext4', fsType: 'ext4', volumeBindingMode: 'Immediate' }],
  },
};

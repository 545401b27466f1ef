import { join } from 'node:path';
import type { Program } from '../cluster/program.ts';
import type { Site } from '../cluster/site.ts';
import { startGateway } from '../installation/gateway.ts';
import { buildImage } from '../installation/image.ts';
import {
  prepareCluster,
  startWithNodes,
  type Installation,
  type InstalledCluster,
} from '../installation/installation.ts';
import { releaseFor } from '../installation/release.ts';
import {
  deployNodePlugins,
  driverCluster,
  driverName,
  pluginSocket,
  poolFor,
  startBridge,
  startDriver,
} from './driver.ts';

/** Two clusters whose classes are all of a pool over a bridge, and the programs of that pool at the hosting side. */
export type BridgeInstallation = Installation & {
  readonly programs: Readonly<Record<'bridge' | 'driver', () => Program>>;
  /** Starts the driver's controller plugin and the bridge again after their end. */
  restart(): void;
};

const pool = 'old';

const storageClasses = [
  { name: 'ext4', pool, fsType: 'ext4', volumeBindingMode: 'Immediate' },
  { name: 'xfs', pool, fsType: 'xfs', mountOptions: ['noatime'] },
];

/** Makes two clusters and a gateway with a pool over a CSI driver. Everything ends with the site. */
export async function installWithBridge(site: Site): Promise<BridgeInstallation> {
  const entries = { [driverCluster]: { pools: ['fast'], acceptAnyNode: true } };
  const [gateway, image, east, west] = await Promise.all([
    startGateway(site, ['east', 'west', driverCluster], {
      pools: { [pool]: poolFor(site.directory) },
      entries,
    }),
    buildImage(join(site.directory, 'image')),
    startWithNodes(site, { number: 1, nodes: ['east-1', 'east-2'], firstNode: 1 }),
    startWithNodes(site, { number: 2, nodes: ['west-1'], firstNode: 3 }),
  ]);
  let driver = startDriver(site, gateway);
  let bridge = startBridge(site);
  const serve = async (name: string, started: Pick<InstalledCluster, 'cluster' | 'nodes'>) => {
    gateway.takeIssuer(name, await started.cluster.kubectl('get', '--raw', '/openid/v1/jwks'));
    const plan = releaseFor(name);
    const values = { ...plan.values, storageClasses };
    const served = await prepareCluster(started, { ...plan, values }, { gateway, image });
    await served.release.install();
    await deployNodePlugins(served);
    await served.release.install(`node.csiDrivers[0]=${driverName}=${pluginSocket}`);
    return served;
  };
  const served = await Promise.all([serve('east', east), serve('west', west)]);
  return {
    site,
    image,
    gateway,
    east: served[0],
    west: served[1],
    programs: { bridge: () => bridge, driver: () => driver },
    restart() {
      driver = startDriver(site, gateway);
      bridge = startBridge(site);
    },
  };
}

import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Program } from '../cluster/program.ts';
import type { Site } from '../cluster/site.ts';
import { fairlead, type Gateway } from '../installation/gateway.ts';
import type { InstalledCluster } from '../installation/installation.ts';
import { releaseNamespace } from '../installation/release.ts';

/** The existing CSI driver: Fairlead itself under another name, which has the pool `fast`. */
export const driverName = 'storage.example';

/** The cluster name under which the driver's volumes are at the gateway. */
export const driverCluster = 'driver';

/** The socket of the driver's node plugin on every node. */
export const pluginSocket = `/var/lib/kubelet/plugins/${driverName}/csi.sock`;

const stateDirectory = '/var/lib/storage-example';

/** A text that is in each secret of the driver. */
export const canary = 'canary-of-the-driver';

/** The node plugins share a key, so that a rule gives their ids at the driver: the name of the node, and the key. */
const key = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });

/** Starts the driver's controller plugin beside the gateway; its socket is `driver.sock` in the site's directory. */
export function startDriver(site: Site, gateway: Gateway): Program {
  return site.namespace.start('driver', [
    ...fairlead,
    'controller',
    `--endpoint=unix://${join(site.directory, 'driver.sock')}`,
    `--gateway=${gateway.url}`,
    `--ca-file=${gateway.certificate}`,
    `--cluster=${driverCluster}`,
    `--key-file=${gateway.keyFileOf(driverCluster)}`,
    `--driver-name=${driverName}`,
  ]);
}

/** The settings of the pool over the bridge, and the path of the token that the bridge accepts. */
export function poolFor(directory: string): object {
  const token = join(directory, 'bridge.token');
  writeFileSync(token, 'token-of-the-bridge', { mode: 0o600 });
  const attachments = { protocols: ['csi'], drivers: [driverName] };
  return { backend: 'rest', url: 'http://127.0.0.1:8090', token, attachments };
}

/** Starts the bridge over the driver, with a secret for each kind of call. */
export function startBridge({ directory, namespace }: Site): Program {
  const secrets = join(directory, 'driver-secrets');
  for (const call of ['provision', 'publish', 'expand', 'snapshot', 'stage', 'node-publish', 'node-expand']) {
    mkdirSync(join(secrets, call), { recursive: true });
    writeFileSync(join(secrets, call, 'password'), canary);
  }
  return namespace.start('bridge', [
    ...fairlead,
    'bridge',
    `--csi-endpoint=unix://${join(directory, 'driver.sock')}`,
    `--dir=${join(directory, 'bridge')}`,
    `--token-file=${join(directory, 'bridge.token')}`,
    `--secrets-dir=${secrets}`,
    `--node-id={name}~${key.x}`,
    '--size-step=1Mi',
  ]);
}

type Named = { readonly name: string };
type PodSpec = {
  readonly containers: readonly [
    { readonly args: readonly string[]; readonly volumeMounts: readonly Named[] },
  ];
  readonly volumes: readonly Named[];
};
type DaemonSet = { readonly spec: { readonly template: { readonly spec: PodSpec } } };

/** Arguments of Fairlead's agent that the plugin does not get: it has no registrar and no files of the controller. */
const dropped =
  /^--(registration-dir|kubelet-endpoint|drained-nodes-file|gateway-keys-file|metrics-listen|csi-drivers|topology|driver-name|plugin-capabilities)=/;

/** The files of Fairlead's controller, which another driver does not have. */
const isKept = ({ name }: { readonly name: string }): boolean => !['drained', 'gateway-keys'].includes(name);

const ownPaths: Readonly<Record<string, string>> = {
  plugin: dirname(pluginSocket),
  state: stateDirectory,
};

/** Deploys the driver's node plugin, without a registrar, as Fairlead's own DaemonSet with another name and socket. */
export async function deployNodePlugins({ cluster, nodes }: InstalledCluster): Promise<void> {
  const file = `${stateDirectory}/node-key.json`;
  const write = `mkdir -p ${stateDirectory} && printf %s "$1" > ${file} && chmod 600 ${file}`;
  for (const node of nodes) await node.run(['sh', '-c', write, 'sh', JSON.stringify(key)]);
  const kubectl = (...args: readonly string[]) => cluster.kubectl('--namespace', releaseNamespace, ...args);
  const found = await kubectl('get', 'daemonset', 'fairlead-node', '--output', 'json');
  const labels = { app: driverName };
  await cluster.apply({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'storage-example', namespace: releaseNamespace },
    spec: {
      selector: { matchLabels: labels },
      // Without a probe a plugin that ends at once counts as ready for a moment.
      minReadySeconds: 5,
      template: { metadata: { labels }, spec: toPlugin((JSON.parse(found) as DaemonSet).spec.template.spec) },
    },
  });
  await kubectl('rollout', 'status', 'daemonset/storage-example', '--timeout=120s');
}

function toPlugin(spec: PodSpec): object {
  const [{ args, volumeMounts, ...agent }] = spec.containers;
  const container = {
    ...agent,
    args: [...args.filter(arg => !dropped.test(arg)), `--driver-name=${driverName}`],
    volumeMounts: volumeMounts.filter(isKept),
    ports: undefined,
    livenessProbe: undefined,
    readinessProbe: undefined,
  };
  const volumes = spec.volumes.filter(isKept).map(volume => {
    const path = ownPaths[volume.name];
    return path === undefined ? volume : { name: volume.name, hostPath: { path, type: 'DirectoryOrCreate' } };
  });
  return { ...spec, containers: [container], volumes };
}

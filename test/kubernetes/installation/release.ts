import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { capture } from '../cluster/capture.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Gateway } from './gateway.ts';

export const chart = resolve(import.meta.dirname, '../../../deploy/chart');

/** The namespace of the chart's release. */
export const releaseNamespace = 'fairlead';

const waiting = ['--wait', '--timeout', '3m'];

const storageClasses = [
  { name: 'ext4', pool: 'fast', fsType: 'ext4', volumeBindingMode: 'Immediate' },
  { name: 'xfs', pool: 'fast', fsType: 'xfs', mountOptions: ['noatime'] },
  { name: 'xfs-at-once', pool: 'fast', fsType: 'xfs', volumeBindingMode: 'Immediate' },
  { name: 'fast', pool: 'fast' },
  { name: 'files', pool: 'files', volumeBindingMode: 'Immediate' },
];

/** A cluster's release of the chart. */
export interface Release {
  /** Installs or upgrades the release, with further values in Helm's syntax. Resolves once all pods are ready. */
  install(...sets: readonly string[]): Promise<void>;
  uninstall(): Promise<void>;
}

/** Installs the snapshot controller and its definitions, as a cluster's administrator does before any driver. */
export async function installSnapshots(cluster: Cluster): Promise<void> {
  const { site, credentials, number } = cluster;
  await cluster.kubectl('apply', '--filename', join(site.bin, 'crds'));
  await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
  site.namespace.start(`cluster-${number}-snapshot-controller`, [
    join(site.bin, 'snapshot-controller'),
    `--kubeconfig=${credentials.kubeconfigOf('admin')}`,
    '--feature-gates=CSIVolumeGroupSnapshot=true',
  ]);
}

/** A release: its cluster's name at the gateway, its namespace, and its own values. */
export type ReleasePlan = {
  readonly name: string;
  readonly namespace: string;
  readonly values: object;
  /** True if the tokens of its service account identify the cluster, which then has no key. */
  readonly isByAccount?: boolean;
};

export const releaseFor = (name: string): ReleasePlan => ({
  name,
  namespace: releaseNamespace,
  isByAccount: name === 'west',
  values: {
    cluster: { serviceAccountToken: { enabled: name === 'west' } },
    storageClasses,
    volumeAttributesClasses: [{ name: 'reserved', parameters: { preallocate: 'true' } }],
    sidecars: {
      // The time until a change behind the cluster's back is seen; by default a minute.
      attacher: { extraArgs: ['--reconcile-sync=5s'] },
      // Kubernetes' suite expects the capacity of every class.
      provisioner: { extraArgs: ['--capacity-for-immediate-binding'] },
    },
  },
});

/** Prepares the installation of the chart in a cluster, in a new namespace. */
export async function prepareRelease(
  cluster: Cluster,
  { name, namespace, values: own, isByAccount = false }: ReleasePlan,
  gateway: Gateway,
): Promise<Release> {
  const { site, credentials } = cluster;
  await cluster.kubectl('create', 'namespace', namespace);
  const secret = readFileSync(gateway.fileOf(name, 'secret'), 'utf8');
  const here = secret.replace(`"namespace":"${releaseNamespace}"`, `"namespace":"${namespace}"`);
  if (!isByAccount) await capture(cluster.commandLine(['apply', '--filename', '-']), here);
  const values = join(site.directory, `${name}.values.json`);
  writeFileSync(values, JSON.stringify({ ...valuesFor(gateway), ...own }));
  const how = ['--kubeconfig', credentials.kubeconfigOf('admin'), '--namespace', namespace];
  const command = ['env', `HOME=${site.directory}`, join(site.bin, 'helm'), ...how];
  const helm = (...args: readonly string[]) => capture(site.namespace.enter([...command, ...args]));
  return {
    async install(...sets) {
      const files = [gateway.fileOf(name, 'values'), values].flatMap(file => ['--values', file]);
      const certificate = ['--set-file', `extraCaCerts=${gateway.certificate}`];
      const more = sets.flatMap(set => ['--set', set]);
      await helm('upgrade', '--install', 'fairlead', chart, ...waiting, ...files, ...certificate, ...more);
    },
    async uninstall() {
      await helm('uninstall', 'fairlead', ...waiting);
    },
  };
}

const valuesFor = (gateway: Gateway) => ({
  image: { pullPolicy: 'Never' },
  controller: { replicas: 1 },
  node: { localRoots: [gateway.pools], gatewayKeys: gateway.keySet },
  // The controller reports the pools' free capacity only with topology.
  topology: { enabled: true, segments: { site: 'tests' } },
});

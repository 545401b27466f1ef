import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import { createMany, deleteMany } from './many.ts';

/** Nodes of a cluster that kwok plays: their pods run at once, and mount nothing. */
export interface PlayedNodes {
  /** Adds nodes with the labels of a real one. They are ready soon afterwards. */
  join(): Promise<void>;
  /** Registers the real node's drivers on each of them, as a kubelet does; each driver has a node id of its own. */
  register(): Promise<void>;
  /** Deletes the nodes. Kubernetes deletes their CSINodes. */
  leave(): Promise<void>;
}

/** A label and an annotation of all played nodes, which kwok looks for, and the key of their taint. */
const key = 'kwok.x-k8s.io/node';
const value = 'fake';

/** The members of a pod's specification that send it to a played node. */
export const onPlayedNodes = {
  nodeSelector: { [key]: value },
  tolerations: [{ key, operator: 'Exists' }],
} as const;

type Metadata = { readonly name: string; readonly uid: string; readonly labels: Record<string, string> };

/** The time without a renewed lease until a node is silent. A played node renews its lease four times in this time. */
const leaseSeconds = 400;
/** The grace of a cluster with played nodes: long, so that their leases do not keep the API server busy. */
export const nodeGraceSeconds: number = 2 * leaseSeconds;

/** Starts kwok in a cluster for nodes that are like a real one. */
export function playNodes(cluster: Cluster, real: string, count: number): PlayedNodes {
  const { site, credentials } = cluster;
  site.namespace.start(`cluster-${cluster.number}-kwok`, [
    join(site.bin, 'kwok'),
    `--kubeconfig=${credentials.kubeconfigOf('admin')}`,
    `--config=${join(site.bin, 'kwok-stages.yaml')}`,
    `--manage-nodes-with-annotation-selector=${key}=${value}`,
    `--node-lease-duration-seconds=${leaseSeconds}`,
  ]);
  const read = async (...objects: readonly string[]) =>
    JSON.parse(await cluster.kubectl('get', ...objects, '--output', 'json'));
  const played = ['--selector', `${key}=${value}`];
  return {
    async join() {
      const { metadata } = await read('node', real);
      const names = Array.from({ length: count }, (_, index) => `played-${index}`);
      await createMany(
        cluster,
        names.map(name => nodeLike(metadata, name)),
      );
    },
    async register() {
      const [{ spec }, { items }] = await Promise.all([read('csinode', real), read('nodes', ...played)]);
      const registrations = items.map(({ metadata }: { metadata: Metadata }) => csiNodeLike(spec, metadata));
      await createMany(cluster, registrations);
    },
    async leave() {
      await deleteMany(cluster, `/api/v1/nodes?labelSelector=${key}%3D${value}`);
    },
  };
}

/** Makes a node that kwok plays, with the resources of a usual one. */
function nodeLike({ labels }: Metadata, name: string): object {
  const resources = { cpu: '32', memory: '128Gi', pods: '110' };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { ...labels, 'kubernetes.io/hostname': name, [key]: value },
      annotations: { [key]: value, 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
    },
    spec: { taints: [{ key, value, effect: 'NoSchedule' }] },
    status: { allocatable: resources, capacity: resources },
  };
}

type Driver = { readonly nodeID: string };

function csiNodeLike({ drivers }: { readonly drivers: readonly Driver[] }, owner: Metadata): object {
  const { name, uid } = owner;
  // An agent's node id ends with its public key, of 32 bytes.
  const nodeID = `${name}~${randomBytes(32).toString('base64url')}`;
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
    spec: { drivers: drivers.map(driver => ({ ...driver, nodeID })) },
  };
}

import type { KubernetesObject } from './follow.ts';

/** The relevant part of a Kubernetes node. */
export type ClusterNode = {
  /** The labels that may be a part of the node's topology. */
  readonly labels: Readonly<Record<string, string>>;
  /** The node is cordoned, or an autoscaler is emptying it. */
  readonly isDrained: boolean;
  /** The node has the taint that keeps pods away until the driver is registered. */
  readonly hasStartupTaint: boolean;
};

/** The driver's registration on a node, as kubelet publishes it. */
export type Registration = {
  readonly nodeId: string;
  readonly maxVolumes: number | undefined;
  readonly topologyKeys: readonly string[];
};

/** A taint that keeps pods off a node. */
type Taint = { readonly key: string };

export type NodeObject = KubernetesObject & {
  readonly spec: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] };
};

/** A part of `storage.k8s.io/v1 CSINode`. */
export type CsiNodeObject = KubernetesObject & {
  readonly spec: {
    readonly drivers?: readonly {
      readonly name: string;
      readonly nodeID: string;
      readonly topologyKeys?: readonly string[] | null;
      readonly allocatable?: { readonly count?: number };
    }[];
  };
};

/** Taints on nodes that are being emptied without a cordon. */
const drainTaints: ReadonlySet<string> = new Set([
  'karpenter.sh/disrupted',
  'ToBeDeletedByClusterAutoscaler',
]);

/** The taint on new nodes that keeps pods away until the driver is registered. */
export function startupTaintOf(driverName: string): string {
  return `${driverName}/agent-not-ready`;
}

/** Extracts the relevant part of a Node. Of its labels, which may be a hundred, it keeps those with these keys, or all. */
export function readNode(
  { metadata: { labels = {} }, spec }: NodeObject,
  driverName: string,
  topologyKeys: ReadonlySet<string> | undefined,
): ClusterNode {
  const taints = spec.taints ?? [];
  return {
    labels: topologyKeys
      ? Object.fromEntries(Object.entries(labels).filter(([key]) => topologyKeys.has(key)))
      : labels,
    isDrained: spec.unschedulable === true || taints.some(({ key }) => drainTaints.has(key)),
    hasStartupTaint: taints.some(({ key }) => key === startupTaintOf(driverName)),
  };
}

/** Extracts the driver's registration from a CSINode; undefined while the driver is not registered. */
export function readRegistration({ spec }: CsiNodeObject, driverName: string): Registration | undefined {
  const driver = spec.drivers?.find(({ name }) => name === driverName);
  if (!driver) return undefined;
  const { nodeID: nodeId, topologyKeys, allocatable } = driver;
  return { nodeId, maxVolumes: allocatable?.count, topologyKeys: topologyKeys ?? [] };
}

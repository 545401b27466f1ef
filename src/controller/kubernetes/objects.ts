import type { KubernetesObject } from './follow.ts';

/** A node of Kubernetes, as far as it matters here. */
export type ClusterNode = {
  readonly labels: Readonly<Record<string, string>>;
  /** It is cordoned, or being emptied otherwise. */
  readonly isDrained: boolean;
  /** It has the taint that keeps pods away until the driver is registered. */
  readonly hasStartupTaint: boolean;
};

/** What kubelet says of the driver on its node. */
export type Registration = {
  readonly nodeId: string;
  readonly maxVolumes: number | undefined;
  readonly topologyKeys: readonly string[];
};

/** A taint keeps pods off a node. */
type Taint = { readonly key: string };

/** `v1 Node`, in part. */
export type NodeObject = KubernetesObject & {
  readonly spec: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] };
};

/** `storage.k8s.io/v1 CSINode`, in part. */
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

/** Taints of nodes that are emptied without being cordoned. */
const drainTaints: ReadonlySet<string> = new Set([
  'karpenter.sh/disrupted',
  'ToBeDeletedByClusterAutoscaler',
]);

/** The taint with which nodes may be made, so that no pod comes before the driver. */
export function startupTaintOf(driverName: string): string {
  return `${driverName}/agent-not-ready`;
}

/** What matters of a Node. */
export function readNode({ metadata: { labels = {} }, spec }: NodeObject, driverName: string): ClusterNode {
  const taints = spec.taints ?? [];
  return {
    labels,
    isDrained: spec.unschedulable === true || taints.some(({ key }) => drainTaints.has(key)),
    hasStartupTaint: taints.some(({ key }) => key === startupTaintOf(driverName)),
  };
}

/** What matters of a CSINode; undefined while the driver is not registered there. */
export function readRegistration({ spec }: CsiNodeObject, driverName: string): Registration | undefined {
  const driver = spec.drivers?.find(({ name }) => name === driverName);
  if (!driver) return undefined;
  const { nodeID: nodeId, topologyKeys, allocatable } = driver;
  return { nodeId, maxVolumes: allocatable?.count, topologyKeys: topologyKeys ?? [] };
}

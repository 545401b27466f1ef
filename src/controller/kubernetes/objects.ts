import type { KubernetesObject } from './follow.ts';

/** The relevant part of a Kubernetes node. */
export type ClusterNode = {
  /** The labels that may be a part of the node's topology. */
  readonly labels: Readonly<Record<string, string>>;
  readonly addresses: readonly string[];
  /** The cloud's id of its machine. */
  readonly providerId: string | undefined;
  /** The node is cordoned, or an autoscaler is emptying it. */
  readonly isDrained: boolean;
  /** The node has the taint that keeps pods away until the driver is registered. */
  readonly hasStartupTaint: boolean;
  /** Kubernetes says that the node's kubelet works. */
  readonly isReady: boolean;
  /** The node has the taint that lets Kubernetes move its pods and volumes at once. */
  readonly isOutOfService: boolean;
  /** The driver gave the node that taint. */
  readonly isMarkedDead: boolean;
  /** The kubelet uses volumes of the driver. */
  readonly usesVolumes: boolean;
};

/** The driver's registration on a node, as kubelet publishes it. */
export type Registration = {
  readonly nodeId: string;
  readonly maxVolumes: number | undefined;
  readonly topologyKeys: readonly string[];
};

/** A node with the driver. */
export type RegisteredNode = {
  readonly name: string;
  readonly node: ClusterNode;
  readonly registration: Registration;
};

/** A taint that keeps pods off a node. */
export type Taint = { readonly key: string; readonly value?: string; readonly effect?: string };

export type NodeObject = KubernetesObject & {
  readonly spec: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly Taint[];
    readonly providerID?: string;
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port?: number } };
    readonly volumesInUse?: readonly string[];
    readonly volumesAttached?: readonly { readonly name: string }[];
  };
};

export function nodePath(name: string): string {
  return `/api/v1/nodes/${encodeURIComponent(name)}`;
}

/** The address at which the node's programs serve; undefined if the node has none yet. */
export function addressOf(node: NodeObject): string | undefined {
  return addressesOf(node)[0];
}

function addressesOf({ status }: NodeObject): readonly string[] {
  const internal = status?.addresses?.filter(({ type }) => type === 'InternalIP') ?? [];
  return internal.map(({ address }) => address);
}

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

/** The taint that lets Kubernetes move a node's pods and volumes at once. The value says who gave it. */
export function outOfServiceTaintOf(driverName: string): Taint {
  return { key: 'node.kubernetes.io/out-of-service', value: driverName, effect: 'NoExecute' };
}

/** Names the volumes that Kubernetes has attached to the node or that its kubelet uses: the driver's own, and others. */
export function toVolumeUse({ status }: NodeObject, driverName: string) {
  const { volumesInUse = [], volumesAttached = [] } = status ?? {};
  const all = new Set([...volumesInUse, ...volumesAttached.map(({ name }) => name)]);
  const isOwn = (name: string): boolean => name.startsWith(ownVolumes(driverName));
  return { own: [...all].filter(isOwn), other: [...all].filter(name => !isOwn(name)) };
}

/** The first characters of Kubernetes' names for the driver's volumes. */
function ownVolumes(driverName: string): string {
  return `kubernetes.io/csi/${driverName}^`;
}

/** Extracts the relevant part of a Node. Of its labels, which may be a hundred, it keeps those with these keys, or all. */
export function readNode(
  node: NodeObject,
  driverName: string,
  topologyKeys: ReadonlySet<string> | undefined,
): ClusterNode {
  const {
    metadata: { labels = {} },
    spec,
    status,
  } = node;
  const taints = spec.taints ?? [];
  const own = ownVolumes(driverName);
  const mark = outOfServiceTaintOf(driverName);
  return {
    labels: topologyKeys
      ? Object.fromEntries(Object.entries(labels).filter(([key]) => topologyKeys.has(key)))
      : labels,
    addresses: addressesOf(node),
    providerId: spec.providerID || undefined,
    isDrained: spec.unschedulable === true || taints.some(({ key }) => drainTaints.has(key)),
    hasStartupTaint: taints.some(({ key }) => key === startupTaintOf(driverName)),
    isReady: status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True',
    isOutOfService: taints.some(({ key }) => key === mark.key),
    isMarkedDead: taints.some(({ key, value }) => key === mark.key && value === mark.value),
    usesVolumes: status?.volumesInUse?.some(name => name.startsWith(own)) ?? false,
  };
}

/** Extracts the driver's registration from a CSINode; undefined while the driver is not registered. */
export function readRegistration({ spec }: CsiNodeObject, driverName: string): Registration | undefined {
  const driver = spec.drivers?.find(({ name }) => name === driverName);
  if (!driver) return undefined;
  const { nodeID: nodeId, topologyKeys, allocatable } = driver;
  return { nodeId, maxVolumes: allocatable?.count, topologyKeys: topologyKeys ?? [] };
}

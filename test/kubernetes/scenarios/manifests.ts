import { testImage } from '../build/images.ts';

/** The options of a claim; by default for 64 MiB of ext4 that one node writes. */
export type ClaimOptions = {
  readonly class?: string;
  readonly size?: string;
  readonly mode?: string;
  readonly isBlock?: boolean;
  readonly attributes?: string;
  readonly dataSource?: object;
  readonly labels?: object;
};

export function claim(name: string, options: ClaimOptions = {}): object {
  const metadata = { name, labels: options.labels };
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: claimSpec(options) };
}

export function claimSpec(options: ClaimOptions): object {
  return {
    storageClassName: options.class ?? 'ext4',
    volumeAttributesClassName: options.attributes,
    volumeMode: options.isBlock === true ? 'Block' : 'Filesystem',
    accessModes: [options.mode ?? 'ReadWriteOnce'],
    resources: { requests: { storage: options.size ?? '64Mi' } },
    dataSource: options.dataSource,
  };
}

/** The options of a pod with one volume, at /data or as the device /dev/data: a claim, or another kind of volume. */
export type PodOptions = {
  readonly claim?: string;
  readonly volume?: object;
  readonly isBlock?: boolean;
  readonly isReadOnly?: boolean;
  readonly script?: string;
  /** True leaves out the readiness probe, which costs a process each second. */
  readonly hasNoProbe?: boolean;
  /** The node that the scheduler has to choose; with `isAssigned` the node of the pod, without the scheduler. */
  readonly node?: string;
  /** The preferred node, if it is available. */
  readonly prefers?: string;
  readonly isAssigned?: boolean;
  readonly securityContext?: object;
};

/** Makes the manifest of a pod that runs a script, is ready once the script has succeeded, and then sleeps. */
export function pod(name: string, options: PodOptions): object {
  const { script = 'true', isBlock = false, node, isAssigned = false } = options;
  const persistentVolumeClaim = { claimName: options.claim, readOnly: options.isReadOnly };
  const container = {
    name: 'main',
    image: testImage,
    command: ['sh', '-c', `set -e; ${script}; touch /tmp/done; exec sleep 100000`],
    ...(options.hasNoProbe !== true && {
      readinessProbe: { exec: { command: ['test', '-e', '/tmp/done'] }, periodSeconds: 1 },
    }),
    ...(isBlock
      ? { volumeDevices: [{ name: 'data', devicePath: '/dev/data' }] }
      : { volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      ...(isAssigned && { nodeName: node }),
      nodeSelector: node === undefined ? {} : { 'kubernetes.io/hostname': node },
      affinity: options.prefers === undefined ? {} : affinityTo(options.prefers),
      securityContext: options.securityContext,
      containers: [container],
      volumes: [{ name: 'data', ...(options.volume ?? { persistentVolumeClaim }) }],
    },
  };
}

function affinityTo(node: string): object {
  const preference = {
    matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }],
  };
  return { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference }] } };
}

/** Makes the manifest of a snapshot of a claim. */
export const snapshot = (name: string, source: string, className = 'fairlead'): object => ({
  apiVersion: 'snapshot.storage.k8s.io/v1',
  kind: 'VolumeSnapshot',
  metadata: { name },
  spec: { volumeSnapshotClassName: className, source: { persistentVolumeClaimName: source } },
});

/** Makes the data source of a claim: a snapshot, or another claim. */
export const fromSnapshot = (name: string): object => ({
  apiGroup: 'snapshot.storage.k8s.io',
  kind: 'VolumeSnapshot',
  name,
});
export const fromClaim = (name: string): object => ({ kind: 'PersistentVolumeClaim', name });

import type { OwnedVolume } from '../../../api/admin.ts';
import type { AccessMode } from '../../../api/storage.ts';
import type { Segments } from '../../../api/topology.ts';

/** Names in the cluster that gets the volume. */
export type ManifestNames = {
  /** The name of the CSI driver. */
  readonly driver: string;
  readonly namespace: string;
  /** The name of the claim; absent for the volume's name. */
  readonly claim?: string | undefined;
};

const kubernetesModes: Readonly<Record<AccessMode, string>> = {
  SINGLE_NODE_WRITER: 'ReadWriteOnce',
  SINGLE_NODE_MULTI_WRITER: 'ReadWriteOnce',
  SINGLE_NODE_SINGLE_WRITER: 'ReadWriteOncePod',
  SINGLE_NODE_READER_ONLY: 'ReadOnlyMany',
  MULTI_NODE_READER_ONLY: 'ReadOnlyMany',
  MULTI_NODE_SINGLE_WRITER: 'ReadWriteMany',
  MULTI_NODE_MULTI_WRITER: 'ReadWriteMany',
};

type ShownVolume = Pick<OwnedVolume, 'capabilities'> & {
  readonly volume: Pick<OwnedVolume['volume'], 'id' | 'sizeBytes' | 'context' | 'topology'>;
  /** The cluster may only read the volume. */
  readonly isReadOnly?: boolean;
};

/**
 * Makes a PersistentVolume and a PersistentVolumeClaim, bound to each other, for a volume that Kubernetes did not create.
 * Their reclaim policy is Retain: deleting the claim keeps the volume.
 */
export function toManifests(
  { volume, capabilities, isReadOnly = false }: ShownVolume,
  names: ManifestNames,
): readonly object[] {
  const name = toName(volume.id);
  const { driver, namespace, claim = name } = names;
  const [first] = capabilities;
  const isBlock = first?.accessType === 'block';
  const both = {
    accessModes: isReadOnly
      ? ['ReadOnlyMany']
      : [...new Set(capabilities.map(({ accessMode }) => kubernetesModes[accessMode]))],
    volumeMode: isBlock ? 'Block' : 'Filesystem',
    storageClassName: '',
  };
  const storage = String(volume.sizeBytes);
  const csi = {
    driver,
    volumeHandle: volume.id,
    ...(isReadOnly && { readOnly: true }),
    ...(first?.fsType && !isBlock && { fsType: first.fsType }),
    ...(Object.keys(volume.context).length > 0 && { volumeAttributes: volume.context }),
  };
  const terms = volume.topology?.map(toTerm);
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: {
        capacity: { storage },
        ...both,
        persistentVolumeReclaimPolicy: 'Retain',
        ...(first?.mountFlags && { mountOptions: first.mountFlags }),
        claimRef: { namespace, name: claim },
        csi,
        ...(terms && { nodeAffinity: { required: { nodeSelectorTerms: terms } } }),
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: claim, namespace },
      spec: { ...both, volumeName: name, resources: { requests: { storage } } },
    },
  ];
}

function toTerm(segments: Segments): object {
  const found = Object.entries(segments);
  return { matchExpressions: found.map(([key, value]) => ({ key, operator: 'In', values: [value] })) };
}

/**
 * Makes a VolumeSnapshotContent and a VolumeSnapshot, bound to each other, for a snapshot of another cluster. Their
 * deletion keeps the snapshot.
 */
export function toSnapshotManifests(
  snapshotHandle: string,
  { driver, namespace }: ManifestNames,
): readonly object[] {
  const [apiVersion, name] = ['snapshot.storage.k8s.io/v1', toName(snapshotHandle)];
  return [
    {
      apiVersion,
      kind: 'VolumeSnapshotContent',
      metadata: { name },
      spec: {
        deletionPolicy: 'Retain',
        driver,
        source: { snapshotHandle },
        volumeSnapshotRef: { name, namespace },
      },
    },
    {
      apiVersion,
      kind: 'VolumeSnapshot',
      metadata: { name, namespace },
      spec: { source: { volumeSnapshotContentName: name } },
    },
  ];
}

/** Makes a valid name of a Kubernetes object from the end of an id. */
function toName(id: string): string {
  return id
    .slice(id.indexOf('.') + 1)
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .replaceAll(/^[.-]+|[.-]+$/g, '');
}

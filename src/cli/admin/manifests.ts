import type { OwnedVolume } from '../../api/admin.ts';
import type { AccessMode } from '../../api/storage.ts';

/** How a cluster names what it gets. */
export type ManifestNames = {
  /** The name of the CSI driver there. */
  readonly driver: string;
  readonly namespace: string;
  /** Of the claim; absent: as the volume. */
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

/**
 * The PersistentVolume and the PersistentVolumeClaim by which Kubernetes finds the volume, bound to one another. It is
 * retained when the claim is deleted, as it is not Kubernetes that made it.
 */
export function toManifests({ volume, capabilities }: OwnedVolume, names: ManifestNames): readonly object[] {
  const name = toName(volume.id.slice(volume.id.indexOf('.') + 1));
  const { driver, namespace, claim = name } = names;
  const [first] = capabilities;
  const isBlock = first?.accessType === 'block';
  const both = {
    accessModes: [...new Set(capabilities.map(({ accessMode }) => kubernetesModes[accessMode]))],
    volumeMode: isBlock ? 'Block' : 'Filesystem',
    storageClassName: '',
  };
  const storage = String(volume.sizeBytes);
  const csi = {
    driver,
    volumeHandle: volume.id,
    ...(first?.fsType && !isBlock && { fsType: first.fsType }),
    ...(Object.keys(volume.context).length > 0 && { volumeAttributes: volume.context }),
  };
  const terms = volume.topology?.map(segments => ({
    matchExpressions: Object.entries(segments).map(([key, value]) => ({
      key,
      operator: 'In',
      values: [value],
    })),
  }));
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: {
        capacity: { storage },
        ...both,
        persistentVolumeReclaimPolicy: 'Retain',
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

/** A name that Kubernetes takes. */
function toName(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .replaceAll(/^[.-]+|[.-]+$/g, '');
}

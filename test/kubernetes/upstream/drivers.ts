/** A pool of the test clusters' gateway, named by its backend. */
export type Pool = 'image' | 'dir';

/** The capabilities of volumes in both pools. Those that are missing here and below are false. */
const common = {
  persistence: true,
  fsGroup: true,
  exec: true,
  multipods: true,
  // With this the suite expects expansion both offline and online.
  controllerExpansion: true,
  readWriteOncePod: true,
  multiplePVsSameID: true,
};

const name = 'csi.fairlead.dev';

const image = {
  StorageClass: { FromExistingClassName: 'xfs-at-once' },
  SnapshotClass: { FromExistingClassName: 'fairlead' },
  VolumeAttributesClass: { FromExistingClassName: 'reserved' },
  DriverInfo: {
    Name: name,
    // Filesystems of xfs have at least 300 MiB.
    SupportedSizeRange: { Min: '320Mi', Max: '5Gi' },
    SupportedFsType: { '': {}, ext4: {}, xfs: {}, btrfs: {} },
    SupportedMountOption: { noatime: {}, nodev: {} },
    TopologyKeys: ['site', 'protocol-loop', 'protocol-bind', 'protocol-device'].map(key => `${name}/${key}`),
    StressTestOptions: { NumPods: 5, NumRestarts: 3 },
    VolumeSnapshotStressTestOptions: { NumPods: 3, NumSnapshots: 3 },
    VolumeModifyStressTestOptions: { NumPods: 4 },
    Capabilities: {
      ...common,
      block: true,
      snapshotDataSource: true,
      pvcDataSource: true,
      nodeExpansion: true,
      topology: true,
      capacity: true,
    },
  },
};

const dir = {
  StorageClass: { FromExistingClassName: 'files' },
  DriverInfo: {
    Name: name,
    SupportedSizeRange: { Min: '20Mi', Max: '5Gi' },
    SupportedFsType: { '': {} },
    SupportedMountOption: { noatime: {}, nodev: {} },
    StressTestOptions: { NumPods: 5, NumRestarts: 3 },
    Capabilities: { ...common, RWX: true, capReadOnlyMany: true, capacity: true },
  },
};

/** The definitions of the driver for the suite: its classes in the test clusters, and its capabilities. */
export const drivers: Readonly<Record<Pool, object>> = { image, dir };

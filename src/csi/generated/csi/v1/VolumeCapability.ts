// Generated from proto/csi.proto. Do not edit.

/** The nodes and workloads that may use the volume at the same time, and the ones that may write. */
export interface _csi_v1_VolumeCapability_AccessMode {
  /** required */
  'mode'?: (_csi_v1_VolumeCapability_AccessMode_Mode);
}

/** The nodes and workloads that may use the volume at the same time, and the ones that may write. */
export interface _csi_v1_VolumeCapability_AccessMode__Output {
  /** required */
  'mode': (_csi_v1_VolumeCapability_AccessMode_Mode__Output);
}

/** As a raw block device. */
export interface _csi_v1_VolumeCapability_BlockVolume {
}

/** As a raw block device. */
export interface _csi_v1_VolumeCapability_BlockVolume__Output {
}

export const _csi_v1_VolumeCapability_AccessMode_Mode = {
  UNKNOWN: 'UNKNOWN',
  /** one node, read and write */
  SINGLE_NODE_WRITER: 'SINGLE_NODE_WRITER',
  /** one node, read only */
  SINGLE_NODE_READER_ONLY: 'SINGLE_NODE_READER_ONLY',
  /** many nodes, read only */
  MULTI_NODE_READER_ONLY: 'MULTI_NODE_READER_ONLY',
  /** many nodes, one may write */
  MULTI_NODE_SINGLE_WRITER: 'MULTI_NODE_SINGLE_WRITER',
  /** many nodes, all may write */
  MULTI_NODE_MULTI_WRITER: 'MULTI_NODE_MULTI_WRITER',
  /** one node, one workload on it */
  SINGLE_NODE_SINGLE_WRITER: 'SINGLE_NODE_SINGLE_WRITER',
  /** one node, many workloads on it */
  SINGLE_NODE_MULTI_WRITER: 'SINGLE_NODE_MULTI_WRITER',
} as const;

export type _csi_v1_VolumeCapability_AccessMode_Mode =
  | 'UNKNOWN'
  | 0
  /** one node, read and write */
  | 'SINGLE_NODE_WRITER'
  | 1
  /** one node, read only */
  | 'SINGLE_NODE_READER_ONLY'
  | 2
  /** many nodes, read only */
  | 'MULTI_NODE_READER_ONLY'
  | 3
  /** many nodes, one may write */
  | 'MULTI_NODE_SINGLE_WRITER'
  | 4
  /** many nodes, all may write */
  | 'MULTI_NODE_MULTI_WRITER'
  | 5
  /** one node, one workload on it */
  | 'SINGLE_NODE_SINGLE_WRITER'
  | 6
  /** one node, many workloads on it */
  | 'SINGLE_NODE_MULTI_WRITER'
  | 7

export type _csi_v1_VolumeCapability_AccessMode_Mode__Output = typeof _csi_v1_VolumeCapability_AccessMode_Mode[keyof typeof _csi_v1_VolumeCapability_AccessMode_Mode]

/** As a mounted filesystem. */
export interface _csi_v1_VolumeCapability_MountVolume {
  /** empty: the plugin's default */
  'fs_type'?: (string);
  /** up to 4 KiB together; may hold secrets though it is not marked */
  'mount_flags'?: (string)[];
  /** gid for files, given only to plugins with VOLUME_MOUNT_GROUP */
  'volume_mount_group'?: (string);
}

/** As a mounted filesystem. */
export interface _csi_v1_VolumeCapability_MountVolume__Output {
  /** empty: the plugin's default */
  'fs_type': (string);
  /** up to 4 KiB together; may hold secrets though it is not marked */
  'mount_flags': (string)[];
  /** gid for files, given only to plugins with VOLUME_MOUNT_GROUP */
  'volume_mount_group': (string);
}

/** A present or planned kind of use of a volume. */
export interface VolumeCapability {
  'block'?: (_csi_v1_VolumeCapability_BlockVolume | null);
  'mount'?: (_csi_v1_VolumeCapability_MountVolume | null);
  /** required */
  'access_mode'?: (_csi_v1_VolumeCapability_AccessMode | null);
  'access_type'?: "block"|"mount";
}

/** A present or planned kind of use of a volume. */
export interface VolumeCapability__Output {
  'block'?: (_csi_v1_VolumeCapability_BlockVolume__Output | null);
  'mount'?: (_csi_v1_VolumeCapability_MountVolume__Output | null);
  /** required */
  'access_mode': (_csi_v1_VolumeCapability_AccessMode__Output | null);
  'access_type'?: "block"|"mount";
}

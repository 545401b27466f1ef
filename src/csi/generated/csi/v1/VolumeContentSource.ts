// Generated from proto/csi.proto. Do not edit.

export interface _csi_v1_VolumeContentSource_SnapshotSource {
  /** required */
  'snapshot_id'?: (string);
}

export interface _csi_v1_VolumeContentSource_SnapshotSource__Output {
  /** required */
  'snapshot_id': (string);
}

export interface _csi_v1_VolumeContentSource_VolumeSource {
  /** required */
  'volume_id'?: (string);
}

export interface _csi_v1_VolumeContentSource_VolumeSource__Output {
  /** required */
  'volume_id': (string);
}

/** The source of a new volume's data. */
export interface VolumeContentSource {
  'snapshot'?: (_csi_v1_VolumeContentSource_SnapshotSource | null);
  'volume'?: (_csi_v1_VolumeContentSource_VolumeSource | null);
  'type'?: "snapshot"|"volume";
}

/** The source of a new volume's data. */
export interface VolumeContentSource__Output {
  'snapshot'?: (_csi_v1_VolumeContentSource_SnapshotSource__Output | null);
  'volume'?: (_csi_v1_VolumeContentSource_VolumeSource__Output | null);
  'type'?: "snapshot"|"volume";
}

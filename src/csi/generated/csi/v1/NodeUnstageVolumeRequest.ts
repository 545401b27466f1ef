// Generated from proto/csi.proto. Do not edit.

export interface NodeUnstageVolumeRequest {
  /** required */
  'volume_id'?: (string);
  /** required */
  'staging_target_path'?: (string);
}

export interface NodeUnstageVolumeRequest__Output {
  /** required */
  'volume_id': (string);
  /** required */
  'staging_target_path': (string);
}

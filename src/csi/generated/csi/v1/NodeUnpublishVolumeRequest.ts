// Generated from proto/csi.proto. Do not edit.

export interface NodeUnpublishVolumeRequest {
  /** required */
  'volume_id'?: (string);
  /** required */
  'target_path'?: (string);
}

export interface NodeUnpublishVolumeRequest__Output {
  /** required */
  'volume_id': (string);
  /** required */
  'target_path': (string);
}

// Generated from proto/csi.proto. Do not edit.

export interface NodeGetVolumeHealthRequest {
  /** required */
  'volume_id'?: (string);
  /** where it was, or was to be, published */
  'volume_publish_path'?: (string);
  /** where it was, or was to be, staged */
  'staging_target_path'?: (string);
}

export interface NodeGetVolumeHealthRequest__Output {
  /** required */
  'volume_id': (string);
  /** where it was, or was to be, published */
  'volume_publish_path': (string);
  /** where it was, or was to be, staged */
  'staging_target_path': (string);
}

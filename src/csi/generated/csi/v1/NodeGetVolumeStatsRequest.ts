// Generated from proto/csi.proto. Do not edit.

export interface NodeGetVolumeStatsRequest {
  /** required */
  'volume_id'?: (string);
  /** required; where it is staged or published */
  'volume_path'?: (string);
  /** where it was staged, for plugins with STAGE_UNSTAGE_VOLUME */
  'staging_target_path'?: (string);
}

export interface NodeGetVolumeStatsRequest__Output {
  /** required */
  'volume_id': (string);
  /** required; where it is staged or published */
  'volume_path': (string);
  /** where it was staged, for plugins with STAGE_UNSTAGE_VOLUME */
  'staging_target_path': (string);
}

// Generated from proto/csi.proto. Do not edit.

export interface ControllerGetVolumeRequest {
  /** required */
  'volume_id'?: (string);
}

export interface ControllerGetVolumeRequest__Output {
  /** required */
  'volume_id': (string);
}

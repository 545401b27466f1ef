// Generated from proto/csi.proto. Do not edit.

export interface ControllerGetVolumeHealthRequest {
  /** required */
  'volume_id'?: (string);
  'secrets'?: ({[key: string]: string});
}

export interface ControllerGetVolumeHealthRequest__Output {
  /** required */
  'volume_id': (string);
  'secrets': ({[key: string]: string});
}

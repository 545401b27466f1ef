// Generated from proto/csi.proto. Do not edit.

export interface ControllerModifyVolumeRequest {
  /** required */
  'volume_id'?: (string);
  'secrets'?: ({[key: string]: string});
  /** required; what is not named stays as it is */
  'mutable_parameters'?: ({[key: string]: string});
}

export interface ControllerModifyVolumeRequest__Output {
  /** required */
  'volume_id': (string);
  'secrets': ({[key: string]: string});
  /** required; what is not named stays as it is */
  'mutable_parameters': ({[key: string]: string});
}

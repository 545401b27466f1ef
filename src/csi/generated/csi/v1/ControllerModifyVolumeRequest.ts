// Generated from proto/csi.proto. Do not edit.

export interface ControllerModifyVolumeRequest {
  /** required */
  'volume_id'?: (string);
  'secrets'?: ({[key: string]: string});
  /** required; other parameters stay as they are */
  'mutable_parameters'?: ({[key: string]: string});
}

export interface ControllerModifyVolumeRequest__Output {
  /** required */
  'volume_id': (string);
  'secrets': ({[key: string]: string});
  /** required; other parameters stay as they are */
  'mutable_parameters': ({[key: string]: string});
}

// Generated from proto/csi.proto. Do not edit.

export interface DeleteVolumeRequest {
  /** required */
  'volume_id'?: (string);
  'secrets'?: ({[key: string]: string});
}

export interface DeleteVolumeRequest__Output {
  /** required */
  'volume_id': (string);
  'secrets': ({[key: string]: string});
}

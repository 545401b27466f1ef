// Generated from proto/csi.proto. Do not edit.

export interface ControllerUnpublishVolumeRequest {
  /** required */
  'volume_id'?: (string);
  /** empty: every node */
  'node_id'?: (string);
  'secrets'?: ({[key: string]: string});
}

export interface ControllerUnpublishVolumeRequest__Output {
  /** required */
  'volume_id': (string);
  /** empty: every node */
  'node_id': (string);
  'secrets': ({[key: string]: string});
}

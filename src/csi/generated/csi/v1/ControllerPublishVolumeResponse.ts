// Generated from proto/csi.proto. Do not edit.

export interface ControllerPublishVolumeResponse {
  /** all that the node must know to reach the volume */
  'publish_context'?: ({[key: string]: string});
}

export interface ControllerPublishVolumeResponse__Output {
  /** all that the node must know to reach the volume */
  'publish_context': ({[key: string]: string});
}

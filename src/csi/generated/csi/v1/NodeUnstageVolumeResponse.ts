// Generated from proto/csi.proto. Do not edit.

export interface NodeUnstageVolumeResponse {
}

export interface NodeUnstageVolumeResponse__Output {
}

// Generated from proto/csi.proto. Do not edit.

export interface NodePublishVolumeResponse {
}

export interface NodePublishVolumeResponse__Output {
}

// Generated from proto/csi.proto. Do not edit.

export interface NodeUnpublishVolumeResponse {
}

export interface NodeUnpublishVolumeResponse__Output {
}

// Generated from proto/csi.proto. Do not edit.

export interface ControllerUnpublishVolumeResponse {
}

export interface ControllerUnpublishVolumeResponse__Output {
}

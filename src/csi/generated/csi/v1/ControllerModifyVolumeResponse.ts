// Generated from proto/csi.proto. Do not edit.

export interface ControllerModifyVolumeResponse {
}

export interface ControllerModifyVolumeResponse__Output {
}

// Generated from proto/csi.proto. Do not edit.

export interface DeleteVolumeResponse {
}

export interface DeleteVolumeResponse__Output {
}

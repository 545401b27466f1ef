// Generated from proto/csi.proto. Do not edit.

export interface NodeStageVolumeResponse {
}

export interface NodeStageVolumeResponse__Output {
}

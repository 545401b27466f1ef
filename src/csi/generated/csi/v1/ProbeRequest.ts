// Generated from proto/csi.proto. Do not edit.

export interface ProbeRequest {
}

export interface ProbeRequest__Output {
}

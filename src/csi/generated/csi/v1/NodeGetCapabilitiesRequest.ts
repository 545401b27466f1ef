// Generated from proto/csi.proto. Do not edit.

export interface NodeGetCapabilitiesRequest {
}

export interface NodeGetCapabilitiesRequest__Output {
}

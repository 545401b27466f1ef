// Generated from proto/csi.proto. Do not edit.

export interface GroupControllerGetCapabilitiesRequest {
}

export interface GroupControllerGetCapabilitiesRequest__Output {
}

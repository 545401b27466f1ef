// Generated from proto/csi.proto. Do not edit.

export interface ControllerGetCapabilitiesRequest {
}

export interface ControllerGetCapabilitiesRequest__Output {
}

// Generated from proto/csi.proto. Do not edit.

export interface GetPluginCapabilitiesRequest {
}

export interface GetPluginCapabilitiesRequest__Output {
}

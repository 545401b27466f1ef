// Generated from proto/csi.proto. Do not edit.

export interface GetPluginInfoRequest {
}

export interface GetPluginInfoRequest__Output {
}

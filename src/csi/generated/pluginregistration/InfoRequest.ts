// Generated from proto/pluginregistration.proto. Do not edit.

export interface InfoRequest {
}

export interface InfoRequest__Output {
}

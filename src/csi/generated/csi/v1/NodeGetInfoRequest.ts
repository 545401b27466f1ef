// Generated from proto/csi.proto. Do not edit.

export interface NodeGetInfoRequest {
}

export interface NodeGetInfoRequest__Output {
}

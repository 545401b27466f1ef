// Generated from proto/csi.proto. Do not edit.

export interface NodeGetStorageHealthRequest {
  'secrets'?: ({[key: string]: string});
}

export interface NodeGetStorageHealthRequest__Output {
  'secrets': ({[key: string]: string});
}

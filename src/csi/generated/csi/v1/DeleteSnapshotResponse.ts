// Generated from proto/csi.proto. Do not edit.

export interface DeleteSnapshotResponse {
}

export interface DeleteSnapshotResponse__Output {
}

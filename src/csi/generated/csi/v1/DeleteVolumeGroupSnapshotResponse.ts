// Generated from proto/csi.proto. Do not edit.

export interface DeleteVolumeGroupSnapshotResponse {
}

export interface DeleteVolumeGroupSnapshotResponse__Output {
}

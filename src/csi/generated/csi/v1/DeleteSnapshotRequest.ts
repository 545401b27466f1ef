// Generated from proto/csi.proto. Do not edit.

export interface DeleteSnapshotRequest {
  /** required */
  'snapshot_id'?: (string);
  'secrets'?: ({[key: string]: string});
}

export interface DeleteSnapshotRequest__Output {
  /** required */
  'snapshot_id': (string);
  'secrets': ({[key: string]: string});
}

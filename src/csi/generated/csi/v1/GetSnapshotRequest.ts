// Generated from proto/csi.proto. Do not edit.

export interface GetSnapshotRequest {
  /** required */
  'snapshot_id'?: (string);
  'secrets'?: ({[key: string]: string});
}

export interface GetSnapshotRequest__Output {
  /** required */
  'snapshot_id': (string);
  'secrets': ({[key: string]: string});
}

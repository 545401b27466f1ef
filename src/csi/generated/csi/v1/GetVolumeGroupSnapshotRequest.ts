// Generated from proto/csi.proto. Do not edit.

export interface GetVolumeGroupSnapshotRequest {
  /** required */
  'group_snapshot_id'?: (string);
  /** required; the members as the caller knows them, to be compared */
  'snapshot_ids'?: (string)[];
  'secrets'?: ({[key: string]: string});
}

export interface GetVolumeGroupSnapshotRequest__Output {
  /** required */
  'group_snapshot_id': (string);
  /** required; the members as the caller knows them, to be compared */
  'snapshot_ids': (string)[];
  'secrets': ({[key: string]: string});
}

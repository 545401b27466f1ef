// Generated from proto/csi.proto. Do not edit.

export interface CreateVolumeGroupSnapshotRequest {
  /** required; chosen by the caller, the key that makes retries safe; no control characters */
  'name'?: (string);
  /** required */
  'source_volume_ids'?: (string)[];
  'secrets'?: ({[key: string]: string});
  /** from the group snapshot class */
  'parameters'?: ({[key: string]: string});
}

export interface CreateVolumeGroupSnapshotRequest__Output {
  /** required; chosen by the caller, the key that makes retries safe; no control characters */
  'name': (string);
  /** required */
  'source_volume_ids': (string)[];
  'secrets': ({[key: string]: string});
  /** from the group snapshot class */
  'parameters': ({[key: string]: string});
}

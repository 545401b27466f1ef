// Generated from proto/csi.proto. Do not edit.

export interface ListSnapshotsRequest {
  /** zero: no limit; never negative */
  'max_entries'?: (number);
  /** a next_token from before; empty: the first page */
  'starting_token'?: (string);
  /** only this volume's; no match is an empty list */
  'source_volume_id'?: (string);
  /** only this one; no match is an empty list */
  'snapshot_id'?: (string);
  'secrets'?: ({[key: string]: string});
}

export interface ListSnapshotsRequest__Output {
  /** zero: no limit; never negative */
  'max_entries': (number);
  /** a next_token from before; empty: the first page */
  'starting_token': (string);
  /** only this volume's; no match is an empty list */
  'source_volume_id': (string);
  /** only this one; no match is an empty list */
  'snapshot_id': (string);
  'secrets': ({[key: string]: string});
}

// Generated from proto/csi.proto. Do not edit.

export interface ListVolumesRequest {
  /** zero: no limit; never negative */
  'max_entries'?: (number);
  /** a next_token from before; empty: the first page */
  'starting_token'?: (string);
}

export interface ListVolumesRequest__Output {
  /** zero: no limit; never negative */
  'max_entries': (number);
  /** a next_token from before; empty: the first page */
  'starting_token': (string);
}

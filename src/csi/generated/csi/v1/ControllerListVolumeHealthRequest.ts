// Generated from proto/csi.proto. Do not edit.

export interface ControllerListVolumeHealthRequest {
  /** zero: no limit; never negative */
  'max_entries'?: (number);
  /** a next_token from before; empty: the first page */
  'starting_token'?: (string);
  'secrets'?: ({[key: string]: string});
}

export interface ControllerListVolumeHealthRequest__Output {
  /** zero: no limit; never negative */
  'max_entries': (number);
  /** a next_token from before; empty: the first page */
  'starting_token': (string);
  'secrets': ({[key: string]: string});
}

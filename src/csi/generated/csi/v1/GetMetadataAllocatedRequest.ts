// Generated from proto/csi.proto. Do not edit.

import type { Long } from '@grpc/proto-loader';

export interface GetMetadataAllocatedRequest {
  /** required */
  'snapshot_id'?: (string);
  /** required; skips ranges that end at or before it; zero: from the start */
  'starting_offset'?: (number | string | Long);
  /** ranges per message at most; zero: the plugin decides */
  'max_results'?: (number);
  'secrets'?: ({[key: string]: string});
}

export interface GetMetadataAllocatedRequest__Output {
  /** required */
  'snapshot_id': (string);
  /** required; skips ranges that end at or before it; zero: from the start */
  'starting_offset': (string);
  /** ranges per message at most; zero: the plugin decides */
  'max_results': (number);
  'secrets': ({[key: string]: string});
}

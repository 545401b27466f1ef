// Generated from proto/csi.proto. Do not edit.

import type { Long } from '@grpc/proto-loader';

export interface NodeExpandVolumeResponse {
  /** the size it has now; zero: unknown */
  'capacity_bytes'?: (number | string | Long);
}

export interface NodeExpandVolumeResponse__Output {
  /** the size it has now; zero: unknown */
  'capacity_bytes': (string);
}

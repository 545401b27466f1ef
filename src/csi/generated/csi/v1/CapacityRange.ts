// Generated from proto/csi.proto. Do not edit.

import type { Long } from '@grpc/proto-loader';

/** Bounds on a size in bytes; zero leaves a side open, equal sides ask for an exact size. */
export interface CapacityRange {
  /** at least; never negative */
  'required_bytes'?: (number | string | Long);
  /** at most; never negative */
  'limit_bytes'?: (number | string | Long);
}

/** Bounds on a size in bytes; zero leaves a side open, equal sides ask for an exact size. */
export interface CapacityRange__Output {
  /** at least; never negative */
  'required_bytes': (string);
  /** at most; never negative */
  'limit_bytes': (string);
}

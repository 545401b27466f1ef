// Generated from proto/csi.proto. Do not edit.

import type { Long } from '@grpc/proto-loader';

/** A range of bytes. */
export interface BlockMetadata {
  /** required; from the start of the volume, zero based */
  'byte_offset'?: (number | string | Long);
  /** required; above zero */
  'size_bytes'?: (number | string | Long);
}

/** A range of bytes. */
export interface BlockMetadata__Output {
  /** required; from the start of the volume, zero based */
  'byte_offset': (string);
  /** required; above zero */
  'size_bytes': (string);
}

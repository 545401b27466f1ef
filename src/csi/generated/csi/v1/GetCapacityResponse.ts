// Generated from proto/csi.proto. Do not edit.

import type { Int64Value as _google_protobuf_Int64Value, Int64Value__Output as _google_protobuf_Int64Value__Output } from '../../google/protobuf/Int64Value.ts';
import type { Long } from '@grpc/proto-loader';

export interface GetCapacityResponse {
  /** bytes; never negative */
  'available_capacity'?: (number | string | Long);
  /** largest size one volume may ask for */
  'maximum_volume_size'?: (_google_protobuf_Int64Value | null);
  /** smallest limit one volume may set */
  'minimum_volume_size'?: (_google_protobuf_Int64Value | null);
}

export interface GetCapacityResponse__Output {
  /** bytes; never negative */
  'available_capacity': (string);
  /** largest size one volume may ask for */
  'maximum_volume_size': (_google_protobuf_Int64Value__Output | null);
  /** smallest limit one volume may set */
  'minimum_volume_size': (_google_protobuf_Int64Value__Output | null);
}

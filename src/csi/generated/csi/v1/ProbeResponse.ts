// Generated from proto/csi.proto. Do not edit.

import type { BoolValue as _google_protobuf_BoolValue, BoolValue__Output as _google_protobuf_BoolValue__Output } from '../../google/protobuf/BoolValue.ts';

export interface ProbeResponse {
  /** absent means true */
  'ready'?: (_google_protobuf_BoolValue | null);
}

export interface ProbeResponse__Output {
  /** absent means true */
  'ready': (_google_protobuf_BoolValue__Output | null);
}

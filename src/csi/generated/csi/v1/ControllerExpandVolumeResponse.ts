// Generated from proto/csi.proto. Do not edit.

import type { Long } from '@grpc/proto-loader';

export interface ControllerExpandVolumeResponse {
  /** required; the size it has now */
  'capacity_bytes'?: (number | string | Long);
  /** NodeExpandVolume is still to be called */
  'node_expansion_required'?: (boolean);
}

export interface ControllerExpandVolumeResponse__Output {
  /** required; the size it has now */
  'capacity_bytes': (string);
  /** NodeExpandVolume is still to be called */
  'node_expansion_required': (boolean);
}

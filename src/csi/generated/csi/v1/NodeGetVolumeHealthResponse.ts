// Generated from proto/csi.proto. Do not edit.

import type { VolumeHealth as _csi_v1_VolumeHealth, VolumeHealth__Output as _csi_v1_VolumeHealth__Output } from '../../csi/v1/VolumeHealth.ts';

export interface NodeGetVolumeHealthResponse {
  /** required */
  'volume_health'?: (_csi_v1_VolumeHealth | null);
}

export interface NodeGetVolumeHealthResponse__Output {
  /** required */
  'volume_health': (_csi_v1_VolumeHealth__Output | null);
}

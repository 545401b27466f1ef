// Generated from proto/csi.proto. Do not edit.

import type { VolumeUsage as _csi_v1_VolumeUsage, VolumeUsage__Output as _csi_v1_VolumeUsage__Output } from '../../csi/v1/VolumeUsage.ts';

export interface NodeGetVolumeStatsResponse {
  /** one for each unit */
  'usage'?: (_csi_v1_VolumeUsage)[];
}

export interface NodeGetVolumeStatsResponse__Output {
  /** one for each unit */
  'usage': (_csi_v1_VolumeUsage__Output)[];
}

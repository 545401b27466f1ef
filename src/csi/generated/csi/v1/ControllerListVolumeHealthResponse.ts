// Generated from proto/csi.proto. Do not edit.

import type { VolumeHealth as _csi_v1_VolumeHealth, VolumeHealth__Output as _csi_v1_VolumeHealth__Output } from '../../csi/v1/VolumeHealth.ts';

export interface ControllerListVolumeHealthResponse {
  /** only volumes that have something wrong */
  'entries'?: (_csi_v1_VolumeHealth)[];
  /** empty: this was the last page */
  'next_token'?: (string);
}

export interface ControllerListVolumeHealthResponse__Output {
  /** only volumes that have something wrong */
  'entries': (_csi_v1_VolumeHealth__Output)[];
  /** empty: this was the last page */
  'next_token': (string);
}

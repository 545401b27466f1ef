// Generated from proto/csi.proto. Do not edit.

import type { VolumeHealthErrorType as _csi_v1_VolumeHealthErrorType, VolumeHealthErrorType__Output as _csi_v1_VolumeHealthErrorType__Output } from '../../csi/v1/VolumeHealthErrorType.ts';

export interface _csi_v1_VolumeHealth_VolumeHealthEntry {
  /** required; reported until the condition has ended */
  'status'?: (_csi_v1_VolumeHealthErrorType);
  /** required; CamelCase for programs; a volume has one entry per status and reason */
  'reason'?: (string);
  /** for a human */
  'message'?: (string);
}

export interface _csi_v1_VolumeHealth_VolumeHealthEntry__Output {
  /** required; reported until the condition has ended */
  'status': (_csi_v1_VolumeHealthErrorType__Output);
  /** required; CamelCase for programs; a volume has one entry per status and reason */
  'reason': (string);
  /** for a human */
  'message': (string);
}

export interface VolumeHealth {
  /** required */
  'volume_id'?: (string);
  /** empty: nothing is known to be wrong */
  'health_statuses'?: (_csi_v1_VolumeHealth_VolumeHealthEntry)[];
}

export interface VolumeHealth__Output {
  /** required */
  'volume_id': (string);
  /** empty: nothing is known to be wrong */
  'health_statuses': (_csi_v1_VolumeHealth_VolumeHealthEntry__Output)[];
}

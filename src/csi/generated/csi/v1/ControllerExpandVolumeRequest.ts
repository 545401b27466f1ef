// Generated from proto/csi.proto. Do not edit.

import type { CapacityRange as _csi_v1_CapacityRange, CapacityRange__Output as _csi_v1_CapacityRange__Output } from '../../csi/v1/CapacityRange.ts';
import type { VolumeCapability as _csi_v1_VolumeCapability, VolumeCapability__Output as _csi_v1_VolumeCapability__Output } from '../../csi/v1/VolumeCapability.ts';

export interface ControllerExpandVolumeRequest {
  /** required */
  'volume_id'?: (string);
  /** required */
  'capacity_range'?: (_csi_v1_CapacityRange | null);
  'secrets'?: ({[key: string]: string});
  /** absent: the plugin finds out itself */
  'volume_capability'?: (_csi_v1_VolumeCapability | null);
}

export interface ControllerExpandVolumeRequest__Output {
  /** required */
  'volume_id': (string);
  /** required */
  'capacity_range': (_csi_v1_CapacityRange__Output | null);
  'secrets': ({[key: string]: string});
  /** absent: the plugin finds out itself */
  'volume_capability': (_csi_v1_VolumeCapability__Output | null);
}

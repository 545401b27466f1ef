// Generated from proto/csi.proto. Do not edit.

import type { CapacityRange as _csi_v1_CapacityRange, CapacityRange__Output as _csi_v1_CapacityRange__Output } from '../../csi/v1/CapacityRange.ts';
import type { VolumeCapability as _csi_v1_VolumeCapability, VolumeCapability__Output as _csi_v1_VolumeCapability__Output } from '../../csi/v1/VolumeCapability.ts';

export interface NodeExpandVolumeRequest {
  /** required */
  'volume_id'?: (string);
  /** required; where it is staged or published */
  'volume_path'?: (string);
  /** absent: as large as the device allows */
  'capacity_range'?: (_csi_v1_CapacityRange | null);
  /** where it is staged, for plugins with STAGE_UNSTAGE_VOLUME */
  'staging_target_path'?: (string);
  /** absent: the plugin looks at the path */
  'volume_capability'?: (_csi_v1_VolumeCapability | null);
  'secrets'?: ({[key: string]: string});
}

export interface NodeExpandVolumeRequest__Output {
  /** required */
  'volume_id': (string);
  /** required; where it is staged or published */
  'volume_path': (string);
  /** absent: as large as the device allows */
  'capacity_range': (_csi_v1_CapacityRange__Output | null);
  /** where it is staged, for plugins with STAGE_UNSTAGE_VOLUME */
  'staging_target_path': (string);
  /** absent: the plugin looks at the path */
  'volume_capability': (_csi_v1_VolumeCapability__Output | null);
  'secrets': ({[key: string]: string});
}

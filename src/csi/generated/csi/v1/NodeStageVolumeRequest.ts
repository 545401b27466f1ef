// Generated from proto/csi.proto. Do not edit.

import type { VolumeCapability as _csi_v1_VolumeCapability, VolumeCapability__Output as _csi_v1_VolumeCapability__Output } from '../../csi/v1/VolumeCapability.ts';

export interface NodeStageVolumeRequest {
  /** required */
  'volume_id'?: (string);
  /** as ControllerPublishVolume gave it */
  'publish_context'?: ({[key: string]: string});
  /** required; made by the caller */
  'staging_target_path'?: (string);
  /** required */
  'volume_capability'?: (_csi_v1_VolumeCapability | null);
  'secrets'?: ({[key: string]: string});
  /** as CreateVolume gave it */
  'volume_context'?: ({[key: string]: string});
}

export interface NodeStageVolumeRequest__Output {
  /** required */
  'volume_id': (string);
  /** as ControllerPublishVolume gave it */
  'publish_context': ({[key: string]: string});
  /** required; made by the caller */
  'staging_target_path': (string);
  /** required */
  'volume_capability': (_csi_v1_VolumeCapability__Output | null);
  'secrets': ({[key: string]: string});
  /** as CreateVolume gave it */
  'volume_context': ({[key: string]: string});
}

// Generated from proto/csi.proto. Do not edit.

import type { VolumeCapability as _csi_v1_VolumeCapability, VolumeCapability__Output as _csi_v1_VolumeCapability__Output } from '../../csi/v1/VolumeCapability.ts';

export interface NodePublishVolumeRequest {
  /** required */
  'volume_id'?: (string);
  /** as ControllerPublishVolume gave it */
  'publish_context'?: ({[key: string]: string});
  /** where it was staged, for plugins with STAGE_UNSTAGE_VOLUME */
  'staging_target_path'?: (string);
  /** required; the caller made its parent, the plugin makes the path itself */
  'target_path'?: (string);
  /** required */
  'volume_capability'?: (_csi_v1_VolumeCapability | null);
  'readonly'?: (boolean);
  'secrets'?: ({[key: string]: string});
  /** as CreateVolume gave it, plus facts about the workload */
  'volume_context'?: ({[key: string]: string});
}

export interface NodePublishVolumeRequest__Output {
  /** required */
  'volume_id': (string);
  /** as ControllerPublishVolume gave it */
  'publish_context': ({[key: string]: string});
  /** where it was staged, for plugins with STAGE_UNSTAGE_VOLUME */
  'staging_target_path': (string);
  /** required; the caller made its parent, the plugin makes the path itself */
  'target_path': (string);
  /** required */
  'volume_capability': (_csi_v1_VolumeCapability__Output | null);
  'readonly': (boolean);
  'secrets': ({[key: string]: string});
  /** as CreateVolume gave it, plus facts about the workload */
  'volume_context': ({[key: string]: string});
}

// Generated from proto/csi.proto. Do not edit.

import type { VolumeCapability as _csi_v1_VolumeCapability, VolumeCapability__Output as _csi_v1_VolumeCapability__Output } from '../../csi/v1/VolumeCapability.ts';

export interface ControllerPublishVolumeRequest {
  /** required */
  'volume_id'?: (string);
  /** required; what that node's NodeGetInfo said; up to 256 bytes */
  'node_id'?: (string);
  /** required */
  'volume_capability'?: (_csi_v1_VolumeCapability | null);
  /** only set for plugins with PUBLISH_READONLY */
  'readonly'?: (boolean);
  'secrets'?: ({[key: string]: string});
  /** as CreateVolume gave it */
  'volume_context'?: ({[key: string]: string});
}

export interface ControllerPublishVolumeRequest__Output {
  /** required */
  'volume_id': (string);
  /** required; what that node's NodeGetInfo said; up to 256 bytes */
  'node_id': (string);
  /** required */
  'volume_capability': (_csi_v1_VolumeCapability__Output | null);
  /** only set for plugins with PUBLISH_READONLY */
  'readonly': (boolean);
  'secrets': ({[key: string]: string});
  /** as CreateVolume gave it */
  'volume_context': ({[key: string]: string});
}

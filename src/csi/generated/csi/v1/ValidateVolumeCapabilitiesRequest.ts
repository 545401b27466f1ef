// Generated from proto/csi.proto. Do not edit.

import type { VolumeCapability as _csi_v1_VolumeCapability, VolumeCapability__Output as _csi_v1_VolumeCapability__Output } from '../../csi/v1/VolumeCapability.ts';

export interface ValidateVolumeCapabilitiesRequest {
  /** required */
  'volume_id'?: (string);
  /** as CreateVolume gave it */
  'volume_context'?: ({[key: string]: string});
  /** required */
  'volume_capabilities'?: (_csi_v1_VolumeCapability)[];
  'parameters'?: ({[key: string]: string});
  'secrets'?: ({[key: string]: string});
  'mutable_parameters'?: ({[key: string]: string});
}

export interface ValidateVolumeCapabilitiesRequest__Output {
  /** required */
  'volume_id': (string);
  /** as CreateVolume gave it */
  'volume_context': ({[key: string]: string});
  /** required */
  'volume_capabilities': (_csi_v1_VolumeCapability__Output)[];
  'parameters': ({[key: string]: string});
  'secrets': ({[key: string]: string});
  'mutable_parameters': ({[key: string]: string});
}

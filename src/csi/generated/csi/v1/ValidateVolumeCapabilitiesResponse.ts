// Generated from proto/csi.proto. Do not edit.

import type { VolumeCapability as _csi_v1_VolumeCapability, VolumeCapability__Output as _csi_v1_VolumeCapability__Output } from '../../csi/v1/VolumeCapability.ts';

/** The capabilities that the plugin checked and supports. */
export interface _csi_v1_ValidateVolumeCapabilitiesResponse_Confirmed {
  'volume_context'?: ({[key: string]: string});
  /** required */
  'volume_capabilities'?: (_csi_v1_VolumeCapability)[];
  'parameters'?: ({[key: string]: string});
  'mutable_parameters'?: ({[key: string]: string});
}

/** The capabilities that the plugin checked and supports. */
export interface _csi_v1_ValidateVolumeCapabilitiesResponse_Confirmed__Output {
  'volume_context': ({[key: string]: string});
  /** required */
  'volume_capabilities': (_csi_v1_VolumeCapability__Output)[];
  'parameters': ({[key: string]: string});
  'mutable_parameters': ({[key: string]: string});
}

export interface ValidateVolumeCapabilitiesResponse {
  /** absent: not possible as asked */
  'confirmed'?: (_csi_v1_ValidateVolumeCapabilitiesResponse_Confirmed | null);
  /** for a human; only where nothing is confirmed */
  'message'?: (string);
}

export interface ValidateVolumeCapabilitiesResponse__Output {
  /** absent: not possible as asked */
  'confirmed': (_csi_v1_ValidateVolumeCapabilitiesResponse_Confirmed__Output | null);
  /** for a human; only where nothing is confirmed */
  'message': (string);
}

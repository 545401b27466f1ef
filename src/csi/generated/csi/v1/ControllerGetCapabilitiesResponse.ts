// Generated from proto/csi.proto. Do not edit.

import type { ControllerServiceCapability as _csi_v1_ControllerServiceCapability, ControllerServiceCapability__Output as _csi_v1_ControllerServiceCapability__Output } from '../../csi/v1/ControllerServiceCapability.ts';

export interface ControllerGetCapabilitiesResponse {
  'capabilities'?: (_csi_v1_ControllerServiceCapability)[];
}

export interface ControllerGetCapabilitiesResponse__Output {
  'capabilities': (_csi_v1_ControllerServiceCapability__Output)[];
}

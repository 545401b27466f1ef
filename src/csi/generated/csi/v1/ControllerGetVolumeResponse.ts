// Generated from proto/csi.proto. Do not edit.

import type { Volume as _csi_v1_Volume, Volume__Output as _csi_v1_Volume__Output } from '../../csi/v1/Volume.ts';

export interface _csi_v1_ControllerGetVolumeResponse_VolumeStatus {
  /** for plugins with LIST_VOLUMES_PUBLISHED_NODES */
  'published_node_ids'?: (string)[];
}

export interface _csi_v1_ControllerGetVolumeResponse_VolumeStatus__Output {
  /** for plugins with LIST_VOLUMES_PUBLISHED_NODES */
  'published_node_ids': (string)[];
}

export interface ControllerGetVolumeResponse {
  /** required */
  'volume'?: (_csi_v1_Volume | null);
  /** required */
  'status'?: (_csi_v1_ControllerGetVolumeResponse_VolumeStatus | null);
}

export interface ControllerGetVolumeResponse__Output {
  /** required */
  'volume': (_csi_v1_Volume__Output | null);
  /** required */
  'status': (_csi_v1_ControllerGetVolumeResponse_VolumeStatus__Output | null);
}

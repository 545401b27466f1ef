// Generated from proto/csi.proto. Do not edit.

import type { Volume as _csi_v1_Volume, Volume__Output as _csi_v1_Volume__Output } from '../../csi/v1/Volume.ts';

export interface _csi_v1_ListVolumesResponse_Entry {
  /** required */
  'volume'?: (_csi_v1_Volume | null);
  'status'?: (_csi_v1_ListVolumesResponse_VolumeStatus | null);
}

export interface _csi_v1_ListVolumesResponse_Entry__Output {
  /** required */
  'volume': (_csi_v1_Volume__Output | null);
  'status': (_csi_v1_ListVolumesResponse_VolumeStatus__Output | null);
}

export interface _csi_v1_ListVolumesResponse_VolumeStatus {
  /** for plugins with LIST_VOLUMES_PUBLISHED_NODES */
  'published_node_ids'?: (string)[];
}

export interface _csi_v1_ListVolumesResponse_VolumeStatus__Output {
  /** for plugins with LIST_VOLUMES_PUBLISHED_NODES */
  'published_node_ids': (string)[];
}

export interface ListVolumesResponse {
  'entries'?: (_csi_v1_ListVolumesResponse_Entry)[];
  /** empty: this was the last page */
  'next_token'?: (string);
}

export interface ListVolumesResponse__Output {
  'entries': (_csi_v1_ListVolumesResponse_Entry__Output)[];
  /** empty: this was the last page */
  'next_token': (string);
}

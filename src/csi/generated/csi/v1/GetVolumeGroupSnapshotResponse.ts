// Generated from proto/csi.proto. Do not edit.

import type { VolumeGroupSnapshot as _csi_v1_VolumeGroupSnapshot, VolumeGroupSnapshot__Output as _csi_v1_VolumeGroupSnapshot__Output } from '../../csi/v1/VolumeGroupSnapshot.ts';

export interface GetVolumeGroupSnapshotResponse {
  /** required */
  'group_snapshot'?: (_csi_v1_VolumeGroupSnapshot | null);
}

export interface GetVolumeGroupSnapshotResponse__Output {
  /** required */
  'group_snapshot': (_csi_v1_VolumeGroupSnapshot__Output | null);
}

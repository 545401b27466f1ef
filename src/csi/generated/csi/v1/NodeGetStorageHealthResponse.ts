// Generated from proto/csi.proto. Do not edit.

import type { StorageHealthErrorType as _csi_v1_StorageHealthErrorType, StorageHealthErrorType__Output as _csi_v1_StorageHealthErrorType__Output } from '../../csi/v1/StorageHealthErrorType.ts';
import type { VolumeCapability as _csi_v1_VolumeCapability, VolumeCapability__Output as _csi_v1_VolumeCapability__Output } from '../../csi/v1/VolumeCapability.ts';

/** One thing that is wrong with the storage behind this machine. */
export interface _csi_v1_NodeGetStorageHealthResponse_StorageBackendHealth {
  /** required */
  'status'?: (_csi_v1_StorageHealthErrorType);
  /** required; CamelCase for programs; one entry per status, reason and capability */
  'reason'?: (string);
  /** for a human */
  'message'?: (string);
  /** absent: every kind of use suffers */
  'volume_capability'?: (_csi_v1_VolumeCapability | null);
}

/** One thing that is wrong with the storage behind this machine. */
export interface _csi_v1_NodeGetStorageHealthResponse_StorageBackendHealth__Output {
  /** required */
  'status': (_csi_v1_StorageHealthErrorType__Output);
  /** required; CamelCase for programs; one entry per status, reason and capability */
  'reason': (string);
  /** for a human */
  'message': (string);
  /** absent: every kind of use suffers */
  'volume_capability': (_csi_v1_VolumeCapability__Output | null);
}

export interface NodeGetStorageHealthResponse {
  /** empty: nothing is known to be wrong */
  'backend_health'?: (_csi_v1_NodeGetStorageHealthResponse_StorageBackendHealth)[];
}

export interface NodeGetStorageHealthResponse__Output {
  /** empty: nothing is known to be wrong */
  'backend_health': (_csi_v1_NodeGetStorageHealthResponse_StorageBackendHealth__Output)[];
}

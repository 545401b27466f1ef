// Generated from proto/csi.proto. Do not edit.

import type { Long } from '@grpc/proto-loader';

export const _csi_v1_VolumeUsage_Unit = {
  UNKNOWN: 'UNKNOWN',
  BYTES: 'BYTES',
  INODES: 'INODES',
} as const;

export type _csi_v1_VolumeUsage_Unit =
  | 'UNKNOWN'
  | 0
  | 'BYTES'
  | 1
  | 'INODES'
  | 2

export type _csi_v1_VolumeUsage_Unit__Output = typeof _csi_v1_VolumeUsage_Unit[keyof typeof _csi_v1_VolumeUsage_Unit]

export interface VolumeUsage {
  /** zero: unknown */
  'available'?: (number | string | Long);
  /** required */
  'total'?: (number | string | Long);
  /** zero: unknown */
  'used'?: (number | string | Long);
  /** required */
  'unit'?: (_csi_v1_VolumeUsage_Unit);
}

export interface VolumeUsage__Output {
  /** zero: unknown */
  'available': (string);
  /** required */
  'total': (string);
  /** zero: unknown */
  'used': (string);
  /** required */
  'unit': (_csi_v1_VolumeUsage_Unit__Output);
}

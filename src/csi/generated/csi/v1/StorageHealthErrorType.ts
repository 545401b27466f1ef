// Generated from proto/csi.proto. Do not edit.

export const StorageHealthErrorType = {
  UNKNOWN_STORAGE_HEALTH_ERROR_TYPE: 'UNKNOWN_STORAGE_HEALTH_ERROR_TYPE',
  /** slow, or some paths are down */
  STORAGE_DEGRADED: 'STORAGE_DEGRADED',
  /** no path from this machine */
  STORAGE_UNREACHABLE: 'STORAGE_UNREACHABLE',
} as const;

export type StorageHealthErrorType =
  | 'UNKNOWN_STORAGE_HEALTH_ERROR_TYPE'
  | 0
  /** slow, or some paths are down */
  | 'STORAGE_DEGRADED'
  | 1
  /** no path from this machine */
  | 'STORAGE_UNREACHABLE'
  | 2

export type StorageHealthErrorType__Output = typeof StorageHealthErrorType[keyof typeof StorageHealthErrorType]

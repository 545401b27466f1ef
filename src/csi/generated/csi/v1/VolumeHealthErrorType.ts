// Generated from proto/csi.proto. Do not edit.

/** How badly a volume fares. Callers skip values they do not know. */
export const VolumeHealthErrorType = {
  UNKNOWN_VOLUME_HEALTH_TYPE: 'UNKNOWN_VOLUME_HEALTH_TYPE',
  /** usable, but not as it should be */
  DEGRADED: 'DEGRADED',
  /** from a controller: from every node; from a node: from this one */
  INACCESSIBLE: 'INACCESSIBLE',
  /** data is gone for good, or most likely is */
  DATA_LOSS: 'DATA_LOSS',
} as const;

/** How badly a volume fares. Callers skip values they do not know. */
export type VolumeHealthErrorType =
  | 'UNKNOWN_VOLUME_HEALTH_TYPE'
  | 0
  /** usable, but not as it should be */
  | 'DEGRADED'
  | 1
  /** from a controller: from every node; from a node: from this one */
  | 'INACCESSIBLE'
  | 2
  /** data is gone for good, or most likely is */
  | 'DATA_LOSS'
  | 3

/** How badly a volume fares. Callers skip values they do not know. */
export type VolumeHealthErrorType__Output = typeof VolumeHealthErrorType[keyof typeof VolumeHealthErrorType]

// Generated from proto/csi.proto. Do not edit.

/** A kind of fault of a volume. Callers skip unknown values. */
export const VolumeHealthErrorType = {
  UNKNOWN_VOLUME_HEALTH_TYPE: 'UNKNOWN_VOLUME_HEALTH_TYPE',
  /** usable, but not as it should be */
  DEGRADED: 'DEGRADED',
  /** from a controller: from every node; from a node: from this one */
  INACCESSIBLE: 'INACCESSIBLE',
  /** data is gone for good, or most likely is */
  DATA_LOSS: 'DATA_LOSS',
} as const;

/** A kind of fault of a volume. Callers skip unknown values. */
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

/** A kind of fault of a volume. Callers skip unknown values. */
export type VolumeHealthErrorType__Output = typeof VolumeHealthErrorType[keyof typeof VolumeHealthErrorType]

// Generated from proto/csi.proto. Do not edit.

/** Whether all ranges of a stream have one size. */
export const BlockMetadataType = {
  UNKNOWN: 'UNKNOWN',
  FIXED_LENGTH: 'FIXED_LENGTH',
  VARIABLE_LENGTH: 'VARIABLE_LENGTH',
} as const;

/** Whether all ranges of a stream have one size. */
export type BlockMetadataType =
  | 'UNKNOWN'
  | 0
  | 'FIXED_LENGTH'
  | 1
  | 'VARIABLE_LENGTH'
  | 2

/** Whether all ranges of a stream have one size. */
export type BlockMetadataType__Output = typeof BlockMetadataType[keyof typeof BlockMetadataType]

// Generated from proto/csi.proto. Do not edit.

/** The kind of a stream: ranges of one size, or of any size. */
export const BlockMetadataType = {
  UNKNOWN: 'UNKNOWN',
  FIXED_LENGTH: 'FIXED_LENGTH',
  VARIABLE_LENGTH: 'VARIABLE_LENGTH',
} as const;

/** The kind of a stream: ranges of one size, or of any size. */
export type BlockMetadataType =
  | 'UNKNOWN'
  | 0
  | 'FIXED_LENGTH'
  | 1
  | 'VARIABLE_LENGTH'
  | 2

/** The kind of a stream: ranges of one size, or of any size. */
export type BlockMetadataType__Output = typeof BlockMetadataType[keyof typeof BlockMetadataType]

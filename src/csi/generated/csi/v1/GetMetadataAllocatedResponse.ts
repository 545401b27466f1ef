// Generated from proto/csi.proto. Do not edit.

import type { BlockMetadataType as _csi_v1_BlockMetadataType, BlockMetadataType__Output as _csi_v1_BlockMetadataType__Output } from '../../csi/v1/BlockMetadataType.ts';
import type { BlockMetadata as _csi_v1_BlockMetadata, BlockMetadata__Output as _csi_v1_BlockMetadata__Output } from '../../csi/v1/BlockMetadata.ts';
import type { Long } from '@grpc/proto-loader';

export interface GetMetadataAllocatedResponse {
  /** required; the same in a whole stream */
  'block_metadata_type'?: (_csi_v1_BlockMetadataType);
  /** required; the same in a whole stream */
  'volume_capacity_bytes'?: (number | string | Long);
  /** ascending over the whole stream, never overlapping */
  'block_metadata'?: (_csi_v1_BlockMetadata)[];
}

export interface GetMetadataAllocatedResponse__Output {
  /** required; the same in a whole stream */
  'block_metadata_type': (_csi_v1_BlockMetadataType__Output);
  /** required; the same in a whole stream */
  'volume_capacity_bytes': (string);
  /** ascending over the whole stream, never overlapping */
  'block_metadata': (_csi_v1_BlockMetadata__Output)[];
}

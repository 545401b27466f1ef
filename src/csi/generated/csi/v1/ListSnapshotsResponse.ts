// Generated from proto/csi.proto. Do not edit.

import type { Snapshot as _csi_v1_Snapshot, Snapshot__Output as _csi_v1_Snapshot__Output } from '../../csi/v1/Snapshot.ts';

export interface _csi_v1_ListSnapshotsResponse_Entry {
  /** required */
  'snapshot'?: (_csi_v1_Snapshot | null);
}

export interface _csi_v1_ListSnapshotsResponse_Entry__Output {
  /** required */
  'snapshot': (_csi_v1_Snapshot__Output | null);
}

export interface ListSnapshotsResponse {
  'entries'?: (_csi_v1_ListSnapshotsResponse_Entry)[];
  /** empty: this was the last page */
  'next_token'?: (string);
}

export interface ListSnapshotsResponse__Output {
  'entries': (_csi_v1_ListSnapshotsResponse_Entry__Output)[];
  /** empty: this was the last page */
  'next_token': (string);
}

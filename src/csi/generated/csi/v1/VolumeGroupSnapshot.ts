// Generated from proto/csi.proto. Do not edit.

import type { Snapshot as _csi_v1_Snapshot, Snapshot__Output as _csi_v1_Snapshot__Output } from '../../csi/v1/Snapshot.ts';
import type { Timestamp as _google_protobuf_Timestamp, Timestamp__Output as _google_protobuf_Timestamp__Output } from '../../google/protobuf/Timestamp.ts';

export interface VolumeGroupSnapshot {
  /** required; chosen by the plugin */
  'group_snapshot_id'?: (string);
  /** required; one for each source volume */
  'snapshots'?: (_csi_v1_Snapshot)[];
  /** required; the moment the data was frozen */
  'creation_time'?: (_google_protobuf_Timestamp | null);
  /** true only when every snapshot is ready */
  'ready_to_use'?: (boolean);
}

export interface VolumeGroupSnapshot__Output {
  /** required; chosen by the plugin */
  'group_snapshot_id': (string);
  /** required; one for each source volume */
  'snapshots': (_csi_v1_Snapshot__Output)[];
  /** required; the moment the data was frozen */
  'creation_time': (_google_protobuf_Timestamp__Output | null);
  /** true only when every snapshot is ready */
  'ready_to_use': (boolean);
}

// Generated from proto/csi.proto. Do not edit.

import type { Timestamp as _google_protobuf_Timestamp, Timestamp__Output as _google_protobuf_Timestamp__Output } from '../../google/protobuf/Timestamp.ts';
import type { Topology as _csi_v1_Topology, Topology__Output as _csi_v1_Topology__Output } from '../../csi/v1/Topology.ts';
import type { Long } from '@grpc/proto-loader';

export interface Snapshot {
  /** least size of a volume made from it; zero: unknown */
  'size_bytes'?: (number | string | Long);
  /** required; chosen by the plugin */
  'snapshot_id'?: (string);
  /** required */
  'source_volume_id'?: (string);
  /** required; the moment the data was frozen */
  'creation_time'?: (_google_protobuf_Timestamp | null);
  /** false: cut, but volumes cannot be made from it yet */
  'ready_to_use'?: (boolean);
  /** set: it lives and dies with that group */
  'group_snapshot_id'?: (string);
  /** empty: usable everywhere */
  'accessible_topology'?: (_csi_v1_Topology)[];
}

export interface Snapshot__Output {
  /** least size of a volume made from it; zero: unknown */
  'size_bytes': (string);
  /** required; chosen by the plugin */
  'snapshot_id': (string);
  /** required */
  'source_volume_id': (string);
  /** required; the moment the data was frozen */
  'creation_time': (_google_protobuf_Timestamp__Output | null);
  /** false: cut, but volumes cannot be made from it yet */
  'ready_to_use': (boolean);
  /** set: it lives and dies with that group */
  'group_snapshot_id': (string);
  /** empty: usable everywhere */
  'accessible_topology': (_csi_v1_Topology__Output)[];
}

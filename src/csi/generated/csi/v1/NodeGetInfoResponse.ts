// Generated from proto/csi.proto. Do not edit.

import type { Topology as _csi_v1_Topology, Topology__Output as _csi_v1_Topology__Output } from '../../csi/v1/Topology.ts';
import type { Long } from '@grpc/proto-loader';

export interface NodeGetInfoResponse {
  /** required; unique for this plugin; up to 256 bytes, 128 are safer */
  'node_id'?: (string);
  /** zero: the caller decides; never negative */
  'max_volumes_per_node'?: (number | string | Long);
  /** where this machine stands; absent: no constraint */
  'accessible_topology'?: (_csi_v1_Topology | null);
}

export interface NodeGetInfoResponse__Output {
  /** required; unique for this plugin; up to 256 bytes, 128 are safer */
  'node_id': (string);
  /** zero: the caller decides; never negative */
  'max_volumes_per_node': (string);
  /** where this machine stands; absent: no constraint */
  'accessible_topology': (_csi_v1_Topology__Output | null);
}

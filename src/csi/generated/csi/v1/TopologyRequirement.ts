// Generated from proto/csi.proto. Do not edit.

import type { Topology as _csi_v1_Topology, Topology__Output as _csi_v1_Topology__Output } from '../../csi/v1/Topology.ts';

export interface TopologyRequirement {
  /** the volume must be reachable from at least one */
  'requisite'?: (_csi_v1_Topology)[];
  /** the same or fewer, best first */
  'preferred'?: (_csi_v1_Topology)[];
}

export interface TopologyRequirement__Output {
  /** the volume must be reachable from at least one */
  'requisite': (_csi_v1_Topology__Output)[];
  /** the same or fewer, best first */
  'preferred': (_csi_v1_Topology__Output)[];
}

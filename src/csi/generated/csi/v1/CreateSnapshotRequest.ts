// Generated from proto/csi.proto. Do not edit.

import type { TopologyRequirement as _csi_v1_TopologyRequirement, TopologyRequirement__Output as _csi_v1_TopologyRequirement__Output } from '../../csi/v1/TopologyRequirement.ts';

export interface CreateSnapshotRequest {
  /** required */
  'source_volume_id'?: (string);
  /** required; chosen by the caller, the key that makes retries safe; no control characters */
  'name'?: (string);
  'secrets'?: ({[key: string]: string});
  /** from the snapshot class */
  'parameters'?: ({[key: string]: string});
  /** The topology in which volumes must be creatable from it; only for plugins with SNAPSHOT_ACCESSIBILITY_CONSTRAINTS. */
  'accessibility_requirements'?: (_csi_v1_TopologyRequirement | null);
}

export interface CreateSnapshotRequest__Output {
  /** required */
  'source_volume_id': (string);
  /** required; chosen by the caller, the key that makes retries safe; no control characters */
  'name': (string);
  'secrets': ({[key: string]: string});
  /** from the snapshot class */
  'parameters': ({[key: string]: string});
  /** The topology in which volumes must be creatable from it; only for plugins with SNAPSHOT_ACCESSIBILITY_CONSTRAINTS. */
  'accessibility_requirements': (_csi_v1_TopologyRequirement__Output | null);
}

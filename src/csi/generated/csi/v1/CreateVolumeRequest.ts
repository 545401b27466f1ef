// Generated from proto/csi.proto. Do not edit.

import type { CapacityRange as _csi_v1_CapacityRange, CapacityRange__Output as _csi_v1_CapacityRange__Output } from '../../csi/v1/CapacityRange.ts';
import type { VolumeCapability as _csi_v1_VolumeCapability, VolumeCapability__Output as _csi_v1_VolumeCapability__Output } from '../../csi/v1/VolumeCapability.ts';
import type { VolumeContentSource as _csi_v1_VolumeContentSource, VolumeContentSource__Output as _csi_v1_VolumeContentSource__Output } from '../../csi/v1/VolumeContentSource.ts';
import type { TopologyRequirement as _csi_v1_TopologyRequirement, TopologyRequirement__Output as _csi_v1_TopologyRequirement__Output } from '../../csi/v1/TopologyRequirement.ts';

export interface CreateVolumeRequest {
  /** required; chosen by the caller, the key that makes retries safe; no control characters */
  'name'?: (string);
  /** absent: the plugin picks the size */
  'capacity_range'?: (_csi_v1_CapacityRange | null);
  /** required; the volume must allow every one */
  'volume_capabilities'?: (_csi_v1_VolumeCapability)[];
  /** from the storage class; fixed for the volume's life */
  'parameters'?: ({[key: string]: string});
  'secrets'?: ({[key: string]: string});
  /** absent: the volume starts empty */
  'volume_content_source'?: (_csi_v1_VolumeContentSource | null);
  /** absent: the plugin picks the location */
  'accessibility_requirements'?: (_csi_v1_TopologyRequirement | null);
  /** like parameters, win over them, may be modified later */
  'mutable_parameters'?: ({[key: string]: string});
}

export interface CreateVolumeRequest__Output {
  /** required; chosen by the caller, the key that makes retries safe; no control characters */
  'name': (string);
  /** absent: the plugin picks the size */
  'capacity_range': (_csi_v1_CapacityRange__Output | null);
  /** required; the volume must allow every one */
  'volume_capabilities': (_csi_v1_VolumeCapability__Output)[];
  /** from the storage class; fixed for the volume's life */
  'parameters': ({[key: string]: string});
  'secrets': ({[key: string]: string});
  /** absent: the volume starts empty */
  'volume_content_source': (_csi_v1_VolumeContentSource__Output | null);
  /** absent: the plugin picks the location */
  'accessibility_requirements': (_csi_v1_TopologyRequirement__Output | null);
  /** like parameters, win over them, may be modified later */
  'mutable_parameters': ({[key: string]: string});
}

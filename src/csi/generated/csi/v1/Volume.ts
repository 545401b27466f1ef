// Generated from proto/csi.proto. Do not edit.

import type { VolumeContentSource as _csi_v1_VolumeContentSource, VolumeContentSource__Output as _csi_v1_VolumeContentSource__Output } from '../../csi/v1/VolumeContentSource.ts';
import type { Topology as _csi_v1_Topology, Topology__Output as _csi_v1_Topology__Output } from '../../csi/v1/Topology.ts';
import type { Long } from '@grpc/proto-loader';

export interface Volume {
  /** zero: unknown */
  'capacity_bytes'?: (number | string | Long);
  /** required; chosen by the plugin, enough by itself to find the volume */
  'volume_id'?: (string);
  /** never changes, holds no secret, handed back to later calls */
  'volume_context'?: ({[key: string]: string});
  /** repeats the request's source */
  'content_source'?: (_csi_v1_VolumeContentSource | null);
  /** any one of these reaches it; empty: every node does */
  'accessible_topology'?: (_csi_v1_Topology)[];
}

export interface Volume__Output {
  /** zero: unknown */
  'capacity_bytes': (string);
  /** required; chosen by the plugin, enough by itself to find the volume */
  'volume_id': (string);
  /** never changes, holds no secret, handed back to later calls */
  'volume_context': ({[key: string]: string});
  /** repeats the request's source */
  'content_source': (_csi_v1_VolumeContentSource__Output | null);
  /** any one of these reaches it; empty: every node does */
  'accessible_topology': (_csi_v1_Topology__Output)[];
}

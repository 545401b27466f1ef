// Generated from proto/csi.proto. Do not edit.

export interface _csi_v1_PluginCapability_Service {
  'type'?: (_csi_v1_PluginCapability_Service_Type);
}

export interface _csi_v1_PluginCapability_Service__Output {
  'type': (_csi_v1_PluginCapability_Service_Type__Output);
}

export const _csi_v1_PluginCapability_Service_Type = {
  UNKNOWN: 'UNKNOWN',
  /** Controller is served */
  CONTROLLER_SERVICE: 'CONTROLLER_SERVICE',
  /** some nodes cannot reach some volumes: use topology */
  VOLUME_ACCESSIBILITY_CONSTRAINTS: 'VOLUME_ACCESSIBILITY_CONSTRAINTS',
  /** GroupController is served */
  GROUP_CONTROLLER_SERVICE: 'GROUP_CONTROLLER_SERVICE',
  /** SnapshotMetadata is served */
  SNAPSHOT_METADATA_SERVICE: 'SNAPSHOT_METADATA_SERVICE',
  /** Some snapshots can be restored in some places only: use the snapshot's topology. */
  SNAPSHOT_ACCESSIBILITY_CONSTRAINTS: 'SNAPSHOT_ACCESSIBILITY_CONSTRAINTS',
} as const;

export type _csi_v1_PluginCapability_Service_Type =
  | 'UNKNOWN'
  | 0
  /** Controller is served */
  | 'CONTROLLER_SERVICE'
  | 1
  /** some nodes cannot reach some volumes: use topology */
  | 'VOLUME_ACCESSIBILITY_CONSTRAINTS'
  | 2
  /** GroupController is served */
  | 'GROUP_CONTROLLER_SERVICE'
  | 3
  /** SnapshotMetadata is served */
  | 'SNAPSHOT_METADATA_SERVICE'
  | 4
  /** Some snapshots can be restored in some places only: use the snapshot's topology. */
  | 'SNAPSHOT_ACCESSIBILITY_CONSTRAINTS'
  | 5

export type _csi_v1_PluginCapability_Service_Type__Output = typeof _csi_v1_PluginCapability_Service_Type[keyof typeof _csi_v1_PluginCapability_Service_Type]

export const _csi_v1_PluginCapability_VolumeExpansion_Type = {
  UNKNOWN: 'UNKNOWN',
  /** a volume can grow while it is in use */
  ONLINE: 'ONLINE',
  /** the controller grows a volume only while no node has it */
  OFFLINE: 'OFFLINE',
} as const;

export type _csi_v1_PluginCapability_VolumeExpansion_Type =
  | 'UNKNOWN'
  | 0
  /** a volume can grow while it is in use */
  | 'ONLINE'
  | 1
  /** the controller grows a volume only while no node has it */
  | 'OFFLINE'
  | 2

export type _csi_v1_PluginCapability_VolumeExpansion_Type__Output = typeof _csi_v1_PluginCapability_VolumeExpansion_Type[keyof typeof _csi_v1_PluginCapability_VolumeExpansion_Type]

export interface _csi_v1_PluginCapability_VolumeExpansion {
  'type'?: (_csi_v1_PluginCapability_VolumeExpansion_Type);
}

export interface _csi_v1_PluginCapability_VolumeExpansion__Output {
  'type': (_csi_v1_PluginCapability_VolumeExpansion_Type__Output);
}

/** One thing the plugin as a whole can do. */
export interface PluginCapability {
  'service'?: (_csi_v1_PluginCapability_Service | null);
  'volume_expansion'?: (_csi_v1_PluginCapability_VolumeExpansion | null);
  'type'?: "service"|"volume_expansion";
}

/** One thing the plugin as a whole can do. */
export interface PluginCapability__Output {
  'service'?: (_csi_v1_PluginCapability_Service__Output | null);
  'volume_expansion'?: (_csi_v1_PluginCapability_VolumeExpansion__Output | null);
  'type'?: "service"|"volume_expansion";
}

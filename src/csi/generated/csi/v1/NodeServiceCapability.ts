// Generated from proto/csi.proto. Do not edit.

export interface _csi_v1_NodeServiceCapability_RPC {
  'type'?: (_csi_v1_NodeServiceCapability_RPC_Type);
}

export interface _csi_v1_NodeServiceCapability_RPC__Output {
  'type': (_csi_v1_NodeServiceCapability_RPC_Type__Output);
}

export const _csi_v1_NodeServiceCapability_RPC_Type = {
  UNKNOWN: 'UNKNOWN',
  /** volumes are staged before they are published */
  STAGE_UNSTAGE_VOLUME: 'STAGE_UNSTAGE_VOLUME',
  GET_VOLUME_STATS: 'GET_VOLUME_STATS',
  EXPAND_VOLUME: 'EXPAND_VOLUME',
  /** SINGLE_NODE_SINGLE_WRITER and SINGLE_NODE_MULTI_WRITER are told apart. */
  SINGLE_NODE_MULTI_WRITER: 'SINGLE_NODE_MULTI_WRITER',
  /** MountVolume.volume_mount_group is obeyed */
  VOLUME_MOUNT_GROUP: 'VOLUME_MOUNT_GROUP',
  GET_VOLUME_HEALTH: 'GET_VOLUME_HEALTH',
  GET_STORAGE_HEALTH: 'GET_STORAGE_HEALTH',
} as const;

export type _csi_v1_NodeServiceCapability_RPC_Type =
  | 'UNKNOWN'
  | 0
  /** volumes are staged before they are published */
  | 'STAGE_UNSTAGE_VOLUME'
  | 1
  | 'GET_VOLUME_STATS'
  | 2
  | 'EXPAND_VOLUME'
  | 3
  /** SINGLE_NODE_SINGLE_WRITER and SINGLE_NODE_MULTI_WRITER are told apart. */
  | 'SINGLE_NODE_MULTI_WRITER'
  | 5
  /** MountVolume.volume_mount_group is obeyed */
  | 'VOLUME_MOUNT_GROUP'
  | 6
  | 'GET_VOLUME_HEALTH'
  | 7
  | 'GET_STORAGE_HEALTH'
  | 8

export type _csi_v1_NodeServiceCapability_RPC_Type__Output = typeof _csi_v1_NodeServiceCapability_RPC_Type[keyof typeof _csi_v1_NodeServiceCapability_RPC_Type]

/** One thing Node can do. */
export interface NodeServiceCapability {
  'rpc'?: (_csi_v1_NodeServiceCapability_RPC | null);
  'type'?: "rpc";
}

/** One thing Node can do. */
export interface NodeServiceCapability__Output {
  'rpc'?: (_csi_v1_NodeServiceCapability_RPC__Output | null);
  'type'?: "rpc";
}

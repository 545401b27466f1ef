// Generated from proto/csi.proto. Do not edit.

export interface _csi_v1_ControllerServiceCapability_RPC {
  'type'?: (_csi_v1_ControllerServiceCapability_RPC_Type);
}

export interface _csi_v1_ControllerServiceCapability_RPC__Output {
  'type': (_csi_v1_ControllerServiceCapability_RPC_Type__Output);
}

export const _csi_v1_ControllerServiceCapability_RPC_Type = {
  UNKNOWN: 'UNKNOWN',
  CREATE_DELETE_VOLUME: 'CREATE_DELETE_VOLUME',
  /** volumes are attached and detached */
  PUBLISH_UNPUBLISH_VOLUME: 'PUBLISH_UNPUBLISH_VOLUME',
  LIST_VOLUMES: 'LIST_VOLUMES',
  GET_CAPACITY: 'GET_CAPACITY',
  /** includes making a volume from a snapshot */
  CREATE_DELETE_SNAPSHOT: 'CREATE_DELETE_SNAPSHOT',
  LIST_SNAPSHOTS: 'LIST_SNAPSHOTS',
  /** a volume can be made from a volume */
  CLONE_VOLUME: 'CLONE_VOLUME',
  /** ControllerPublishVolumeRequest.readonly is obeyed */
  PUBLISH_READONLY: 'PUBLISH_READONLY',
  EXPAND_VOLUME: 'EXPAND_VOLUME',
  /** listings tell which nodes have the volume */
  LIST_VOLUMES_PUBLISHED_NODES: 'LIST_VOLUMES_PUBLISHED_NODES',
  GET_VOLUME: 'GET_VOLUME',
  /** SINGLE_NODE_SINGLE_WRITER and SINGLE_NODE_MULTI_WRITER are told apart. */
  SINGLE_NODE_MULTI_WRITER: 'SINGLE_NODE_MULTI_WRITER',
  MODIFY_VOLUME: 'MODIFY_VOLUME',
  GET_SNAPSHOT: 'GET_SNAPSHOT',
  GET_VOLUME_HEALTH: 'GET_VOLUME_HEALTH',
  /** only together with GET_VOLUME_HEALTH */
  LIST_VOLUME_HEALTH: 'LIST_VOLUME_HEALTH',
} as const;

export type _csi_v1_ControllerServiceCapability_RPC_Type =
  | 'UNKNOWN'
  | 0
  | 'CREATE_DELETE_VOLUME'
  | 1
  /** volumes are attached and detached */
  | 'PUBLISH_UNPUBLISH_VOLUME'
  | 2
  | 'LIST_VOLUMES'
  | 3
  | 'GET_CAPACITY'
  | 4
  /** includes making a volume from a snapshot */
  | 'CREATE_DELETE_SNAPSHOT'
  | 5
  | 'LIST_SNAPSHOTS'
  | 6
  /** a volume can be made from a volume */
  | 'CLONE_VOLUME'
  | 7
  /** ControllerPublishVolumeRequest.readonly is obeyed */
  | 'PUBLISH_READONLY'
  | 8
  | 'EXPAND_VOLUME'
  | 9
  /** listings tell which nodes have the volume */
  | 'LIST_VOLUMES_PUBLISHED_NODES'
  | 10
  | 'GET_VOLUME'
  | 12
  /** SINGLE_NODE_SINGLE_WRITER and SINGLE_NODE_MULTI_WRITER are told apart. */
  | 'SINGLE_NODE_MULTI_WRITER'
  | 13
  | 'MODIFY_VOLUME'
  | 14
  | 'GET_SNAPSHOT'
  | 15
  | 'GET_VOLUME_HEALTH'
  | 16
  /** only together with GET_VOLUME_HEALTH */
  | 'LIST_VOLUME_HEALTH'
  | 17

export type _csi_v1_ControllerServiceCapability_RPC_Type__Output = typeof _csi_v1_ControllerServiceCapability_RPC_Type[keyof typeof _csi_v1_ControllerServiceCapability_RPC_Type]

/** One thing Controller can do. */
export interface ControllerServiceCapability {
  'rpc'?: (_csi_v1_ControllerServiceCapability_RPC | null);
  'type'?: "rpc";
}

/** One thing Controller can do. */
export interface ControllerServiceCapability__Output {
  'rpc'?: (_csi_v1_ControllerServiceCapability_RPC__Output | null);
  'type'?: "rpc";
}

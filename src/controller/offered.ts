import { hasFeature, type Feature } from '../api/storage.ts';
import { Problem } from '../api/problem.ts';
import type { Capabilities } from '../api/storage.ts';
import type { CapabilitySource } from './capabilities.ts';
import type { _csi_v1_ControllerServiceCapability_RPC_Type as RpcType } from '../csi/generated/csi/v1/ControllerServiceCapability.ts';

/** What the Controller service offers in front of a storage with these capabilities. */
export function offeredRpcs(offered: Capabilities): RpcType[] {
  const has = (feature: Feature, ...types: RpcType[]): RpcType[] =>
    hasFeature(offered, feature) ? types : [];
  return [
    'CREATE_DELETE_VOLUME',
    'PUBLISH_UNPUBLISH_VOLUME',
    'LIST_VOLUMES',
    ...has('capacity', 'GET_CAPACITY'),
    // A snapshot that no volume can be made from is of no use to a cluster (CSI spec, "ControllerGetCapabilities").
    ...(hasFeature(offered, 'restore')
      ? has('snapshots', 'CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS', 'GET_SNAPSHOT')
      : []),
    ...has('clone', 'CLONE_VOLUME'),
    'PUBLISH_READONLY',
    ...has('expand', 'EXPAND_VOLUME'),
    'LIST_VOLUMES_PUBLISHED_NODES',
    'GET_VOLUME',
    ...(offered.accessModes.includes('SINGLE_NODE_MULTI_WRITER')
      ? (['SINGLE_NODE_MULTI_WRITER'] as const)
      : []),
    ...has('modify', 'MODIFY_VOLUME'),
    ...has('health', 'GET_VOLUME_HEALTH', 'LIST_VOLUME_HEALTH'),
  ];
}

/** UNIMPLEMENTED when the storage does not have the feature, UNAVAILABLE while that is not known. */
export function requireFeature(capabilities: CapabilitySource, feature: Feature): void {
  if (!hasFeature(capabilities.get(), feature))
    throw new Problem('UNIMPLEMENTED', `the storage behind the gateway does not offer "${feature}"`);
}

/** INVALID_ARGUMENT for a field that must not be given. */
export function unoffered(field: string): Problem {
  return new Problem('INVALID_ARGUMENT', `${field} is given, but this driver does not offer it`);
}

import { accessModes, type Feature } from '../api/storage.ts';
import type { Offer } from '../sdk/server/vendor.ts';
import type { BridgeConfig } from './config.ts';
import { topologyCapability, type Driver } from './driver.ts';

/** The capabilities of CSI that a feature of the contract needs. */
const needs: Partial<Record<Feature, readonly string[]>> = {
  capacity: ['GET_CAPACITY'],
  expand: ['EXPAND_VOLUME'],
  modify: ['MODIFY_VOLUME'],
  snapshots: ['CREATE_DELETE_SNAPSHOT'],
  restore: ['CREATE_DELETE_SNAPSHOT'],
  clone: ['CLONE_VOLUME'],
  groups: ['CREATE_DELETE_SNAPSHOT', 'CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT'],
  health: ['GET_VOLUME_HEALTH'],
};

/** The access modes that only drivers with SINGLE_NODE_MULTI_WRITER tell apart. */
const fineModes = /^SINGLE_NODE_(SINGLE|MULTI)_WRITER$/;

type Plugin = Pick<Driver, 'name' | 'version' | 'can'>;

/** Makes the contract's capabilities of the driver. Each attachment needs the node's id at the driver. */
export function toOffer({ name, version, can }: Plugin, config: BridgeConfig): Offer {
  const { topologies, 'access-modes': modes, 'access-types': accessTypes, 'size-step': stepBytes } = config;
  if (topologies && !can(topologyCapability))
    throw new Error(`the driver "${name}" has no topology (${topologyCapability}): leave --topologies out`);
  const offered = Object.entries(needs).filter(([, capabilities]) => capabilities.every(can));
  const hasFine = can('SINGLE_NODE_MULTI_WRITER') && modes.includes('SINGLE_NODE_WRITER');
  return {
    version: version || 'unknown',
    features: [
      ...offered.map(([feature]) => feature as Feature),
      ...(['nodes', 'node-details', 'import'] as const),
      ...(topologies ? (['topology'] as const) : []),
    ],
    ...(topologies && { topologies }),
    accessModes: accessModes.filter(mode => modes.includes(mode) || (hasFine && fineModes.test(mode))),
    accessTypes: [...accessTypes],
    protocols: ['csi'],
    // The driver's node plugin makes filesystems, and does so only where it finds none.
    zeroed: true,
    limits: { stepBytes, minimumVolumeBytes: stepBytes },
    ...(!can('PUBLISH_UNPUBLISH_VOLUME') && { cannotCutOff: true }),
  };
}

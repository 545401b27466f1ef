import { fromPublishContext } from '../src/api/attachment.ts';
import { Problem } from '../src/api/problem.ts';
import type { NodeHandlers } from '../src/csi/generated/csi/v1/Node.ts';
import { readCapability, readCapacityRange, readId, readMap } from '../src/csi/read.ts';
import type { UnaryHandlers } from '../src/csi/unary.ts';
import type { Agent } from './agent.ts';
import { createExclusive } from './exclusive.ts';
import { expand } from './expand.ts';
import { examine, examineStorage } from './health.ts';
import { readPath, realOf } from './paths.ts';
import { publish, unpublish } from './publish.ts';
import { createReadings } from './readings.ts';
import { stage, unstage } from './stage.ts';
import { measure, type Amounts } from './stats.ts';

/** What the node says of itself. */
export type NodeIdentity = { readonly nodeId: string; readonly maxVolumes: number };

/**
 * VOLUME_MOUNT_GROUP is missing on purpose: kubelet would then leave the group of a pod's files to the agent, and no
 * filesystem here has a mount option for it, while kubelet changes the files and knows the pod's policy for that.
 */
const capabilities = [
  'STAGE_UNSTAGE_VOLUME',
  'GET_VOLUME_STATS',
  'EXPAND_VOLUME',
  'GET_VOLUME_HEALTH',
  'GET_STORAGE_HEALTH',
  'SINGLE_NODE_MULTI_WRITER',
] as const;

/** The Node service (CSI spec, "Node Service RPC"), in the order of the spec. */
export function createNode(agent: Agent, { nodeId, maxVolumes }: NodeIdentity): UnaryHandlers<NodeHandlers> {
  const alone = createExclusive(agent);
  const readings = createReadings(agent);
  const { base } = agent;
  return {
    async NodeStageVolume(request) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const stagingPath = readPath(request.staging_target_path, 'staging_target_path', base);
      const capability = readCapability(request.volume_capability);
      const attachment = fromPublishContext(readMap(request.publish_context, 'publish_context'));
      const work = (own: Agent) => stage(own, { volumeId, stagingPath, attachment, capability });
      await alone({ operation: 'NodeStageVolume', volumeId, path: stagingPath }, work);
      return {};
    },

    async NodeUnstageVolume(request) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const stagingPath = readPath(request.staging_target_path, 'staging_target_path', base);
      const work = (own: Agent) => unstage(own, { volumeId, stagingPath });
      await alone({ operation: 'NodeUnstageVolume', volumeId, path: stagingPath }, work);
      return {};
    },

    async NodePublishVolume(request) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const targetPath = readPath(request.target_path, 'target_path', base);
      const capability = readCapability(request.volume_capability);
      if (request.staging_target_path === '')
        throw new Problem('FAILED_PRECONDITION', 'staging_target_path is missing; the volume must be staged');
      const stagingPath = readPath(request.staging_target_path, 'staging_target_path', base);
      const { readonly } = request;
      const work = (own: Agent) => publish(own, { volumeId, stagingPath, targetPath, capability, readonly });
      await alone({ operation: 'NodePublishVolume', volumeId, path: targetPath }, work);
      return {};
    },

    async NodeUnpublishVolume(request) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const targetPath = readPath(request.target_path, 'target_path', base);
      const work = (own: Agent) => unpublish(own, { volumeId, targetPath });
      await alone({ operation: 'NodeUnpublishVolume', volumeId, path: targetPath }, work);
      return {};
    },

    async NodeGetVolumeStats(request) {
      const volumeId = readId(request.volume_id, 'volume_id');
      if (request.volume_path === '') throw new Problem('INVALID_ARGUMENT', 'volume_path is missing');
      const path = realOf(request.volume_path, base);
      const { bytes, inodes } = await measure(agent, readings, { volumeId, path });
      const usage = [toUsage('BYTES', bytes), ...(inodes ? [toUsage('INODES', inodes)] : [])];
      return { usage };
    },

    async NodeExpandVolume(request) {
      const volumeId = readId(request.volume_id, 'volume_id');
      if (request.volume_path === '') throw new Problem('INVALID_ARGUMENT', 'volume_path is missing');
      const path = realOf(request.volume_path, base);
      const size = readCapacityRange(request.capacity_range);
      const work = (own: Agent) => expand(own, { volumeId, path, ...size });
      const sizeBytes = await alone({ operation: 'NodeExpandVolume', volumeId, path }, work);
      return { capacity_bytes: sizeBytes };
    },

    async NodeGetVolumeHealth(request) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const publishPath = realOf(request.volume_publish_path, base);
      const stagingPath = realOf(request.staging_target_path, base);
      const entries = await examine(agent, readings, { volumeId, publishPath, stagingPath });
      return { volume_health: { volume_id: volumeId, health_statuses: [...entries] } };
    },

    NodeGetStorageHealth: async () => ({ backend_health: [...examineStorage(agent)] }),

    NodeGetCapabilities: async () => ({ capabilities: capabilities.map(type => ({ rpc: { type } })) }),

    NodeGetInfo: async () => ({ node_id: nodeId, max_volumes_per_node: maxVolumes }),
  };
}

function toUsage(unit: 'BYTES' | 'INODES', { total, used, available }: Amounts) {
  return {
    unit,
    total,
    ...(used !== undefined && { used }),
    ...(available !== undefined && { available }),
  };
}

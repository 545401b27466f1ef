import { fromPublishContext } from '../src/api/attachment.ts';
import { formatOptionsOf } from '../src/api/filesystems.ts';
import { Problem } from '../src/api/problem.ts';
import type { Segments } from '../src/api/topology.ts';
import type { NodeHandlers } from '../src/csi/generated/csi/v1/Node.ts';
import { readCapability, readCapacityRange, readId, readMap } from '../src/csi/request.ts';
import type { UnaryHandlers } from '../src/csi/unary.ts';
import type { Agent } from './volumes/agent.ts';
import { createExclusive } from './volumes/volume-lock.ts';
import { expand } from './volumes/expand.ts';
import { examine, examineStorage } from './volumes/health.ts';
import { readPath, realOf } from './volumes/target-path.ts';
import { publish, unpublish } from './volumes/publish.ts';
import { createReadings } from './host/readings.ts';
import { stage, unstage } from './volumes/stage.ts';
import { measure, type Amounts } from './volumes/stats.ts';

/** What the node says of itself: `maxVolumes` is all that it can hold, 0 where that is not known. */
export type NodeIdentity = {
  readonly nodeId: string;
  readonly maxVolumes: number;
  readonly topology: () => Promise<Segments>;
};

const capabilities = [
  'STAGE_UNSTAGE_VOLUME',
  'GET_VOLUME_STATS',
  'EXPAND_VOLUME',
  'GET_VOLUME_HEALTH',
  'GET_STORAGE_HEALTH',
  'SINGLE_NODE_MULTI_WRITER',
] as const;

/** The Node service (CSI spec, "Node Service RPC"), in the order of the spec. */
export function createNode(agent: Agent, identity: NodeIdentity): UnaryHandlers<NodeHandlers> {
  const alone = createExclusive(agent);
  const readings = createReadings(agent);
  const { base } = agent;
  return {
    async NodeStageVolume(request) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const stagingPath = readPath(request.staging_target_path, 'staging_target_path', base);
      const capability = readCapability(request.volume_capability);
      const attachment = fromPublishContext(readMap(request.publish_context, 'publish_context'));
      const options = formatOptionsOf(readMap(request.volume_context, 'volume_context'));
      const formatOptions = Object.keys(options).length > 0 ? options : undefined;
      const asked = {
        volumeId,
        stagingPath,
        attachment,
        capability,
        ...(formatOptions && { formatOptions }),
      };
      const secrets = readMap(request.secrets, 'secrets');
      const work = (own: Agent) => stage(own, asked, secrets);
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
      const asked = {
        volumeId,
        targetPath,
        capability,
        readonly: request.readonly,
      };
      const place = { operation: 'NodePublishVolume', volumeId, path: targetPath };
      if (request.staging_target_path === '')
        throw new Problem('FAILED_PRECONDITION', 'staging_target_path is missing; the volume must be staged');
      const stagingPath = readPath(request.staging_target_path, 'staging_target_path', base);
      await alone(place, own => publish(own, { ...asked, stagingPath }));
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

    NodeGetCapabilities: async () => ({
      capabilities: capabilities.map(type => ({ rpc: { type } })),
    }),

    NodeGetInfo: async () => describeNode(identity),
  };
}

async function describeNode({ nodeId, maxVolumes, topology }: NodeIdentity) {
  const segments = await topology();
  return {
    node_id: nodeId,
    max_volumes_per_node: maxVolumes,
    ...(Object.keys(segments).length > 0 && { accessible_topology: { segments } }),
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

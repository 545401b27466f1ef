import { fromPublishContext } from '../src/api/attachment.ts';
import { Problem } from '../src/api/problem.ts';
import type { NodeHandlers } from '../src/csi/generated/csi/v1/Node.ts';
import { readCapability, readId, readMap } from '../src/csi/read.ts';
import type { UnaryHandlers } from '../src/csi/unary.ts';
import { createKeyedLock, type KeyedLock } from '../src/lib/keyed-lock.ts';
import type { Agent } from './agent.ts';
import { readPath, realOf } from './paths.ts';
import { publish, unpublish } from './publish.ts';
import { stage, unstage } from './stage.ts';
import { measure, type Amounts } from './stats.ts';

/** What the node says of itself. */
export type NodeIdentity = { readonly nodeId: string; readonly maxVolumes: number };

const capabilities = ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS', 'SINGLE_NODE_MULTI_WRITER'] as const;

/** The Node service (CSI spec, "Node Service RPC"), in the order of the spec. */
export function createNode(agent: Agent, { nodeId, maxVolumes }: NodeIdentity): UnaryHandlers<NodeHandlers> {
  const lock = createKeyedLock();
  const { base } = agent;
  return {
    async NodeStageVolume(request) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const stagingPath = readPath(request.staging_target_path, 'staging_target_path', base);
      const capability = readCapability(request.volume_capability);
      const attachment = fromPublishContext(readMap(request.publish_context, 'publish_context'));
      const work = () => stage(agent, { volumeId, stagingPath, attachment, capability });
      await alone(lock, { operation: 'NodeStageVolume', volumeId, path: stagingPath }, work);
      return {};
    },

    async NodeUnstageVolume(request) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const stagingPath = readPath(request.staging_target_path, 'staging_target_path', base);
      const work = () => unstage(agent, { volumeId, stagingPath });
      await alone(lock, { operation: 'NodeUnstageVolume', volumeId, path: stagingPath }, work);
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
      const work = () => publish(agent, { volumeId, stagingPath, targetPath, capability, readonly });
      await alone(lock, { operation: 'NodePublishVolume', volumeId, path: targetPath }, work);
      return {};
    },

    async NodeUnpublishVolume(request) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const targetPath = readPath(request.target_path, 'target_path', base);
      const work = () => unpublish(agent, { volumeId, targetPath });
      await alone(lock, { operation: 'NodeUnpublishVolume', volumeId, path: targetPath }, work);
      return {};
    },

    async NodeGetVolumeStats(request) {
      const volumeId = readId(request.volume_id, 'volume_id');
      if (request.volume_path === '') throw new Problem('INVALID_ARGUMENT', 'volume_path is missing');
      const path = realOf(request.volume_path, base);
      const { bytes, inodes } = await measure(agent, { volumeId, path });
      const usage = [toUsage('BYTES', bytes), ...(inodes ? [toUsage('INODES', inodes)] : [])];
      return { usage };
    },

    NodeGetCapabilities: async () => ({ capabilities: capabilities.map(type => ({ rpc: { type } })) }),

    NodeGetInfo: async () => ({ node_id: nodeId, max_volumes_per_node: maxVolumes }),
  };
}

type Exclusive = { readonly operation: string; readonly volumeId: string; readonly path: string };

/** Runs alone for the volume and for the path; whoever finds either busy is told so at once. */
function alone(
  lock: KeyedLock,
  { operation, volumeId, path }: Exclusive,
  work: () => Promise<void>,
): Promise<void> {
  const lockFor = (what: string) => ({
    operation,
    busy: ({ operation: other, sinceMs }: { readonly operation: string; readonly sinceMs: number }) =>
      new Problem('ABORTED', `${other} on ${what} runs since ${new Date(sinceMs).toISOString()}`),
  });
  return lock.run(`volume ${volumeId}`, lockFor(`volume "${volumeId}"`), () =>
    lock.run(`path ${path}`, lockFor(`path "${path}"`), work),
  );
}

function toUsage(unit: 'BYTES' | 'INODES', { total, used, available }: Amounts) {
  return {
    unit,
    total,
    ...(used !== undefined && { used }),
    ...(available !== undefined && { available }),
  };
}

import {
  fromPublishContext,
  sealHeaderOf,
  type Attachment,
  type AttachmentOf,
} from '../src/api/attachment.ts';
import { formatOptionsOf } from '../src/api/filesystems.ts';
import { invalidProblem, preconditionProblem } from '../src/api/problem.ts';
import type { Segments } from '../src/api/topology.ts';
import type { NodeHandlers } from '../src/csi/generated/csi/v1/Node.ts';
import { readCapability, readCapacityRange, readId, readKnownId, readMap } from '../src/csi/request.ts';
import type { Handlers } from '../src/csi/call.ts';
import type { Secrets } from './connector.ts';
import type { DriverVolumes } from './drivers/volumes.ts';
import { createReadings } from './host/readings.ts';
import type { NodeKey } from './state/node-key.ts';
import type { Agent } from './volumes/agent.ts';
import { examine, examineStorage } from './volumes/health.ts';
import { publish, unpublish } from './volumes/publish.ts';
import { expand, measure } from './volumes/size.ts';
import { allowsManyTargets, requireEncryptedAs } from './volumes/request-checks.ts';
import { stage, unstage } from './volumes/stage.ts';
import { readPath, realOf } from './volumes/target-path.ts';
import { createVolumeLock } from './volumes/volume-lock.ts';

/** The node's identity and limits; `maxVolumes` is 0 if no limit is known. */
type NodeIdentity = {
  /** The volumes of other drivers; absent if the node accepts none. */
  readonly others?: DriverVolumes | undefined;
  readonly nodeId: string;
  /** Opens attachments that are sealed for this node. */
  readonly key?: NodeKey | undefined;
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
export function createNode(
  agent: Agent,
  identity: NodeIdentity,
  lock = createVolumeLock(agent),
): Handlers<NodeHandlers> {
  const readings = createReadings(agent);
  const { recent, forgetMounts } = withRecentMounts(agent);
  const withVolumeLock: typeof lock = (...work) => lock(...work).finally(forgetMounts);
  const { base } = agent;
  const { others } = identity;
  const requireOthers = (): DriverVolumes => {
    if (others) return others;
    throw preconditionProblem('protocol "csi" is refused: this node has no --csi-drivers');
  };
  const readStaging = (path: string) => readPath(path, 'staging_target_path', base);
  const readTarget = (path: string) => readPath(path, 'target_path', base);
  const readVolumePath = (path: string) => {
    if (path === '') throw invalidProblem('volume_path is missing');
    return realOf(path, base);
  };
  /** Checks an attachment and returns its recordable part and its opened secrets, which are for this call only. */
  async function readAttachment(volumeId: string, context: Readonly<Record<string, string>>) {
    const { gatewayKeys } = agent.trust;
    await gatewayKeys?.requireSigned(context, { volumeId, nodeId: identity.nodeId });
    const { signature: _, ...signed } = fromPublishContext(context);
    const opened = await open(volumeId, signed);
    const known = agent.records.get(volumeId)?.attachment.attachmentId;
    await gatewayKeys?.requireNewest(volumeId, signed.attachmentId, known);
    // Other drivers need secrets again to grow a volume, so the record keeps them sealed.
    if (signed.protocol === 'csi') return { attachment: signed, opened };
    const { sealed: __, ...attachment } = signed;
    return { attachment, opened };
  }
  async function open(volumeId: string, attachment: Attachment): Promise<Secrets> {
    const { sealed } = attachment;
    if (sealed === undefined) return {};
    const { key, nodeId } = identity;
    if (!key)
      throw preconditionProblem(
        'the attachment is sealed, and this node has no key; drain the node and restart its agent, which then makes one',
      );
    const bound = await sealHeaderOf({ volume: volumeId, node: nodeId }, attachment);
    return key.open(sealed, bound, agent.trust.gatewayKeys !== undefined);
  }

  return {
    async NodeStageVolume(request, call) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const stagingPath = readStaging(request.staging_target_path);
      const capability = readCapability(request.volume_capability);
      const context = readMap(request.publish_context, 'publish_context');
      const described = readMap(request.volume_context, 'volume_context');
      const given = readMap(request.secrets, 'secrets');
      const { attachment, opened } = await readAttachment(volumeId, context);
      if (attachment.protocol === 'csi') {
        const theirs = { volumeId, stagingPath, attachment, capability };
        await withVolumeLock('NodeStageVolume', { volumeId, path: stagingPath, call }, () =>
          requireOthers().stage(theirs, opened, call),
        );
        return {};
      }
      requireEncryptedAs(described, attachment);
      const formatOptions = formatOptionsOf(described);
      const stageRequest = { volumeId, stagingPath, attachment, capability, formatOptions };
      const secrets = { ...given, ...opened };
      await withVolumeLock('NodeStageVolume', { volumeId, path: stagingPath, call }, own =>
        stage(own, stageRequest, secrets),
      );
      return {};
    },

    async NodeUnstageVolume(request, call) {
      const volumeId = readKnownId(request.volume_id, 'volume_id');
      const stagingPath = readStaging(request.staging_target_path);
      await withVolumeLock('NodeUnstageVolume', { volumeId, path: stagingPath, call }, own =>
        others?.has(volumeId)
          ? others.unstage({ volumeId, stagingPath }, call)
          : unstage(own, { volumeId, stagingPath }),
      );
      return {};
    },

    async NodePublishVolume(request, call) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const targetPath = readTarget(request.target_path);
      const capability = readCapability(request.volume_capability);
      if (request.staging_target_path === '')
        throw preconditionProblem('staging_target_path is missing; the volume must be staged');
      const stagingPath = readStaging(request.staging_target_path);
      const context = readMap(request.publish_context, 'publish_context');
      const { readonly } = request;
      if (context['protocol'] === 'csi') {
        const { attachment, opened } = await readAttachment(volumeId, context);
        const published = { volumeId, stagingPath, targetPath, capability, readonly };
        await withVolumeLock('NodePublishVolume', { volumeId, path: targetPath, call }, () =>
          requireOthers().publish(
            { ...published, attachment: attachment as AttachmentOf<'csi'> },
            opened,
            call,
          ),
        );
        return {};
      }
      const attachment = fromPublishContext(context);
      const publishRequest = { volumeId, stagingPath, targetPath, capability, readonly, attachment };
      const isShared = allowsManyTargets(capability);
      await withVolumeLock('NodePublishVolume', { volumeId, path: targetPath, isShared, call }, own =>
        publish(own, publishRequest),
      );
      return {};
    },

    async NodeUnpublishVolume(request, call) {
      const volumeId = readKnownId(request.volume_id, 'volume_id');
      const targetPath = readTarget(request.target_path);
      const locked = { volumeId, path: targetPath, isShared: true, call };
      await withVolumeLock('NodeUnpublishVolume', locked, own =>
        others?.has(volumeId)
          ? others.unpublish(volumeId, targetPath, call)
          : unpublish(own, { volumeId, targetPath }),
      );
      return {};
    },

    async NodeGetVolumeStats(request) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const path = readVolumePath(request.volume_path);
      const at = { volumeId, path };
      if (others?.has(volumeId)) return others.stats(at);
      const { bytes, inodes } = await measure(recent, readings, at);
      return {
        usage: [{ unit: 'BYTES', ...bytes }, ...(inodes ? [{ unit: 'INODES' as const, ...inodes }] : [])],
      };
    },

    async NodeExpandVolume(request, call) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const at = { volumeId, path: readVolumePath(request.volume_path) };
      const size = readCapacityRange(request.capacity_range);
      const work = (own: Agent) =>
        others?.has(volumeId)
          ? others.expand({ ...at, ...size }, kept => open(volumeId, kept), call)
          : expand(own, { ...at, ...size });
      return { capacity_bytes: await withVolumeLock('NodeExpandVolume', { ...at, call }, work) };
    },

    async NodeGetVolumeHealth(request) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const publishPath = realOf(request.volume_publish_path, base);
      const stagingPath = realOf(request.staging_target_path, base);
      if (others?.has(volumeId)) return others.health(volumeId, { publishPath });
      const faults = await examine(agent, readings, { volumeId, publishPath, stagingPath });
      return { volume_health: { volume_id: volumeId, health_statuses: [...faults] } };
    },

    NodeGetStorageHealth: async () => ({ backend_health: [...examineStorage(agent)] }),

    NodeGetCapabilities: async () => ({ capabilities: capabilities.map(type => ({ rpc: { type } })) }),

    async NodeGetInfo() {
      const segments = await identity.topology();
      return {
        node_id: identity.nodeId,
        max_volumes_per_node: identity.maxVolumes,
        ...(Object.keys(segments).length > 0 && { accessible_topology: { segments } }),
      };
    },
  };
}

/** Maximum age of the mounts that statistics use, in milliseconds. */
const recentMs = 1_000;

/**
 * Returns the agent with a machine whose mounts are read at most once a second, and again after a change of the agent's own.
 * Kubelet asks for the statistics of all volumes each minute, and the kernel needs a millisecond to list the mounts of five
 * hundred.
 */
function withRecentMounts(agent: Agent) {
  let mounts: ReturnType<Agent['host']['mounts']> | undefined;
  let readAtMs = 0;
  const readRecent = () => {
    const nowMs = performance.now();
    if (!mounts || nowMs - readAtMs > recentMs) [mounts, readAtMs] = [agent.host.mounts(), nowMs];
    return mounts;
  };
  const recent: Agent = { ...agent, host: { ...agent.host, mounts: readRecent } };
  return { recent, forgetMounts: () => void (mounts = undefined) };
}

import type { AttachmentOf } from '../../src/api/attachment.ts';
import { driverTextsOf } from '../../src/api/attachments/driver-secrets.ts';
import { asProblem, preconditionProblem, problemTable, unavailableProblem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { UnaryCall } from '../../src/csi/call.ts';
import { toCsiCapability, type SizeBounds } from '../../src/csi/request.ts';
import { mountsAt, topMount } from '../../src/lib/linux/mountinfo.ts';
import type { Secrets } from '../connector.ts';
import { unmountAll } from '../host/mount.ts';
import { isStaged, openRecords, type VolumeRecord } from '../state/records.ts';
import type { Agent } from '../volumes/agent.ts';
import { differencesOf, factsOf } from '../volumes/request-checks.ts';
import { inspectPath, removeLeftover } from '../volumes/target-path.ts';
import { requireTrusted } from '../volumes/trust.ts';
import { createPlugin, type Plugin } from './plugin.ts';
import { openDriverTopology } from './topology.ts';

type Call = Pick<UnaryCall, 'deadlineMs'>;
type DriverAttachment = AttachmentOf<'csi'>;

export type StageRequest = {
  readonly volumeId: string;
  readonly stagingPath: string;
  readonly attachment: DriverAttachment;
  readonly capability: Capability;
};

export type PublishRequest = StageRequest & { readonly targetPath: string; readonly readonly: boolean };
type OpenSecrets = (attachment: DriverAttachment) => Promise<Secrets>;
type VolumePath = { readonly volumeId: string; readonly path: string };

/** The volumes of other drivers on this node. */
export type DriverVolumes = Awaited<ReturnType<typeof openDriverVolumes>>;

/**
 * Opens the volumes of other CSI drivers: their node plugins stage and publish them, and the agent keeps a record before
 * each call, and looks afterwards whether the mounts are there or gone.
 */
export async function openDriverVolumes(agent: Agent, stateDirectory: string) {
  const { host, trust, log } = agent;
  const records = await openRecords(`${stateDirectory}/driver-volumes`, host, { log });
  const plugins = new Map([...trust.drivers].map(([name, path]) => [name, createPlugin(name, path)]));

  function pluginOf({ driver }: DriverAttachment): Plugin {
    const found = plugins.get(driver);
    if (found) return found;
    throw preconditionProblem(`driver "${driver}" is not among the --csi-drivers of this node`);
  }

  function find(volumeId: string): (VolumeRecord & { readonly attachment: DriverAttachment }) | undefined {
    return records.get(volumeId) as ReturnType<typeof find>;
  }

  function require(volumeId: string) {
    const found = find(volumeId);
    if (found) return found;
    throw preconditionProblem(`volume "${volumeId}" is not staged`);
  }

  return {
    has: (volumeId: string): boolean => find(volumeId) !== undefined,

    topology: await openDriverTopology(
      [...plugins.values()],
      `${stateDirectory}/driver-topology.json`,
      agent,
    ),

    async stage(request: StageRequest, secrets: Secrets, call: Call): Promise<void> {
      const { volumeId, stagingPath, attachment, capability } = request;
      requireTrusted(trust, attachment);
      const known = find(volumeId);
      requireSame(known, request);
      const plugin = pluginOf(attachment);
      await requireNode(plugin, attachment, call);
      const isSame = known?.attachment.attachmentId === attachment.attachmentId;
      const record = { volumeId, stagingPath, attachment, capability, targets: isSame ? known.targets : [] };
      const isNew = !known || !isStaged(known);
      await records.put({ ...record, ...(isNew && { isUnfinished: true }) });
      if (await plugin.can('STAGE_UNSTAGE_VOLUME')) {
        const message = { ...toUse(record, secrets), secrets: driverTextsOf('stage-secret', secrets) };
        await plugin.ask('NodeStageVolume', message, call).catch(async (error: unknown) => {
          // After a final error no unstage follows.
          if (isNew && problemTable[asProblem(error).code].final) await records.remove(volumeId);
          throw error;
        });
      }
      if (isNew) await records.put(record);
    },

    async unstage({ volumeId, stagingPath }: Pick<StageRequest, 'volumeId' | 'stagingPath'>, call: Call) {
      const { attachment, targets, stagingPath: staged } = require(volumeId);
      requireSamePath(volumeId, staged, stagingPath);
      const mounts = await host.mounts();
      const used = targets.find(({ path }) => topMount(mounts, path));
      if (used) throw preconditionProblem(`volume "${volumeId}" is still published at "${used.path}"`);
      const plugin = pluginOf(attachment);
      const message = { volume_id: attachment.handle, staging_target_path: stagingPath };
      if (await plugin.can('STAGE_UNSTAGE_VOLUME')) await plugin.ask('NodeUnstageVolume', message, call);
      if (topMount(await host.mounts(), stagingPath))
        throw unavailableProblem(
          `driver "${plugin.name}" answered, but "${stagingPath}" is still mounted; it is asked again`,
        );
      await records.remove(volumeId);
    },

    async publish(request: PublishRequest, secrets: Secrets, call: Call): Promise<void> {
      const { volumeId, stagingPath, targetPath, attachment, readonly } = request;
      requireTrusted(trust, attachment);
      const known = find(volumeId);
      if (!known || !isStaged(known))
        throw preconditionProblem(`volume "${volumeId}" is not staged at "${stagingPath}"`);
      requireSame(known, request);
      const plugin = pluginOf(attachment);
      await records.noteTarget(volumeId, { path: targetPath, readonly });
      const stages = await plugin.can('STAGE_UNSTAGE_VOLUME');
      const message = {
        ...toUse(request, secrets),
        ...(!stages && { staging_target_path: '' }),
        target_path: targetPath,
        readonly,
        secrets: driverTextsOf('publish-secret', secrets),
      };
      await plugin.ask('NodePublishVolume', message, call);
      // A pod would write to the disk of the node.
      if (!topMount(await host.mounts(), targetPath))
        throw unavailableProblem(
          `driver "${plugin.name}" answered, but nothing is mounted at "${targetPath}"`,
        );
    },

    async unpublish(volumeId: string, targetPath: string, call: Call): Promise<void> {
      const { attachment } = require(volumeId);
      const plugin = pluginOf(attachment);
      const message = { volume_id: attachment.handle, target_path: targetPath };
      await plugin.ask('NodeUnpublishVolume', message, call);
      // Some drivers leave the mount or the path behind.
      let mounts = await host.mounts();
      if (mountsAt(mounts, targetPath).length > 0) mounts = await unmountAll(agent, targetPath, mounts);
      await removeLeftover(
        host,
        await inspectPath(agent, { field: 'target_path', path: targetPath }, mounts),
      );
      records.dropTarget(volumeId, targetPath);
    },

    async stats({ volumeId, path }: VolumePath) {
      const { attachment, stagingPath } = require(volumeId);
      const message = { volume_id: attachment.handle, volume_path: path, staging_target_path: stagingPath };
      const { usage } = await pluginOf(attachment).ask('NodeGetVolumeStats', message);
      return { usage };
    },

    /** Grows a volume; `open` opens the secrets of its recorded attachment. */
    async expand(request: VolumePath & SizeBounds, open: OpenSecrets, call: Call): Promise<number> {
      const { volumeId, path, ...size } = request;
      const { attachment, stagingPath, capability } = require(volumeId);
      const plugin = pluginOf(attachment);
      if (!(await plugin.can('EXPAND_VOLUME'))) return size.requiredBytes;
      const message = {
        volume_id: attachment.handle,
        volume_path: path,
        capacity_range: { required_bytes: size.requiredBytes, limit_bytes: size.limitBytes },
        staging_target_path: stagingPath,
        volume_capability: toCsiCapability(capability),
        secrets: driverTextsOf('expand-secret', await open(attachment)),
      };
      const answer = await plugin.ask('NodeExpandVolume', message, call);
      return Number(answer.capacity_bytes) || size.requiredBytes;
    },

    async health(volumeId: string, paths: { readonly publishPath: string }) {
      const { attachment, stagingPath } = require(volumeId);
      const plugin = pluginOf(attachment);
      if (!(await plugin.can('GET_VOLUME_HEALTH'))) return { volume_health: { volume_id: volumeId } };
      const message = {
        volume_id: attachment.handle,
        volume_publish_path: paths.publishPath,
        staging_target_path: stagingPath,
      };
      const { volume_health: found } = await plugin.ask('NodeGetVolumeHealth', message);
      return { volume_health: { ...found, volume_id: volumeId } };
    },
  };
}

/** The members that the requests to stage and to publish a volume share. */
function toUse({ attachment, stagingPath, capability }: StageRequest, secrets: Secrets) {
  return {
    volume_id: attachment.handle,
    publish_context: driverTextsOf('publish-context', secrets),
    staging_target_path: stagingPath,
    volume_capability: toCsiCapability(capability),
    volume_context: driverTextsOf('volume-context', secrets),
  };
}

/** FAILED_PRECONDITION if the attachment was made for another id than the one that the plugin has on this node. */
async function requireNode(plugin: Plugin, { driverNodeId }: DriverAttachment, call: Call): Promise<void> {
  const { node_id: nodeId } = await plugin.ask('NodeGetInfo', {}, call);
  if (nodeId === driverNodeId) return;
  throw preconditionProblem(
    `driver "${plugin.name}" calls this node "${nodeId}", and the volume was published for "${driverNodeId}": set the bridge's --node-id to a rule that gives the former`,
  );
}

/** FAILED_PRECONDITION if the volume is staged elsewhere or for another use. */
function requireSame(known: VolumeRecord | undefined, request: StageRequest): void {
  if (!known) return;
  const { volumeId, stagingPath, capability } = request;
  requireSamePath(volumeId, known.stagingPath, stagingPath);
  const differences = differencesOf(factsOf(known.capability), factsOf(capability));
  if (differences.length > 0)
    throw preconditionProblem(`volume "${volumeId}" is staged differently: ${differences.join('; ')}`);
}

function requireSamePath(volumeId: string, staged: string, given: string): void {
  if (staged !== given)
    throw preconditionProblem(`volume "${volumeId}" is staged at "${staged}" and not at "${given}"`);
}

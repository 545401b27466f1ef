import { toPublishContext } from '../api/attachment.ts';
import { byteLength, maxIdBytes } from '../api/ids.ts';
import { invalidProblem, unavailableProblem } from '../api/problem.ts';
import type { Snapshot } from '../api/snapshot.ts';
import type { Health, Volume } from '../api/volume.ts';
import type { ControllerHandlers } from '../csi/generated/csi/v1/Controller.ts';
import type { VolumeHealth } from '../csi/generated/csi/v1/VolumeHealth.ts';
import {
  readCapabilities,
  readCapability,
  readCapacityRange,
  readKnownId,
  readName,
  readNodeId,
} from '../csi/request.ts';
import type { Handlers } from '../csi/call.ts';
import { offeredRpcs, type ControllerOptions } from './capabilities.ts';
import {
  ignoreMissing,
  isCreated,
  minimumOfClass,
  readOptionalParameters,
  readPage,
  readParameters,
  readRequirement,
  readSegments,
  readSnapshotParameters,
  readSource,
  resourceId,
  toCsiSnapshot,
  toCsiVolume,
} from './messages.ts';
import { requireTrueContext } from './volume-context.ts';

/** The Controller service (CSI spec, "Controller Service RPC"): each RPC is one call of the Storage API. */
export function createController(options: ControllerOptions): Handlers<ControllerHandlers> {
  const { client, capabilities, cluster, advertised } = options;
  const toVolume = (volume: Volume) => toCsiVolume(volume, advertised);
  const toSnapshot = (snapshot: Snapshot) => toCsiSnapshot(snapshot, advertised);
  return {
    async CreateVolume(request, call) {
      const name = readName(request.name);
      const body = {
        name,
        ...readCapacityRange(request.capacity_range),
        capabilities: readCapabilities(request.volume_capabilities),
        parameters: readParameters(request.parameters),
        source: readSource(request.volume_content_source),
        mutableParameters: readOptionalParameters(request.mutable_parameters, 'mutable_parameters'),
        topology: readRequirement(request.accessibility_requirements, 'topology', options),
      };
      const volume = await client.createVolume({ volumeId: resourceId(cluster, name), body }, call);
      return { volume: toVolume(volume) };
    },

    async DeleteVolume(request, call) {
      await client.deleteVolume({ volumeId: readKnownId(request.volume_id, 'volume_id') }, call);
      return {};
    },

    async ControllerPublishVolume(request, call) {
      const volumeId = readKnownId(request.volume_id, 'volume_id');
      const nodeId = readNodeId(request.node_id);
      if (nodeId === '') throw invalidProblem('node_id is missing');
      const capability = readCapability(request.volume_capability);
      const context = readParameters(request.volume_context, 'volume_context');
      await requireTrueContext(client, { volumeId, context, capability }, call);
      const body = { capability, readonly: request.readonly };
      const { state, attachment } = await client.attachVolume({ volumeId, nodeId, body }, call);
      if (state !== 'attached' || !attachment)
        throw unavailableProblem(`volume "${volumeId}" is not attached to node "${nodeId}" yet`);
      return { publish_context: toPublishContext(attachment) };
    },

    async ControllerUnpublishVolume(request, call) {
      const volumeId = readKnownId(request.volume_id, 'volume_id');
      const nodeId = readNodeId(request.node_id);
      if (nodeId === '') await client.detachVolumeFromAllNodes({ volumeId }, call);
      else await client.detachVolume({ volumeId, nodeId }, call);
      return {};
    },

    async ValidateVolumeCapabilities(request, call) {
      const { volume_capabilities, volume_context, parameters, mutable_parameters } = request;
      const volumeId = readKnownId(request.volume_id, 'volume_id');
      const body = {
        capabilities: readCapabilities(volume_capabilities),
        parameters: readOptionalParameters(parameters, 'parameters'),
        context: readOptionalParameters(volume_context, 'volume_context'),
        mutableParameters: readOptionalParameters(mutable_parameters, 'mutable_parameters'),
      };
      const { confirmed, message } = await client.validateVolume({ volumeId, body }, call);
      return confirmed
        ? { confirmed: { volume_capabilities, volume_context, parameters, mutable_parameters } }
        : { message: message ?? 'not supported' };
    },

    async ListVolumes(request, call) {
      const page = await client.listVolumes(readPage(request), call);
      const ready = page.volumes.filter(volume => volume.state === 'ready');
      return {
        entries: ready.map(volume => ({ volume: toVolume(volume), status: toStatus(volume) })),
        next_token: page.nextPageToken ?? '',
      };
    },

    async GetCapacity(request, call) {
      const { volume_capabilities: wanted } = request;
      const body = {
        parameters: readParameters(request.parameters),
        topology: readSegments(request.accessible_topology, options),
        capabilities: wanted.length > 0 ? readCapabilities(wanted) : undefined,
      };
      const { availableBytes, ...bounds } = await client.getCapacity({ body }, call);
      const minBytes = Math.max(bounds.minimumVolumeBytes ?? 0, minimumOfClass(request.parameters));
      return {
        available_capacity: availableBytes,
        maximum_volume_size: toSize(bounds.maximumVolumeBytes),
        minimum_volume_size: toSize(minBytes || bounds.minimumVolumeBytes),
      };
    },

    async ControllerGetCapabilities() {
      return { capabilities: offeredRpcs(capabilities.get()).map(type => ({ rpc: { type } })) };
    },

    async CreateSnapshot(request, call) {
      const name = readName(request.name);
      const body = {
        name,
        volumeId: readKnownId(request.source_volume_id, 'source_volume_id'),
        parameters: readSnapshotParameters(request.parameters),
        topology: readRequirement(request.accessibility_requirements, 'snapshot-topology', options),
      };
      const snapshotId = resourceId(cluster, name);
      return { snapshot: toSnapshot(await client.createSnapshot({ snapshotId, body }, call)) };
    },

    async DeleteSnapshot(request, call) {
      await client.deleteSnapshot({ snapshotId: readKnownId(request.snapshot_id, 'snapshot_id') }, call);
      return {};
    },

    async ListSnapshots(request, call) {
      const { snapshot_id: snapshotId, source_volume_id: volumeId } = request;
      const page = readPage(request);
      if (snapshotId) {
        const one = await client.getSnapshot({ snapshotId }, call).catch(ignoreMissing);
        const isFound = one && isCreated(one) && (!volumeId || volumeId === one.volumeId);
        return { entries: isFound ? [{ snapshot: toSnapshot(one) }] : [] };
      }
      if (byteLength(volumeId) > maxIdBytes) return { entries: [] };
      const { snapshots, nextPageToken = '' } = await client.listSnapshots({ ...page, volumeId }, call);
      const entries = snapshots.map(snapshot => ({ snapshot: toSnapshot(snapshot) }));
      return { entries, next_token: nextPageToken };
    },

    async GetSnapshot(request, call) {
      const snapshotId = readKnownId(request.snapshot_id, 'snapshot_id');
      return { snapshot: toSnapshot(await client.getSnapshot({ snapshotId }, call)) };
    },

    async ControllerExpandVolume(request, call) {
      const volumeId = readKnownId(request.volume_id, 'volume_id');
      if (!request.capacity_range) throw invalidProblem('capacity_range is missing');
      const body = readCapacityRange(request.capacity_range);
      // The capability does not matter: the node has to rescan raw block devices as well.
      if (request.volume_capability) readCapability(request.volume_capability);
      const volume = await client.expandVolume({ volumeId, body }, call);
      return {
        capacity_bytes: volume.sizeBytes,
        node_expansion_required: volume.nodeExpansionRequired ?? false,
      };
    },

    async ControllerGetVolume(request, call) {
      const volume = await client.getVolume({ volumeId: readKnownId(request.volume_id, 'volume_id') }, call);
      return { volume: toVolume(volume), status: toStatus(volume) };
    },

    async ControllerModifyVolume(request, call) {
      const mutableParameters =
        readOptionalParameters(request.mutable_parameters, 'mutable_parameters') ?? {};
      const volumeId = readKnownId(request.volume_id, 'volume_id');
      await client.modifyVolume({ volumeId, body: { mutableParameters } }, call);
      return {};
    },

    async ControllerGetVolumeHealth(request, call) {
      const volumeId = readKnownId(request.volume_id, 'volume_id');
      return { volume_health: toCsiHealth(await client.getVolumeHealth({ volumeId }, call)) };
    },

    async ControllerListVolumeHealth(request, call) {
      const { volumes, nextPageToken = '' } = await client.listVolumeHealth(readPage(request), call);
      return { entries: volumes.map(toCsiHealth), next_token: nextPageToken };
    },
  };
}

function toCsiHealth({ volumeId, entries }: Health): VolumeHealth {
  return { volume_id: volumeId, health_statuses: entries };
}

function toSize(bytes: number | undefined): { value: number } | null {
  return bytes === undefined ? null : { value: bytes };
}

/**
 * Lists the nodes that a volume is attached to. A node appears once attaching is done, and stays until detaching is
 * done.
 */
function toStatus(volume: Volume): { published_node_ids: string[] } {
  const published = volume.attachments.filter(attachment => attachment.state !== 'attaching');
  return { published_node_ids: published.map(attachment => attachment.nodeId) };
}

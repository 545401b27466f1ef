import { toPublishContext } from '../api/attachment.ts';
import type { StorageClient } from '../api/client.ts';
import { hasFeature } from '../api/storage.ts';
import { resourceId } from '../api/names.ts';
import { Problem } from '../api/problem.ts';
import type { Volume, VolumeSpec } from '../api/volume.ts';
import type { ControllerHandlers } from '../csi/generated/csi/v1/Controller.ts';
import type { Volume as CsiVolume } from '../csi/generated/csi/v1/Volume.ts';
import {
  readCapabilities,
  readCapability,
  readCapacityRange,
  readId,
  readMap,
  readName,
  readNodeId,
} from '../csi/request.ts';
import type { Advertised } from '../csi/plugin-capabilities.ts';
import type { UnaryHandlers } from '../csi/unary.ts';
import type { CapabilitySource } from './capabilities.ts';
import { readPage, readParameters, readSource, toCsiVolume } from './messages.ts';
import { offeredRpcs, requireFeature, unoffered } from './offered.ts';
import { createSnapshots } from './snapshots.ts';
import { readPlace, readRequirement } from './topology.ts';
import { createVolumeChanges } from './volume-changes.ts';

/** What the service works with. */
export type ControllerOptions = {
  readonly client: StorageClient;
  readonly capabilities: CapabilitySource;
  readonly cluster: string;
  /** What the plugin advertises as a whole: what is not advertised is neither told nor taken. */
  readonly advertised: Advertised;
};

/** The Controller service (CSI spec, "Controller Service RPC"): each RPC is one call of the Storage API. */
export function createController(options: ControllerOptions): UnaryHandlers<ControllerHandlers> {
  const { client, capabilities, cluster, advertised } = options;
  const toVolume = (volume: Volume): CsiVolume => toCsiVolume(volume, advertised);
  return {
    async CreateVolume(request, call) {
      const name = readName(request.name);
      const source = readSource(request.volume_content_source);
      const mutable = readParameters(request.mutable_parameters, 'mutable_parameters');
      const topology = readRequirement(request.accessibility_requirements, 'topology', options);
      const spec = {
        name,
        ...readCapacityRange(request.capacity_range),
        capabilities: readCapabilities(request.volume_capabilities),
        parameters: readParameters(request.parameters),
        ...(source && { source }),
        ...(Object.keys(mutable).length > 0 && { mutableParameters: mutable }),
        ...(topology && { topology }),
      };
      refuseUnoffered(capabilities, spec);
      const volume = await client.createVolume({ volumeId: resourceId(cluster, name), body: spec }, call);
      if (volume.state !== 'ready')
        throw new Problem('ABORTED', `volume "${volume.id}" is ${volume.state} still`);
      return { volume: toVolume(volume) };
    },

    async DeleteVolume(request, call) {
      await client.deleteVolume({ volumeId: readId(request.volume_id, 'volume_id') }, call);
      return {};
    },

    async ControllerPublishVolume(request, call) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const nodeId = readNodeId(request.node_id);
      if (nodeId === '') throw new Problem('INVALID_ARGUMENT', 'node_id is missing');
      const capability = readCapability(request.volume_capability);
      const body = { capability, readonly: request.readonly };
      const resource = await client.attachVolume({ volumeId, nodeId, body }, call);
      if (resource.state !== 'attached' || !resource.attachment)
        throw new Problem('UNAVAILABLE', `volume "${volumeId}" is not attached to node "${nodeId}" yet`);
      return { publish_context: toPublishContext(resource.attachment) };
    },

    async ControllerUnpublishVolume(request, call) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const nodeId = readNodeId(request.node_id);
      if (nodeId === '') await client.detachVolumeFromAllNodes({ volumeId }, call);
      else await client.detachVolume({ volumeId, nodeId }, call);
      return {};
    },

    async ValidateVolumeCapabilities(request, call) {
      const { volume_capabilities, volume_context, parameters, mutable_parameters } = request;
      const volumeId = readId(request.volume_id, 'volume_id');
      const mutable = readParameters(mutable_parameters, 'mutable_parameters');
      const spec = {
        capabilities: readCapabilities(volume_capabilities),
        parameters: readParameters(parameters),
        context: readMap(volume_context, 'volume_context'),
        ...(Object.keys(mutable).length > 0 && { mutableParameters: mutable }),
      };
      const { confirmed, message } = await client.validateVolume({ volumeId, body: spec }, call);
      if (spec.mutableParameters && !hasFeature(capabilities.get(), 'modify'))
        return { message: 'mutable parameters are not offered' };
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
      requireFeature(capabilities, 'capacity');
      const { volume_capabilities: wanted } = request;
      const topology = readPlace(request.accessible_topology, options);
      const body = {
        parameters: readParameters(request.parameters),
        ...(topology && { topology }),
        ...(wanted.length > 0 && { capabilities: readCapabilities(wanted) }),
      };
      const capacity = await client.getCapacity({ body }, call);
      return {
        available_capacity: capacity.availableBytes,
        ...(capacity.maximumVolumeBytes !== undefined && {
          maximum_volume_size: { value: capacity.maximumVolumeBytes },
        }),
        ...(capacity.minimumVolumeBytes !== undefined && {
          minimum_volume_size: { value: capacity.minimumVolumeBytes },
        }),
      };
    },

    async ControllerGetCapabilities() {
      return { capabilities: offeredRpcs(capabilities.get()).map(type => ({ rpc: { type } })) };
    },

    async ControllerGetVolume(request, call) {
      const volume = await client.getVolume({ volumeId: readId(request.volume_id, 'volume_id') }, call);
      return { volume: toVolume(volume), status: toStatus(volume) };
    },

    ...createSnapshots(options),
    ...createVolumeChanges(options),
  };
}

/** INVALID_ARGUMENT for a source or for mutable parameters that the storage does not take. */
function refuseUnoffered(
  capabilities: CapabilitySource,
  { source, mutableParameters }: Pick<VolumeSpec, 'source' | 'mutableParameters'>,
): void {
  if (source && !hasFeature(capabilities.get(), source.kind === 'snapshot' ? 'restore' : 'clone'))
    throw unoffered('volume_content_source');
  if (mutableParameters && !hasFeature(capabilities.get(), 'modify')) throw unoffered('mutable_parameters');
}

/** A node counts until its detaching is done, and not before its attaching is. */
function toStatus(volume: Volume): { published_node_ids: string[] } {
  const published = volume.attachments.filter(attachment => attachment.state !== 'attaching');
  return { published_node_ids: published.map(attachment => attachment.nodeId) };
}

import { toPublishContext } from '../api/attachment.ts';
import type { StorageClient } from '../api/client.ts';
import { resourceId } from '../api/names.ts';
import { Problem } from '../api/problem.ts';
import type { Capabilities, Volume } from '../api/resources.ts';
import type { ControllerHandlers } from '../csi/generated/csi/v1/Controller.ts';
import type { _csi_v1_ControllerServiceCapability_RPC_Type as RpcType } from '../csi/generated/csi/v1/ControllerServiceCapability.ts';
import type { CreateVolumeRequest__Output } from '../csi/generated/csi/v1/CreateVolumeRequest.ts';
import type { Volume as CsiVolume } from '../csi/generated/csi/v1/Volume.ts';
import {
  readCapabilities,
  readCapability,
  readCapacityRange,
  readId,
  readMap,
  readName,
  readNodeId,
} from '../csi/read.ts';
import type { UnaryHandlers } from '../csi/unary.ts';
import type { CapabilitySource } from './capabilities.ts';

/** What the service works with. */
export type ControllerOptions = {
  readonly client: StorageClient;
  readonly capabilities: CapabilitySource;
  readonly cluster: string;
};

/** Parameters that the provisioner adds to tell whose volume it is; they are no business of a backend. */
const metadataParameters = new Set([
  'csi.storage.k8s.io/pvc/name',
  'csi.storage.k8s.io/pvc/namespace',
  'csi.storage.k8s.io/pv/name',
]);

/** The Controller service (CSI spec, "Controller Service RPC"): each RPC is one call of the Storage API. */
export function createController({
  client,
  capabilities,
  cluster,
}: ControllerOptions): UnaryHandlers<ControllerHandlers> {
  return {
    async CreateVolume(request, call) {
      const name = readName(request.name);
      const spec = {
        name,
        ...readCapacityRange(request.capacity_range),
        capabilities: readCapabilities(request.volume_capabilities),
        parameters: readParameters(request.parameters),
      };
      refuseUnoffered(request);
      const volume = await client.createVolume(resourceId(cluster, name), spec, call);
      if (volume.state !== 'ready')
        throw new Problem('ABORTED', `volume "${volume.id}" is ${volume.state} still`);
      return { volume: toCsiVolume(volume) };
    },

    async DeleteVolume(request, call) {
      await client.deleteVolume(readId(request.volume_id, 'volume_id'), call);
      return {};
    },

    async ControllerPublishVolume(request, call) {
      const volumeId = readId(request.volume_id, 'volume_id');
      const nodeId = readNodeId(request.node_id);
      if (nodeId === '') throw new Problem('INVALID_ARGUMENT', 'node_id is missing');
      const capability = readCapability(request.volume_capability);
      const resource = await client.attachVolume(
        { volumeId, nodeId, capability, readonly: request.readonly },
        call,
      );
      if (resource.state !== 'attached' || !resource.attachment)
        throw new Problem('UNAVAILABLE', `volume "${volumeId}" is not attached to node "${nodeId}" yet`);
      return { publish_context: toPublishContext(resource.attachment) };
    },

    async ControllerUnpublishVolume(request, call) {
      await client.detachVolume(
        { volumeId: readId(request.volume_id, 'volume_id'), nodeId: readNodeId(request.node_id) },
        call,
      );
      return {};
    },

    async ValidateVolumeCapabilities(request, call) {
      const { volume_capabilities, volume_context, parameters, mutable_parameters } = request;
      const volumeId = readId(request.volume_id, 'volume_id');
      const spec = {
        capabilities: readCapabilities(volume_capabilities),
        parameters: readParameters(parameters),
        context: readMap(volume_context, 'volume_context'),
      };
      const { confirmed, message } = await client.validateVolume(volumeId, spec, call);
      if (Object.keys(mutable_parameters).length > 0)
        return { message: 'mutable parameters are not offered' };
      return confirmed
        ? { confirmed: { volume_capabilities, volume_context, parameters } }
        : { message: message ?? 'not supported' };
    },

    async ListVolumes(request, call) {
      if (request.max_entries < 0)
        throw new Problem('INVALID_ARGUMENT', `max_entries is ${request.max_entries}, less than 0`);
      const page = await client.listVolumes(
        { limit: request.max_entries, pageToken: request.starting_token },
        call,
      );
      const ready = page.volumes.filter(volume => volume.state === 'ready');
      return {
        entries: ready.map(volume => ({ volume: toCsiVolume(volume), status: toStatus(volume) })),
        next_token: page.nextPageToken ?? '',
      };
    },

    async GetCapacity(request, call) {
      if (!capabilities.get().capacity)
        throw new Problem('UNIMPLEMENTED', 'the backend does not tell its capacity');
      if (Object.keys(request.accessible_topology?.segments ?? {}).length > 0)
        throw unoffered('accessible_topology');
      const { volume_capabilities: wanted } = request;
      const spec = {
        parameters: readParameters(request.parameters),
        ...(wanted.length > 0 && { capabilities: readCapabilities(wanted) }),
      };
      const capacity = await client.getCapacity(spec, call);
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
      const volume = await client.getVolume(readId(request.volume_id, 'volume_id'), call);
      return { volume: toCsiVolume(volume), status: toStatus(volume) };
    },
  };
}

function offeredRpcs(offered: Capabilities): RpcType[] {
  return [
    'CREATE_DELETE_VOLUME',
    'PUBLISH_UNPUBLISH_VOLUME',
    'LIST_VOLUMES',
    'PUBLISH_READONLY',
    'LIST_VOLUMES_PUBLISHED_NODES',
    'GET_VOLUME',
    ...(offered.capacity ? (['GET_CAPACITY'] as const) : []),
    ...(offered.accessModes.includes('SINGLE_NODE_MULTI_WRITER')
      ? (['SINGLE_NODE_MULTI_WRITER'] as const)
      : []),
  ];
}

function refuseUnoffered(request: CreateVolumeRequest__Output): void {
  const { requisite = [], preferred = [] } = request.accessibility_requirements ?? {};
  if (requisite.length + preferred.length > 0) throw unoffered('accessibility_requirements');
  if (request.volume_content_source) throw unoffered('volume_content_source');
  if (Object.keys(request.mutable_parameters).length > 0) throw unoffered('mutable_parameters');
}

function unoffered(field: string): Problem {
  return new Problem('INVALID_ARGUMENT', `${field} is given, but this driver does not offer it`);
}

function readParameters(parameters: Readonly<Record<string, string>>): Record<string, string> {
  const own = Object.entries(readMap(parameters, 'parameters')).filter(
    ([key]) => !metadataParameters.has(key),
  );
  return Object.fromEntries(own);
}

function toCsiVolume(volume: Volume): CsiVolume {
  return { volume_id: volume.id, capacity_bytes: volume.sizeBytes, volume_context: volume.context };
}

/** A node counts until its detaching is done, and not before its attaching is. */
function toStatus(volume: Volume): { published_node_ids: string[] } {
  const published = volume.attachments.filter(attachment => attachment.state !== 'attaching');
  return { published_node_ids: published.map(attachment => attachment.nodeId) };
}

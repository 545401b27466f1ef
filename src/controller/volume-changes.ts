import { Problem } from '../api/problem.ts';
import type { ControllerHandlers } from '../csi/generated/csi/v1/Controller.ts';
import { readCapability, readCapacityRange, readId } from '../csi/request.ts';
import type { UnaryHandlers } from '../csi/unary.ts';
import type { ControllerOptions } from './controller.ts';
import { readPage, readParameters, toCsiHealth } from './messages.ts';
import { requireFeature } from './offered.ts';

type Rpcs =
  | 'ControllerExpandVolume'
  | 'ControllerModifyVolume'
  | 'ControllerGetVolumeHealth'
  | 'ControllerListVolumeHealth';

/** The RPCs of the Controller service that change volumes, or tell what is wrong with them. */
export function createVolumeChanges({
  client,
  capabilities,
}: ControllerOptions): Pick<UnaryHandlers<ControllerHandlers>, Rpcs> {
  return {
    async ControllerExpandVolume(request, call) {
      requireFeature(capabilities, 'expand');
      const volumeId = readId(request.volume_id, 'volume_id');
      if (!request.capacity_range) throw new Problem('INVALID_ARGUMENT', 'capacity_range is missing');
      const bounds = readCapacityRange(request.capacity_range);
      // What it is used as changes nothing: raw block devices must be looked at again by the node, too.
      if (request.volume_capability) readCapability(request.volume_capability);
      const { sizeBytes, nodeExpansionRequired = false } = await client.expandVolume(
        { volumeId, body: bounds },
        call,
      );
      return { capacity_bytes: sizeBytes, node_expansion_required: nodeExpansionRequired };
    },

    async ControllerGetVolumeHealth(request, call) {
      requireFeature(capabilities, 'health');
      const health = await client.getVolumeHealth({ volumeId: readId(request.volume_id, 'volume_id') }, call);
      return { volume_health: toCsiHealth(health) };
    },

    async ControllerListVolumeHealth(request, call) {
      requireFeature(capabilities, 'health');
      const { volumes, nextPageToken = '' } = await client.listVolumeHealth(readPage(request), call);
      return { entries: volumes.map(toCsiHealth), next_token: nextPageToken };
    },

    async ControllerModifyVolume(request, call) {
      requireFeature(capabilities, 'modify');
      const mutableParameters = readParameters(request.mutable_parameters, 'mutable_parameters');
      const volumeId = readId(request.volume_id, 'volume_id');
      await client.modifyVolume({ volumeId, body: { mutableParameters } }, call);
      return {};
    },
  };
}

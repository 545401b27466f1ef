import { preconditionProblem, Problem } from '../api/problem.ts';
import { toCsiCapability } from '../csi/request.ts';
import { sizeFor, type VendorOperations } from '../sdk/server/vendor.ts';
import type { Bridge } from './driver.ts';
import { createResources } from './resources.ts';
import { show } from './volumes.ts';

/** Creates the operations on volumes that a driver may lack. */
export function createChanges(bridge: Bridge) {
  const { driver, records, limits } = bridge;
  const { secrets, can } = driver;
  const { controller } = driver.calls;
  const { requireCreated } = createResources(bridge, 'volume');
  return {
    async expandVolume({ volumeId, body }) {
      const found = requireCreated(volumeId);
      const { sizeBytes, handle } = found.made;
      const { requiredBytes = 0, limitBytes = 0 } = body;
      if (limitBytes > 0 && limitBytes < sizeBytes)
        throw new Problem('OUT_OF_RANGE', `volume "${volumeId}" has ${sizeBytes} bytes already`);
      if (requiredBytes <= sizeBytes) return [200, { ...show(found), nodeExpansionRequired: true }];
      const wantedBytes = sizeFor(body, limits, sizeBytes);
      const [holder] = Object.keys(found.attachments);
      if (holder !== undefined && can('OFFLINE') && !can('ONLINE'))
        throw preconditionProblem(
          `the driver grows only detached volumes, and node "${holder}" has volume "${volumeId}"`,
        );
      const [capability] = found.spec.capabilities;
      const answer = await controller.ControllerExpandVolume({
        volume_id: handle,
        capacity_range: { required_bytes: wantedBytes, limit_bytes: limitBytes },
        secrets: secrets('expand'),
        ...(capability && { volume_capability: toCsiCapability(capability) }),
      });
      const grownBytes = Number(answer.capacity_bytes) || wantedBytes;
      const grown = { ...found, made: { ...found.made, sizeBytes: grownBytes } };
      records.put('volume', grown);
      if (limitBytes > 0 && limitBytes < grownBytes)
        throw new Problem('OUT_OF_RANGE', `the driver grew volume "${volumeId}" to ${grownBytes} bytes`);
      return [200, { ...show(grown), nodeExpansionRequired: answer.node_expansion_required }];
    },

    async modifyVolume({ volumeId, body: { mutableParameters } }) {
      const found = requireCreated(volumeId);
      await controller.ControllerModifyVolume({
        volume_id: found.made.handle,
        mutable_parameters: mutableParameters,
        secrets: secrets('modify'),
      });
      const changed = { ...found, mutableParameters: { ...found.mutableParameters, ...mutableParameters } };
      records.put('volume', changed);
      return [200, show(changed)];
    },

    async getCapacity({ body: { capabilities = [], parameters = {}, topology } }) {
      const answer = await controller.GetCapacity({
        volume_capabilities: capabilities.map(toCsiCapability),
        parameters,
        ...(topology && { accessible_topology: { segments: topology } }),
      });
      const { available_capacity, maximum_volume_size: maximum, minimum_volume_size: minimum } = answer;
      const sizes = {
        availableBytes: Number(available_capacity),
        ...(maximum && { maximumVolumeBytes: Number(maximum.value) }),
        ...(minimum && { minimumVolumeBytes: Number(minimum.value) }),
      };
      return [200, sizes];
    },

    async getVolumeHealth({ volumeId }) {
      const { handle } = requireCreated(volumeId).made;
      const { volume_health: found } = await controller.ControllerGetVolumeHealth({ volume_id: handle });
      const entries = (found?.health_statuses ?? []).flatMap(({ status, reason, message }) =>
        status === 'UNKNOWN_VOLUME_HEALTH_TYPE'
          ? []
          : [{ status, reason: reason || 'Unknown', message: message || reason }],
      );
      return [200, { volumeId, entries }];
    },
  } satisfies VendorOperations;
}

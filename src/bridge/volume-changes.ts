import { toCsiCapability } from '../csi/request.ts';
import { preconditionProblem, Problem } from '../api/problem.ts';
import { sizeFor, type VendorOperations } from '../sdk/server/vendor.ts';
import type { Bridge } from './driver.ts';
import { requireReady, show, type SizedBridge } from './volumes.ts';

/** Creates the operations on volumes that the driver may lack. */
export function createChanges(bridge: SizedBridge): VendorOperations {
  const { can } = bridge.driver;
  return {
    ...(can('EXPAND_VOLUME') && { expandVolume: expand(bridge) }),
    ...(can('MODIFY_VOLUME') && { modifyVolume: modify(bridge) }),
    ...(can('GET_CAPACITY') && { getCapacity: capacity(bridge) }),
    ...(can('GET_VOLUME_HEALTH') && { getVolumeHealth: health(bridge) }),
  };
}

function expand({ driver, records, limits }: SizedBridge): NonNullable<VendorOperations['expandVolume']> {
  const { calls, secrets, timeoutMs, can } = driver;
  return async ({ volumeId, body }) => {
    const found = requireReady(records, volumeId);
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
    const answer = await calls.controller.ControllerExpandVolume(
      {
        volume_id: handle,
        capacity_range: { required_bytes: wantedBytes, limit_bytes: limitBytes },
        secrets: secrets('expand'),
        ...(capability && { volume_capability: toCsiCapability(capability) }),
      },
      timeoutMs,
    );
    const grownBytes = Number(answer.capacity_bytes) || wantedBytes;
    const grown = { ...found, made: { ...found.made, sizeBytes: grownBytes } };
    records.put('volume', grown);
    if (limitBytes > 0 && limitBytes < grownBytes)
      throw new Problem('OUT_OF_RANGE', `the driver grew volume "${volumeId}" to ${grownBytes} bytes`);
    return [200, { ...show(grown), nodeExpansionRequired: answer.node_expansion_required }];
  };
}

function modify({ driver, records }: Bridge): NonNullable<VendorOperations['modifyVolume']> {
  const { calls, secrets, timeoutMs } = driver;
  return async ({ volumeId, body: { mutableParameters } }) => {
    const found = requireReady(records, volumeId);
    await calls.controller.ControllerModifyVolume(
      { volume_id: found.made.handle, mutable_parameters: mutableParameters, secrets: secrets('modify') },
      timeoutMs,
    );
    const changed = { ...found, mutableParameters: { ...found.mutableParameters, ...mutableParameters } };
    records.put('volume', changed);
    return [200, show(changed)];
  };
}

function capacity({ driver: { calls, timeoutMs } }: Bridge): NonNullable<VendorOperations['getCapacity']> {
  return async ({ body: { capabilities = [], parameters = {}, topology } }) => {
    const answer = await calls.controller.GetCapacity(
      {
        volume_capabilities: capabilities.map(toCsiCapability),
        parameters,
        ...(topology && { accessible_topology: { segments: topology } }),
      },
      timeoutMs,
    );
    const [maximum, minimum] = [answer.maximum_volume_size, answer.minimum_volume_size];
    return [
      200,
      {
        availableBytes: Number(answer.available_capacity),
        ...(maximum && { maximumVolumeBytes: Number(maximum.value) }),
        ...(minimum && { minimumVolumeBytes: Number(minimum.value) }),
      },
    ];
  };
}

function health({ driver, records }: Bridge): NonNullable<VendorOperations['getVolumeHealth']> {
  return async ({ volumeId }) => {
    const { handle } = requireReady(records, volumeId).made;
    const { volume_health: found } = await driver.calls.controller.ControllerGetVolumeHealth(
      { volume_id: handle },
      driver.timeoutMs,
    );
    const entries = (found?.health_statuses ?? []).flatMap(({ status, reason, message }) =>
      status === 'UNKNOWN_VOLUME_HEALTH_TYPE'
        ? []
        : [{ status, reason: reason || 'Unknown', message: message || reason }],
    );
    return [200, { volumeId, entries }];
  };
}

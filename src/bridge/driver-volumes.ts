import { invalidProblem, Problem, preconditionProblem } from '../api/problem.ts';
import type { ExistingVolume } from '../api/volume.ts';
import type { CreateVolumeRequest } from '../csi/generated/csi/v1/CreateVolumeRequest.ts';
import { toCsiCapability } from '../csi/request.ts';
import { dropIfRefused, isMissing, nameFor, topologyCapability, type Bridge, type Driver } from './driver.ts';
import type { CreatedResource, WithId } from './records.ts';

type Known = WithId<'volume'>;

/** Asks the driver for the volume, and records it. After a final refusal nothing is left, neither there nor here. */
export async function createDriverVolume(
  { driver, records }: Bridge,
  wanted: Known,
): Promise<CreatedResource<'volume'>> {
  const answer = await driver.calls.controller
    .CreateVolume(toRequest(driver, wanted), driver.timeoutMs)
    .catch(dropIfRefused(() => records.drop('volume', wanted.id)));
  const { volume } = answer;
  if (!volume?.volume_id) throw new Problem('UNAVAILABLE', 'the driver answered without a volume');
  const topology = volume.accessible_topology.map(({ segments }) => segments);
  const made = {
    handle: volume.volume_id,
    // 0 is an unknown size (CSI spec, "CreateVolume").
    sizeBytes: Number(volume.capacity_bytes) || wanted.wantedBytes,
    context: volume.volume_context,
    ...(topology.length > 0 && { topology }),
  };
  const created = { ...wanted, made };
  records.put('volume', created);
  return created;
}

/**
 * Records a volume that the driver made before, and changes nothing at the driver. NOT_FOUND if the driver does not know it,
 * FAILED_PRECONDITION if it is another volume of the bridge.
 */
export async function importDriverVolume(
  { driver, records }: Bridge,
  wanted: Known,
  existing: ExistingVolume,
): Promise<CreatedResource<'volume'>> {
  const { handle, context } = existing;
  if (existing.driver !== driver.name)
    throw invalidProblem(`the volume is of driver "${existing.driver}", and this is driver "${driver.name}"`);
  const { capabilities, requiredBytes: sizeBytes = 0, topology } = wanted.spec;
  const request = {
    volume_id: handle,
    volume_context: context,
    volume_capabilities: capabilities.map(toCsiCapability),
    secrets: driver.secrets('provision'),
  };
  await driver.calls.controller
    .ValidateVolumeCapabilities(request, driver.timeoutMs)
    .catch((error: unknown) => {
      if (isMissing(error))
        throw new Problem('NOT_FOUND', `driver "${driver.name}" has no volume "${handle}"`);
      // A driver may lack the call, since Kubernetes never makes it.
      if (!(error instanceof Problem && error.code === 'UNIMPLEMENTED')) throw error;
    });
  const holder = records.volumeOf(handle);
  if (holder !== undefined) throw preconditionProblem(`"${handle}" is already volume "${holder}"`);
  const segments = topology?.requisite ?? [];
  const made = { handle, context, sizeBytes, ...(segments.length > 0 && { topology: segments }) };
  const imported = { ...wanted, made };
  records.put('volume', imported);
  return imported;
}

function toRequest(driver: Driver, { id, spec, source, wantedBytes }: Known): CreateVolumeRequest {
  const { limitBytes = 0, capabilities, parameters, mutableParameters } = spec;
  const { requisite = [], preferred = [] } = spec.topology ?? {};
  const toTopologies = (terms: typeof requisite) => terms.map(segments => ({ segments }));
  return {
    name: nameFor('pvc', id),
    ...(wantedBytes > 0 && { capacity_range: { required_bytes: wantedBytes, limit_bytes: limitBytes } }),
    volume_capabilities: capabilities.map(toCsiCapability),
    parameters: parameters ?? {},
    mutable_parameters: mutableParameters ?? {},
    secrets: driver.secrets('provision'),
    ...(source && { volume_content_source: source }),
    ...(spec.topology &&
      driver.can(topologyCapability) && {
        accessibility_requirements: {
          requisite: toTopologies(requisite),
          preferred: toTopologies(preferred),
        },
      }),
  };
}

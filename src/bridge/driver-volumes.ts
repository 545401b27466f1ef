import { invalidProblem, Problem, preconditionProblem } from '../api/problem.ts';
import type { ExistingVolume } from '../api/volume.ts';
import { toCsiCapability } from '../csi/request.ts';
import { isMissing, nameFor, topologyCapability, type Bridge } from './driver.ts';
import type { CreatedResource, Made, VolumeRecord } from './records.ts';

/** Asks the driver for a volume. */
export async function createDriverVolume({ driver }: Bridge, wanted: VolumeRecord): Promise<Made<'volume'>> {
  const { calls, can, secrets } = driver;
  const { id, source, wantedBytes, spec } = wanted;
  const { limitBytes = 0, parameters = {}, mutableParameters = {}, topology } = spec;
  const { volume } = await calls.controller.CreateVolume({
    name: nameFor('pvc', id),
    ...(wantedBytes > 0 && { capacity_range: { required_bytes: wantedBytes, limit_bytes: limitBytes } }),
    volume_capabilities: spec.capabilities.map(toCsiCapability),
    parameters,
    mutable_parameters: mutableParameters,
    secrets: secrets('provision'),
    ...(source && { volume_content_source: source }),
    ...(topology && can(topologyCapability) && { accessibility_requirements: toRequirement(topology) }),
  });
  if (!volume?.volume_id) throw new Problem('UNAVAILABLE', 'the driver answered without a volume');
  const found = volume.accessible_topology.map(({ segments }) => segments);
  return {
    handle: volume.volume_id,
    // 0 is an unknown size (CSI spec, "CreateVolume").
    sizeBytes: Number(volume.capacity_bytes) || wantedBytes,
    context: volume.volume_context,
    ...(found.length > 0 && { topology: found }),
  };
}

/**
 * Records a volume that the driver made before, and changes nothing at the driver. NOT_FOUND if the driver does not know it,
 * FAILED_PRECONDITION if it is another volume of the bridge.
 */
export async function importDriverVolume(
  { driver: { name, calls, secrets }, records }: Bridge,
  wanted: VolumeRecord,
  { driver, handle, context }: ExistingVolume,
): Promise<CreatedResource<'volume'>> {
  const { capabilities, requiredBytes: sizeBytes = 0, topology: { requisite = [] } = {} } = wanted.spec;
  if (driver !== name)
    throw invalidProblem(`the volume is of driver "${driver}", and this is driver "${name}"`);
  const request = {
    volume_id: handle,
    volume_context: context,
    volume_capabilities: capabilities.map(toCsiCapability),
    secrets: secrets('provision'),
  };
  await calls.controller.ValidateVolumeCapabilities(request).catch((error: unknown) => {
    if (isMissing(error)) throw new Problem('NOT_FOUND', `driver "${name}" has no volume "${handle}"`);
    // A driver may lack the call, since Kubernetes never makes it.
    if (!(error instanceof Problem && error.code === 'UNIMPLEMENTED')) throw error;
  });
  // Nothing is awaited from here to the record, so that no other import takes the same volume.
  const holder = records.volumeOf(handle);
  if (holder) throw preconditionProblem(`"${handle}" is already volume "${holder.id}"`);
  const made = { handle, context, sizeBytes, ...(requisite.length > 0 && { topology: requisite }) };
  const imported = { ...wanted, made };
  records.put('volume', imported);
  return imported;
}

function toRequirement({ requisite = [], preferred = [] }: NonNullable<VolumeRecord['spec']['topology']>) {
  const toTopologies = (terms: typeof requisite) => terms.map(segments => ({ segments }));
  return { requisite: toTopologies(requisite), preferred: toTopologies(preferred) };
}

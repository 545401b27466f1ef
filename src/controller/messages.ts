import { isKubernetes } from '../api/filesystems.ts';
import { createHash } from 'node:crypto';
import { minimumVolumeBytes } from '../api/filesystems/candidates.ts';
import { maxIdBytes, plainPattern } from '../api/ids.ts';
import { invalidProblem, Problem } from '../api/problem.ts';
import type { Snapshot } from '../api/snapshot.ts';
import { hasFeature, type TopologyRequirement } from '../api/storage.ts';
import type { Segments } from '../api/topology.ts';
import type { Volume, VolumeSource } from '../api/volume.ts';
import type { Snapshot as CsiSnapshot } from '../csi/generated/csi/v1/Snapshot.ts';
import type { Topology, Topology__Output } from '../csi/generated/csi/v1/Topology.ts';
import type { TopologyRequirement__Output } from '../csi/generated/csi/v1/TopologyRequirement.ts';
import type { Volume as CsiVolume } from '../csi/generated/csi/v1/Volume.ts';
import type { VolumeContentSource__Output } from '../csi/generated/csi/v1/VolumeContentSource.ts';
import type { Timestamp } from '../csi/generated/google/protobuf/Timestamp.ts';
import type { AdvertisedCapabilities } from '../csi/identity.ts';
import { readKnownId, readMap } from '../csi/request.ts';
import { unofferedProblem, type ControllerOptions } from './capabilities.ts';

const hashedPattern = /-x[0-9a-f]{32}$/;

/**
 * Makes the id of a new resource: `<cluster>.<name>`, at most 128 bytes of letters, digits, `_`, `.` and `-`. A name
 * that is too long or has other characters is cut and gets a hash, so that two names never share an id.
 */
export function resourceId(cluster: string, name: string): string {
  const plain = `${cluster}.${name}`;
  if (plainPattern.test(name) && !hashedPattern.test(name) && plain.length <= maxIdBytes) return plain;
  const suffix = `-x${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
  const readable = name.replaceAll(/[^A-Za-z0-9_.-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '') || 'name';
  return `${cluster}.${readable}`.slice(0, maxIdBytes - suffix.length) + suffix;
}

type StringMap = Readonly<Record<string, string>>;

/** Reads a map without the keys that sidecars add for themselves, such as the name of the claim. */
export function readParameters(parameters: StringMap, field = 'parameters'): StringMap {
  return withoutKubernetes(readMap(parameters, field));
}

function withoutKubernetes(map: StringMap): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !isKubernetes(key)));
}

/**
 * Reads a snapshot class's parameters for the storage. `deletionPolicy` is a field of the class that Kubernetes
 * handles itself, but upstream's tests write it among the parameters too. INVALID_ARGUMENT for an unknown policy.
 */
export function readSnapshotParameters(parameters: StringMap): StringMap {
  const { deletionPolicy = 'Delete', ...own } = readParameters(parameters);
  if (deletionPolicy === 'Delete' || deletionPolicy === 'Retain') return own;
  throw invalidProblem(`parameters.deletionPolicy is "${deletionPolicy}"; use Delete or Retain`);
}

/**
 * Reads a map like `readParameters`; undefined when it is empty, because protobuf cannot tell an empty map from an
 * absent one.
 */
export function readOptionalParameters(parameters: StringMap, field: string): StringMap | undefined {
  const own = readParameters(parameters, field);
  return Object.keys(own).length > 0 ? own : undefined;
}

/**
 * The minimum size in bytes of volumes with the class's filesystem, which the provisioner passes in the parameters; 0
 * when the class names none.
 */
export function minimumOfClass(parameters: StringMap): number {
  const { 'csi.storage.k8s.io/fstype': fsType } = parameters;
  return fsType === undefined ? 0 : minimumVolumeBytes([{ accessType: 'mount', fsType }], parameters);
}

export function readPage(request: { readonly max_entries: number; readonly starting_token: string }) {
  const { max_entries: limit, starting_token: pageToken } = request;
  if (limit < 0) throw invalidProblem(`max_entries is ${limit}; use 0 or more`);
  return { limit, pageToken };
}

/** Reads the source of a new volume; undefined for an empty volume. */
export function readSource(source: VolumeContentSource__Output | null): VolumeSource | undefined {
  if (!source) return undefined;
  const { snapshot, volume } = source;
  const field = 'volume_content_source';
  if (snapshot)
    return {
      kind: 'snapshot',
      snapshotId: readKnownId(snapshot.snapshot_id, `${field}.snapshot.snapshot_id`),
    };
  if (volume) return { kind: 'volume', volumeId: readKnownId(volume.volume_id, `${field}.volume.volume_id`) };
  throw invalidProblem(`${field} has neither a snapshot nor a volume`);
}

/**
 * The number of preferred topologies to send beside required ones. external-provisioner lists each node in both, and
 * the gateway accepts a body that has long names of many nodes only once.
 */
const maxPreferred = 256;

type TopologyCapability = 'topology' | 'snapshot-topology';

/**
 * Reads the topology requirement for a new resource. Undefined without a requirement, and for a storage without
 * topology. INVALID_ARGUMENT when the plugin does not advertise `kind`.
 */
export function readRequirement(
  requirement: TopologyRequirement__Output | null,
  kind: TopologyCapability,
  { advertised, capabilities }: ControllerOptions,
): TopologyRequirement | undefined {
  const { requisite = [], preferred = [] } = requirement ?? {};
  if (requisite.length + preferred.length === 0) return undefined;
  if (!advertised.includes(kind)) throw unofferedProblem('accessibility_requirements');
  if (!hasFeature(capabilities.get(), 'topology')) return undefined;
  const sent = requisite.length > 0 ? preferred.slice(0, maxPreferred) : preferred;
  const [required, preference] = [requisite, sent].map(terms => terms.map(({ segments }) => segments));
  return { requisite: required, preferred: preference };
}

/** Reads the topology of a capacity request. Undefined and INVALID_ARGUMENT as in `readRequirement`. */
export function readSegments(
  topology: Topology__Output | null,
  { advertised, capabilities }: ControllerOptions,
): Record<string, string> | undefined {
  if (!topology || Object.keys(topology.segments).length === 0) return undefined;
  if (!advertised.includes('topology')) throw unofferedProblem('accessible_topology');
  return hasFeature(capabilities.get(), 'topology') ? topology.segments : undefined;
}

export function toCsiVolume(volume: Volume, advertised: AdvertisedCapabilities): CsiVolume {
  const { id, sizeBytes, context, source, topology } = volume;
  return {
    volume_id: id,
    capacity_bytes: sizeBytes,
    volume_context: withoutKubernetes(context),
    ...(source?.kind === 'snapshot' && { content_source: { snapshot: { snapshot_id: source.snapshotId } } }),
    ...(source?.kind === 'volume' && { content_source: { volume: { volume_id: source.volumeId } } }),
    ...toAccessibleTopology(topology, advertised.includes('topology')),
  };
}

/** Converts a snapshot to CSI. ABORTED while it is being created or deleted. */
export function toCsiSnapshot(snapshot: Snapshot, advertised: AdvertisedCapabilities): CsiSnapshot {
  const { id, volumeId, groupId, state, sizeBytes, createdAt, topology } = snapshot;
  requireCreated('snapshot', snapshot);
  return {
    snapshot_id: id,
    source_volume_id: volumeId,
    size_bytes: sizeBytes,
    creation_time: toTimestamp(createdAt),
    ready_to_use: state === 'ready',
    ...(groupId !== undefined && { group_snapshot_id: groupId }),
    ...toAccessibleTopology(topology, advertised.includes('snapshot-topology')),
  };
}

type StatefulResource = { readonly id: string; readonly state: string };

/** False while the resource is being created or deleted. */
export function isCreated({ state }: StatefulResource): boolean {
  return state !== 'creating' && state !== 'deleting';
}

/** ABORTED while the resource is being created or deleted. */
export function requireCreated(kind: string, resource: StatefulResource): void {
  if (!isCreated(resource))
    throw new Problem('ABORTED', `${kind} "${resource.id}" is ${resource.state}; try again later`);
}

/** Converts an ISO 8601 time to protobuf. */
export function toTimestamp(time: string): Timestamp {
  const ms = Date.parse(time);
  return { seconds: Math.floor(ms / 1_000), nanos: (ms % 1_000) * 1_000_000 };
}

/** Returns undefined for NOT_FOUND; throws any other error again. */
export function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof Problem && error.code === 'NOT_FOUND')) throw error;
}

function toAccessibleTopology(
  topology: readonly Segments[] | undefined,
  isAdvertised: boolean,
): { readonly accessible_topology?: Topology[] } {
  if (!topology || !isAdvertised) return {};
  return { accessible_topology: topology.map(segments => ({ segments })) };
}

import { createHash } from 'node:crypto';
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
import type { Advertised } from '../csi/identity.ts';
import { readId, readMap } from '../csi/request.ts';
import { unofferedProblem, type ControllerOptions } from './capabilities.ts';

/** Keys with these prefixes are the sidecars', who pass some on raw, or say whose resource it is; the storage gets none. */
const ofSidecars = /^(csi\.storage\.k8s\.io|storage\.kubernetes\.io)\//;
const hashedPattern = /-x[0-9a-f]{32}$/;

/**
 * The id of the resource that a caller names: `<cluster>.<name>`, at most 128 bytes of letters, digits, `_`, `.` and
 * `-`. A name that is too long or has other characters is cut and given a hash, so that two names never share an id.
 */
export function resourceId(cluster: string, name: string): string {
  const plain = `${cluster}.${name}`;
  if (plainPattern.test(name) && !hashedPattern.test(name) && plain.length <= maxIdBytes) return plain;
  const suffix = `-x${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
  const readable = name.replaceAll(/[^A-Za-z0-9_.-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '') || 'name';
  return `${cluster}.${readable}`.slice(0, maxIdBytes - suffix.length) + suffix;
}

type StringMap = Readonly<Record<string, string>>;

/** The keys of a map that are meant for the storage. */
export function readParameters(parameters: StringMap, field = 'parameters'): StringMap {
  const entries = Object.entries(readMap(parameters, field));
  return Object.fromEntries(entries.filter(([key]) => !ofSidecars.test(key)));
}

/** The same, or undefined when there are none: protobuf has no way to say that a map is empty and not absent. */
export function readGiven(parameters: StringMap, field: string): StringMap | undefined {
  const own = readParameters(parameters, field);
  return Object.keys(own).length > 0 ? own : undefined;
}

/** Which page of a list is wanted. */
export function readPage(request: { readonly max_entries: number; readonly starting_token: string }) {
  const { max_entries: limit, starting_token: pageToken } = request;
  if (limit < 0) throw invalidProblem(`max_entries is ${limit}, less than 0`);
  return { limit, pageToken };
}

/** What a new volume is to be filled from, or undefined when nothing is asked. */
export function readSource(source: VolumeContentSource__Output | null): VolumeSource | undefined {
  if (!source) return undefined;
  const { snapshot, volume } = source;
  const field = 'volume_content_source';
  if (snapshot)
    return { kind: 'snapshot', snapshotId: readId(snapshot.snapshot_id, `${field}.snapshot.snapshot_id`) };
  if (volume) return { kind: 'volume', volumeId: readId(volume.volume_id, `${field}.volume.volume_id`) };
  throw invalidProblem(`${field} has neither a snapshot nor a volume`);
}

type Kind = 'topology' | 'snapshot-topology';

/**
 * Where something new must be reached from, as the storage is asked for it; undefined when nothing is asked, and for a
 * storage that is reached from everywhere. INVALID_ARGUMENT when the plugin does not advertise that it can be asked.
 */
export function readRequirement(
  requirement: TopologyRequirement__Output | null,
  kind: Kind,
  { advertised, capabilities }: ControllerOptions,
): TopologyRequirement | undefined {
  const { requisite = [], preferred = [] } = requirement ?? {};
  if (requisite.length + preferred.length === 0) return undefined;
  if (!advertised.includes(kind)) throw unofferedProblem('accessibility_requirements');
  if (!hasFeature(capabilities.get(), 'topology')) return undefined;
  const [required, better] = [requisite, preferred].map(terms => terms.map(({ segments }) => segments));
  return { requisite: required, preferred: better };
}

/** Where the volumes are to be reached from whose capacity is asked for; undefined and INVALID_ARGUMENT likewise. */
export function readSegments(
  topology: Topology__Output | null,
  { advertised, capabilities }: ControllerOptions,
): Record<string, string> | undefined {
  if (!topology || Object.keys(topology.segments).length === 0) return undefined;
  if (!advertised.includes('topology')) throw unofferedProblem('accessible_topology');
  return hasFeature(capabilities.get(), 'topology') ? topology.segments : undefined;
}

/** A volume in CSI's words. */
export function toCsiVolume(volume: Volume, advertised: Advertised): CsiVolume {
  const { id, sizeBytes, context, source, topology } = volume;
  return {
    volume_id: id,
    capacity_bytes: sizeBytes,
    volume_context: context,
    ...(source?.kind === 'snapshot' && { content_source: { snapshot: { snapshot_id: source.snapshotId } } }),
    ...(source?.kind === 'volume' && { content_source: { volume: { volume_id: source.volumeId } } }),
    ...toAccessibleTopology(topology, advertised.includes('topology')),
  };
}

/** A snapshot in CSI's words. ABORTED for one that is not created yet, or is being deleted. */
export function toCsiSnapshot(snapshot: Snapshot, advertised: Advertised): CsiSnapshot {
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

type Stateful = { readonly id: string; readonly state: string };

/** False while something is created or deleted. */
export function isCreated({ state }: Stateful): boolean {
  return state !== 'creating' && state !== 'deleting';
}

/** ABORTED while something is created or deleted. */
export function requireCreated(kind: string, resource: Stateful): void {
  if (!isCreated(resource))
    throw new Problem('ABORTED', `${kind} "${resource.id}" is ${resource.state} still`);
}

/** A point in time in the words of protobuf. */
export function toTimestamp(time: string): Timestamp {
  const ms = Date.parse(time);
  return { seconds: Math.floor(ms / 1_000), nanos: (ms % 1_000) * 1_000_000 };
}

/** Undefined for what is not there; any other error is thrown on. */
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

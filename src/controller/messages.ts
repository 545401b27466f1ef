import { Problem } from '../api/problem.ts';
import type { Health, Volume, VolumeSource } from '../api/volume.ts';
import type { Snapshot } from '../api/snapshot.ts';
import type { Snapshot as CsiSnapshot } from '../csi/generated/csi/v1/Snapshot.ts';
import type { Volume as CsiVolume } from '../csi/generated/csi/v1/Volume.ts';
import type {
  VolumeContentSource,
  VolumeContentSource__Output,
} from '../csi/generated/csi/v1/VolumeContentSource.ts';
import type { VolumeHealth } from '../csi/generated/csi/v1/VolumeHealth.ts';
import type { Timestamp } from '../csi/generated/google/protobuf/Timestamp.ts';
import type { Advertised } from '../csi/identity.ts';
import { readId, readMap } from '../csi/request.ts';
import { toAccessibleTopology } from './topology.ts';

/** Parameters with this prefix are meant for the sidecars, or say whose resource it is; no backend gets them. */
const sidecarPrefix = 'csi.storage.k8s.io/';

/** The parameters that are meant for the backend. */
export function readParameters(
  parameters: Readonly<Record<string, string>>,
  field = 'parameters',
): Record<string, string> {
  const own = Object.entries(readMap(parameters, field)).filter(([key]) => !key.startsWith(sidecarPrefix));
  return Object.fromEntries(own);
}

/** The mutable parameters, or undefined when there are none. */
export function readMutable(
  parameters: Readonly<Record<string, string>>,
): Record<string, string> | undefined {
  const own = readParameters(parameters, 'mutable_parameters');
  return Object.keys(own).length > 0 ? own : undefined;
}

/** Which page of a list is wanted. */
export function readPage(request: { readonly max_entries: number; readonly starting_token: string }): {
  limit: number;
  pageToken: string;
} {
  const { max_entries: limit, starting_token: pageToken } = request;
  if (limit < 0) throw new Problem('INVALID_ARGUMENT', `max_entries is ${limit}, less than 0`);
  return { limit, pageToken };
}

/** What a new volume is to be filled from, or undefined when nothing is asked. */
export function readSource(source: VolumeContentSource__Output | null): VolumeSource | undefined {
  if (!source) return undefined;
  if (source.type === 'snapshot')
    return {
      kind: 'snapshot',
      snapshotId: readId(source.snapshot?.snapshot_id ?? '', 'volume_content_source.snapshot.snapshot_id'),
    };
  if (source.type === 'volume')
    return {
      kind: 'volume',
      volumeId: readId(source.volume?.volume_id ?? '', 'volume_content_source.volume.volume_id'),
    };
  throw new Problem('INVALID_ARGUMENT', 'volume_content_source has neither a snapshot nor a volume');
}

/** A volume in CSI's words. */
export function toCsiVolume(volume: Volume, advertised: Advertised): CsiVolume {
  const { id, sizeBytes, context, source, topology } = volume;
  return {
    volume_id: id,
    capacity_bytes: sizeBytes,
    volume_context: context,
    ...(source && { content_source: toContentSource(source) }),
    ...toAccessibleTopology(topology, 'topology', advertised),
  };
}

/** A snapshot in CSI's words. ABORTED for one that is not created yet, or is being deleted. */
export function toCsiSnapshot(snapshot: Snapshot, advertised: Advertised): CsiSnapshot {
  const { id, volumeId, groupId, state, sizeBytes, createdAt, topology } = snapshot;
  if (state === 'creating' || state === 'deleting')
    throw new Problem('ABORTED', `snapshot "${id}" is ${state} still`);
  return {
    snapshot_id: id,
    source_volume_id: volumeId,
    size_bytes: sizeBytes,
    creation_time: toTimestamp(createdAt),
    ready_to_use: state === 'ready',
    ...(groupId !== undefined && { group_snapshot_id: groupId }),
    ...toAccessibleTopology(topology, 'snapshot-topology', advertised),
  };
}

/** A point in time in the words of protobuf. */
export function toTimestamp(time: string): Timestamp {
  const ms = Date.parse(time);
  return { seconds: Math.floor(ms / 1_000), nanos: (ms % 1_000) * 1_000_000 };
}

/** What is wrong with a volume, in CSI's words. */
export function toCsiHealth({ volumeId, entries }: Health): VolumeHealth {
  return { volume_id: volumeId, health_statuses: entries };
}

function toContentSource(source: VolumeSource): VolumeContentSource {
  return source.kind === 'snapshot'
    ? { snapshot: { snapshot_id: source.snapshotId } }
    : { volume: { volume_id: source.volumeId } };
}

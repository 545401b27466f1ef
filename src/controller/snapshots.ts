import type { Call } from '../api/http.ts';
import type { StorageClient } from '../api/client.ts';
import { resourceId } from './resource-id.ts';
import { Problem } from '../api/problem.ts';
import type { Snapshot } from '../api/snapshot.ts';
import type { ControllerHandlers } from '../csi/generated/csi/v1/Controller.ts';
import type { ListSnapshotsRequest__Output } from '../csi/generated/csi/v1/ListSnapshotsRequest.ts';
import type { Snapshot as CsiSnapshot } from '../csi/generated/csi/v1/Snapshot.ts';
import { readId, readName } from '../csi/request.ts';
import type { Handlers } from '../csi/call.ts';
import { requireFeature, type ControllerOptions } from './capabilities.ts';
import { readPage, readParameters, toCsiSnapshot } from './messages.ts';
import { readRequirement } from './topology.ts';

type Rpcs = 'CreateSnapshot' | 'DeleteSnapshot' | 'ListSnapshots' | 'GetSnapshot';

/** The RPCs of the Controller service that are about snapshots. */
export function createSnapshots(options: ControllerOptions): Pick<Handlers<ControllerHandlers>, Rpcs> {
  const { client, capabilities, cluster, advertised } = options;
  const toSnapshot = (snapshot: Snapshot): CsiSnapshot => toCsiSnapshot(snapshot, advertised);
  return {
    async CreateSnapshot(request, call) {
      requireFeature(capabilities, 'snapshots');
      const name = readName(request.name);
      const volumeId = readId(request.source_volume_id, 'source_volume_id');
      const parameters = readParameters(request.parameters);
      const topology = readRequirement(request.accessibility_requirements, 'snapshot-topology', options);
      const spec = { name, volumeId, parameters, ...(topology && { topology }) };
      const snapshotId = resourceId(cluster, name);
      return { snapshot: toSnapshot(await client.createSnapshot({ snapshotId, body: spec }, call)) };
    },

    async DeleteSnapshot(request, call) {
      requireFeature(capabilities, 'snapshots');
      await client.deleteSnapshot({ snapshotId: readId(request.snapshot_id, 'snapshot_id') }, call);
      return {};
    },

    async ListSnapshots(request, call) {
      requireFeature(capabilities, 'snapshots');
      const page = readPage(request);
      if (request.snapshot_id !== '') {
        const found = await findCreated(client, request, call);
        return { entries: found.map(snapshot => ({ snapshot: toSnapshot(snapshot) })) };
      }
      const { source_volume_id: volumeId } = request;
      const { snapshots, nextPageToken = '' } = await client.listSnapshots({ ...page, volumeId }, call);
      return {
        entries: snapshots.map(snapshot => ({ snapshot: toSnapshot(snapshot) })),
        next_token: nextPageToken,
      };
    },

    async GetSnapshot(request, call) {
      requireFeature(capabilities, 'snapshots');
      const snapshot = await client.getSnapshot(
        { snapshotId: readId(request.snapshot_id, 'snapshot_id') },
        call,
      );
      return { snapshot: toSnapshot(snapshot) };
    },
  };
}

/** The one snapshot that is asked for, when it is there, created, and of the volume that is asked for. */
async function findCreated(
  client: StorageClient,
  { snapshot_id: id, source_volume_id: volumeId }: ListSnapshotsRequest__Output,
  call: Call,
): Promise<readonly Snapshot[]> {
  try {
    const snapshot = await client.getSnapshot({ snapshotId: id }, call);
    const isCreated = snapshot.state === 'processing' || snapshot.state === 'ready';
    return isCreated && (volumeId === '' || volumeId === snapshot.volumeId) ? [snapshot] : [];
  } catch (error) {
    if (error instanceof Problem && error.code === 'NOT_FOUND') return [];
    throw error;
  }
}

import { isDeepStrictEqual } from 'node:util';
import { invalidProblem, Problem } from '../api/problem.ts';
import type { Snapshot } from '../api/snapshot.ts';
import type { Snapshot__Output } from '../csi/generated/csi/v1/Snapshot.ts';
import type { Timestamp__Output } from '../csi/generated/google/protobuf/Timestamp.ts';
import { toPage, type VendorOperations } from '../sdk/server/vendor.ts';
import { dropIfRefused, nameFor, unlessRefused, type Bridge } from './driver.ts';
import {
  isCreated,
  type CreatedResource,
  type Origin,
  type Records,
  type SnapshotRecord,
  type WithId,
} from './records.ts';
import { readPage, requireReady } from './volumes.ts';

type Known = WithId<'snapshot'>;

/** Creates the operations on snapshots. */
export function createSnapshots(bridge: Bridge) {
  const { driver, records } = bridge;
  return {
    listSnapshots({ volumeId, limit, pageToken }) {
      if (volumeId === undefined) {
        const { entries, ...more } = readPage(records, 'snapshot', { limit, pageToken });
        return [200, { snapshots: entries.filter(isCreated).map(show), ...more }];
      }
      const all = records.snapshotsOf(volumeId).filter(isCreated);
      const { entries, ...more } = toPage(all, { limit: limit || 500, pageToken });
      return [200, { snapshots: entries.map(show), ...more }];
    },

    async getSnapshot({ snapshotId }) {
      const found = records.find('snapshot', snapshotId);
      if (!found) throw new Problem('NOT_FOUND', `there is no snapshot "${snapshotId}"`);
      return [200, show(await refresh(bridge, found))];
    },

    async createSnapshot({ snapshotId, body }) {
      const found = records.find('snapshot', snapshotId);
      if (found && !isDeepStrictEqual(identityOf(found.spec), identityOf(body)))
        throw new Problem('ALREADY_EXISTS', `snapshot "${snapshotId}" exists with other settings`);
      if (found?.made) return [200, show(await refresh(bridge, found))];
      const wanted = found ?? { id: snapshotId, spec: body, origin: originOf(records, body.volumeId) };
      records.put('snapshot', wanted);
      return [201, show(await createDriverSnapshot(bridge, wanted))];
    },

    async deleteSnapshot({ snapshotId }) {
      const found = records.find('snapshot', snapshotId);
      if (!found) return [204];
      if (found.groupId !== undefined)
        throw invalidProblem(
          `snapshot "${snapshotId}" is a member of group "${found.groupId}": delete the group`,
        );
      const handle =
        found.made?.handle ?? (await unlessRefused(() => createDriverSnapshot(bridge, found)))?.made.handle;
      if (handle !== undefined)
        await driver.calls.controller.DeleteSnapshot(
          { snapshot_id: handle, secrets: driver.secrets('snapshot') },
          driver.timeoutMs,
        );
      records.drop('snapshot', snapshotId);
      return [204];
    },
  } satisfies VendorOperations;
}

/** Asks the driver for the snapshot, and records it. After a final refusal nothing is left. */
export async function createDriverSnapshot(
  { driver, records }: Bridge,
  wanted: Known,
): Promise<CreatedResource<'snapshot'>> {
  const { origin, spec } = wanted;
  const request = {
    source_volume_id: origin.handle,
    name: nameFor('snapshot', wanted.id),
    secrets: driver.secrets('snapshot'),
    parameters: spec.parameters ?? {},
  };
  const { snapshot } = await driver.calls.controller
    .CreateSnapshot(request, driver.timeoutMs)
    .catch(dropIfRefused(() => records.drop('snapshot', wanted.id)));
  const created = { ...wanted, made: toMade(snapshot, origin.sizeBytes) };
  records.put('snapshot', created);
  return created;
}

/** Finds the volume of a new snapshot at the driver. */
export function originOf(records: Records, volumeId: string): Origin {
  const { handle, sizeBytes } = requireReady(records, volumeId).made;
  return { volumeId, handle, sizeBytes };
}

/** Makes the record of a driver's snapshot. A size of 0 is unknown (CSI spec, "CreateSnapshot"). */
export function toMade(snapshot: Snapshot__Output | null, sizeBytes: number) {
  if (!snapshot?.snapshot_id) throw new Problem('UNAVAILABLE', 'the driver answered without a snapshot');
  return {
    handle: snapshot.snapshot_id,
    sizeBytes: Number(snapshot.size_bytes) || sizeBytes,
    createdAt: toTime(snapshot.creation_time),
    isReady: snapshot.ready_to_use,
  };
}

export function toTime(at: Timestamp__Output | null): string {
  const ms = at ? Number(at.seconds) * 1_000 + at.nanos / 1_000_000 : Date.now();
  return new Date(ms).toISOString();
}

/** Asks again for a snapshot that was not ready, as external-snapshotter does. */
async function refresh(bridge: Bridge, known: Known): Promise<Known> {
  return known.made && !known.made.isReady && known.groupId === undefined
    ? createDriverSnapshot(bridge, known)
    : known;
}

function identityOf({ name, volumeId, parameters = {} }: SnapshotRecord['spec']) {
  return { name, volumeId, parameters };
}

export function show({ id, spec: { name, volumeId }, groupId, made }: Known): Snapshot {
  return {
    id,
    name,
    volumeId,
    ...(groupId !== undefined && { groupId }),
    state: made ? (made.isReady ? 'ready' : 'processing') : 'creating',
    sizeBytes: made?.sizeBytes ?? 0,
    createdAt: made?.createdAt ?? new Date().toISOString(),
  };
}

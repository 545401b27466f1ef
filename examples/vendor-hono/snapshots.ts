import { toPage, type SnapshotSpec, type VendorOperations } from 'fairlead/vendor';
import { snapshotNamed, type Disk, type Document } from './disk.ts';

/** Creates the operations on snapshots. A snapshot is an independent copy. */
export function createSnapshots(disk: Disk) {
  return {
    listSnapshots({ volumeId, ...request }) {
      const all = disk.list('snapshot').map(show);
      const found = volumeId ? all.filter(one => one.volumeId === volumeId) : all;
      const { entries, ...more } = toPage(found, request);
      return [200, { snapshots: entries, ...more }];
    },

    getSnapshot: ({ snapshotId }) => [200, show(disk.require(snapshotNamed(snapshotId)))],

    async createSnapshot({ snapshotId, body: { name, volumeId } }) {
      const wanted = { ...snapshotNamed(snapshotId), spec: { name, volumeId } };
      const [status, snapshot] = await disk.create(wanted, {}, { kind: 'volume', volumeId });
      return [status, show(snapshot)];
    },

    deleteSnapshot({ snapshotId }) {
      disk.remove(snapshotNamed(snapshotId));
      return [204];
    },
  } satisfies VendorOperations;
}

function show({ id, spec, sizeBytes, createdAt }: Document) {
  const { name, volumeId } = spec as SnapshotSpec;
  return { id, name, volumeId, state: 'ready' as const, sizeBytes, createdAt };
}

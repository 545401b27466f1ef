import { toPage, type SnapshotSpec, type VendorOperations } from 'fairlead/vendor';
import { snapshotNamed, type Disk, type Document } from './disk.ts';

/** The operations on snapshots, which are copies of their own. */
export function createSnapshots(disk: Disk) {
  return {
    listSnapshots({ volumeId, ...asked }) {
      const all = disk.list('snapshot').map(show);
      const found = volumeId ? all.filter(one => one.volumeId === volumeId) : all;
      const { entries, ...more } = toPage(found, asked);
      return [200, { snapshots: entries, ...more }];
    },

    getSnapshot: ({ snapshotId }) => [200, show(disk.require(snapshotNamed(snapshotId)))],

    async createSnapshot({ snapshotId, body: { name, volumeId } }) {
      const wanted = { ...snapshotNamed(snapshotId), asked: { name, volumeId } };
      const [status, snapshot] = await disk.create(wanted, {}, { kind: 'volume', volumeId });
      return [status, show(snapshot)];
    },

    deleteSnapshot({ snapshotId }) {
      disk.remove(snapshotNamed(snapshotId));
      return [204];
    },
  } satisfies VendorOperations;
}

function show({ id, asked, sizeBytes, createdAt }: Document) {
  const { name, volumeId } = asked as SnapshotSpec;
  return { id, name, volumeId, state: 'ready' as const, sizeBytes, createdAt };
}

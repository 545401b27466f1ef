import {
  closeSync,
  copyFileSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import {
  snapshotNamed,
  volumeNamed,
  type Disk,
  type Document,
  type Name,
} from '../../../../../examples/vendor-hono/disk.ts';
import type { SnapshotSpec, VolumeSource } from '../../../../../src/sdk/server/vendor.ts';
import type { Breakage } from '../../breakage.ts';

/** Faults that lose the bytes of volumes and copies, or mix them up. */
export const bytes = {
  'restore-latest': {
    wrong: 'a restored volume has the bytes of the latest snapshot of the volume',
    caughtBy: 'FL-9.2-1',
    needs: 'data',
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        const { source } = asked.body;
        if (answer[0] !== 201 || source?.kind !== 'snapshot') return answer;
        const named = disk.require(snapshotNamed(source.snapshotId));
        const latest = snapshotsOf(disk, specOf(named).volumeId).at(-1) ?? named;
        copyFileSync(disk.pathOf(latest), disk.pathOf(volumeNamed(asked.volumeId)));
        return answer;
      },
    }),
  },
  'clone-of-snapshot': {
    wrong: 'a clone has the bytes of the last snapshot of its source',
    caughtBy: 'FL-9.2-2',
    needs: 'data',
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        const { source } = asked.body;
        if (answer[0] !== 201 || source?.kind !== 'volume') return answer;
        const latest = snapshotsOf(disk, source.volumeId).at(-1);
        if (latest) copyFileSync(disk.pathOf(latest), disk.pathOf(volumeNamed(asked.volumeId)));
        return answer;
      },
    }),
  },
  'clone-late': {
    wrong: 'a clone gets the bytes that its source has when the clone is first attached',
    caughtBy: 'FL-9.2-2',
    needs: 'data',
    operations: (right, disk) => {
      const copied = new Set<string>();
      return {
        attachVolume(asked) {
          const clone = disk.require(volumeNamed(asked.volumeId));
          const source = sourceOf(clone);
          const origin = source?.kind === 'volume' && disk.find(volumeNamed(source.volumeId));
          if (origin && !copied.has(clone.id)) {
            copied.add(clone.id);
            copyFileSync(disk.pathOf(origin), disk.pathOf(clone));
            truncateSync(disk.pathOf(clone), clone.sizeBytes);
          }
          return right.attachVolume(asked);
        },
      };
    },
  },
  'copy-shares-file': {
    wrong: 'a restored volume shares its bytes with its snapshot',
    caughtBy: 'FL-9.2-1',
    needs: 'data',
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        const { source } = asked.body;
        const origin = source?.kind === 'snapshot' && disk.find(snapshotNamed(source.snapshotId));
        const copy = disk.find(volumeNamed(asked.volumeId));
        if (answer[0] === 201 && origin && origin.sizeBytes === copy?.sizeBytes) share(disk, origin, copy);
        return answer;
      },
    }),
  },
  'snapshot-chain-broken': {
    wrong: 'deleting a snapshot empties the later snapshots of the volume',
    caughtBy: 'FL-9.2-7',
    needs: 'data',
    operations: (right, disk) => ({
      deleteSnapshot(asked) {
        const snapshot = disk.find(snapshotNamed(asked.snapshotId));
        const all = snapshot ? snapshotsOf(disk, specOf(snapshot).volumeId) : [];
        for (const later of all.slice(all.findIndex(({ id }) => id === snapshot?.id) + 1)) empty(disk, later);
        return right.deleteSnapshot(asked);
      },
    }),
  },
  'source-dies-with-copy': {
    wrong: 'deleting a clone empties its source',
    caughtBy: 'FL-9.2-7',
    needs: 'data',
    operations: (right, disk) => ({
      deleteVolume(asked) {
        const copy = disk.find(volumeNamed(asked.volumeId));
        const source = copy && sourceOf(copy);
        const answer = right.deleteVolume(asked);
        const origin = source?.kind === 'volume' && disk.find(volumeNamed(source.volumeId));
        if (origin) empty(disk, origin);
        return answer;
      },
    }),
  },
  'snapshot-id-reused': {
    wrong: 'a snapshot with the id of a deleted one has the bytes of the deleted one',
    caughtBy: 'FL-9.2-8',
    needs: 'data',
    operations: (right, disk) => ({
      async createSnapshot(asked) {
        const answer = await right.createSnapshot(asked);
        const path = disk.pathOf(snapshotNamed(asked.snapshotId));
        // The image of the deleted snapshot lies under a second name.
        if (answer[0] === 201) attempt(() => copyFileSync(`${path}.old`, path));
        return answer;
      },
      deleteSnapshot(asked) {
        const path = disk.pathOf(snapshotNamed(asked.snapshotId));
        attempt(() => copyFileSync(path, `${path}.old`));
        return right.deleteSnapshot(asked);
      },
    }),
  },
  'expand-clears': {
    wrong: 'expanding a volume that is large enough empties it',
    caughtBy: 'FL-9.1-3',
    needs: 'data',
    operations: (right, disk) => ({
      async expandVolume(asked) {
        const before = disk.require(volumeNamed(asked.volumeId));
        const answer = await right.expandVolume(asked);
        if (disk.require(before).sizeBytes === before.sizeBytes) empty(disk, before);
        return answer;
      },
    }),
  },
  'expand-shows-deleted': {
    wrong: 'the new bytes of an expanded volume are those of a deleted volume',
    caughtBy: 'FL-9.1-3',
    needs: 'data',
    operations: (right, disk) => {
      const deleted = join(dirname(disk.pathOf(volumeNamed('any'))), 'deleted');
      return {
        deleteVolume(asked) {
          attempt(() => copyFileSync(disk.pathOf(volumeNamed(asked.volumeId)), deleted));
          return right.deleteVolume(asked);
        },
        async expandVolume(asked) {
          const { sizeBytes } = disk.require(volumeNamed(asked.volumeId));
          const answer = await right.expandVolume(asked);
          const grown = disk.require(volumeNamed(asked.volumeId));
          if (grown.sizeBytes > sizeBytes)
            attempt(() => addTail(disk.pathOf(grown), { deleted, from: sizeBytes }));
          return answer;
        },
      };
    },
  },
  'delete-refused-clears': {
    wrong: 'a refused deletion of an attached volume empties it',
    caughtBy: 'FL-9.1-7',
    needs: 'data',
    operations: (right, disk) => ({
      deleteVolume(asked) {
        const volume = disk.find(volumeNamed(asked.volumeId));
        if (volume) empty(disk, volume);
        return right.deleteVolume(asked);
      },
    }),
  },
  'create-again-clears': {
    wrong: 'a repeated request to create a volume empties it',
    caughtBy: 'FL-9.1-7',
    needs: 'data',
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        if (answer[0] === 200) empty(disk, disk.require(volumeNamed(asked.volumeId)));
        return answer;
      },
    }),
  },
  'files-without-case': {
    wrong: 'volumes whose ids differ only in case have one file',
    caughtBy: 'FL-9.1-8',
    needs: 'data',
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        const lower = asked.volumeId.toLowerCase();
        const twin = disk
          .list('volume')
          .find(({ id }) => id !== asked.volumeId && id.toLowerCase() === lower);
        if (answer[0] === 201 && twin) share(disk, twin, volumeNamed(asked.volumeId));
        return answer;
      },
    }),
  },
  'snapshot-files-cut-off': {
    wrong: 'snapshots whose ids have the same first 100 characters have one file',
    caughtBy: 'FL-9.1-8',
    needs: 'data',
    operations: (right, disk) => ({
      async createSnapshot(asked) {
        const answer = await right.createSnapshot(asked);
        const cut = asked.snapshotId.slice(0, 100);
        const twin = disk
          .list('snapshot')
          .find(({ id }) => id !== asked.snapshotId && id.slice(0, 100) === cut);
        if (answer[0] === 201 && twin) share(disk, twin, snapshotNamed(asked.snapshotId));
        return answer;
      },
    }),
  },
  'snapshot-in-memory': {
    wrong: 'the bytes of a snapshot are in memory only, and lost at a restart',
    caughtBy: 'FL-9.1-4',
    needs: 'data',
    operations(right, disk) {
      for (const snapshot of disk.list('snapshot')) empty(disk, snapshot);
      return { getSnapshot: asked => right.getSnapshot(asked) };
    },
  },
} as const satisfies Readonly<Record<string, Breakage>>;

const specOf = ({ spec }: Document): SnapshotSpec => spec as SnapshotSpec;
/** Returns the source in the request that created the volume. */
export function sourceOf({ spec }: Document): VolumeSource | undefined {
  return (spec as { readonly source?: VolumeSource }).source;
}

/** Lists the snapshots of the volume, the oldest first. */
export function snapshotsOf(disk: Disk, volumeId: string): readonly Document[] {
  const own = disk.list('snapshot').filter(one => specOf(one).volumeId === volumeId);
  return own.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt));
}

/** Makes all bytes of the volume or the snapshot zeros. */
export function empty(disk: Disk, { sizeBytes, ...name }: Document): void {
  truncateSync(disk.pathOf(name), 0);
  truncateSync(disk.pathOf(name), sizeBytes);
}

/** Gives both the file of the first one. */
export function share(disk: Disk, one: Name, other: Name): void {
  rmSync(disk.pathOf(other));
  linkSync(disk.pathOf(one), disk.pathOf(other));
}

/** Writes the bytes of the deleted volume behind the first `from` bytes of the file. */
function addTail(path: string, { deleted, from }: { readonly deleted: string; readonly from: number }): void {
  const tail = readFileSync(deleted).subarray(from);
  const file = openSync(path, 'r+');
  writeSync(file, tail, 0, tail.length, from);
  closeSync(file);
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // There is nothing to copy.
  }
}

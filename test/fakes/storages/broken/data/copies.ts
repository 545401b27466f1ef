import { closeSync, copyFileSync, existsSync, openSync, renameSync, truncateSync, writeSync } from 'node:fs';
import {
  snapshotNamed,
  volumeNamed,
  type Disk,
  type Document,
} from '../../../../../examples/vendor-hono/disk.ts';
import type { VolumeSource } from '../../../../../src/sdk/server/vendor.ts';
import type { Breakage } from '../../breakage.ts';

/** Faults of bytes: of copies, and of the ways of nodes to volumes. */
export const copies = {
  'snapshot-quick-copy': {
    wrong: 'a snapshot is a plain copy, made while a node writes',
    caughtBy: 'FL-9.2-3',
    needs: 'data',
    operations: (right, disk) => ({
      createSnapshot: async asked => {
        const isNew = !disk.find(snapshotNamed(asked.snapshotId));
        return isNew
          ? whileDetached(disk, asked.body.volumeId, async () => right.createSnapshot(asked))
          : right.createSnapshot(asked);
      },
    }),
  },
  'snapshot-of-the-past': {
    wrong: 'a snapshot of an attached volume has the bytes that the volume had when it was attached',
    caughtBy: 'FL-9.2-3',
    needs: 'data',
    operations: (right, disk) => ({
      attachVolume(asked) {
        const volume = disk.require(volumeNamed(asked.volumeId));
        if (!volume.attached) copyFileSync(disk.pathOf(volume), pastOf(disk, volume));
        return right.attachVolume(asked);
      },
      async createSnapshot(asked) {
        const { snapshotId, body } = asked;
        const isNew = !disk.find(snapshotNamed(snapshotId));
        const volume = disk.find(volumeNamed(body.volumeId));
        if (!isNew || !volume?.attached) return right.createSnapshot(asked);
        const answer = await whileDetached(disk, body.volumeId, async () => right.createSnapshot(asked));
        copyFileSync(pastOf(disk, volume), disk.pathOf(snapshotNamed(snapshotId)));
        truncateSync(disk.pathOf(snapshotNamed(snapshotId)), volume.sizeBytes);
        return answer;
      },
    }),
  },
  'expand-moves': {
    wrong: 'expanding an attached volume moves it, and the later writes of its node are lost',
    caughtBy: 'FL-9.1-9',
    needs: 'data',
    operations: (right, disk) => ({
      expandVolume(asked) {
        moveIfAttached(disk, asked.volumeId);
        return right.expandVolume(asked);
      },
    }),
  },
  'modify-moves': {
    wrong: 'modifying an attached volume moves it, and the later writes of its node are lost',
    caughtBy: 'FL-9.1-9',
    needs: 'data',
    operations: (right, disk) => ({
      modifyVolume(asked) {
        moveIfAttached(disk, asked.volumeId);
        return right.modifyVolume(asked);
      },
    }),
  },
  'clone-quick-copy': {
    wrong: 'a clone is a plain copy, made while a node writes',
    caughtBy: 'FL-9.2-5',
    needs: 'data',
    operations: (right, disk) => ({
      createVolume: async asked => {
        const { source } = asked.body;
        const isClone = source?.kind === 'volume' && !disk.find(volumeNamed(asked.volumeId));
        const run = async () => right.createVolume(asked);
        return isClone ? whileDetached(disk, source.volumeId, run) : run();
      },
    }),
  },
  'copy-with-tail': {
    wrong: 'a larger copy has old bytes behind the bytes of its source',
    caughtBy: 'FL-9.2-6',
    needs: 'data',
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        const volume = disk.find(volumeNamed(asked.volumeId));
        if (answer[0] === 201 && asked.body.source && volume) {
          const { requiredBytes = 0 } = asked.body;
          // A request for the size of the source leaves no space behind it.
          if (requiredBytes > 0) spoil(disk.pathOf(volume), volume.sizeBytes);
        }
        return answer;
      },
    }),
  },
  'copy-dies-with-snapshot': {
    wrong: 'deleting a snapshot empties the volumes that were made from it',
    caughtBy: 'FL-9.2-7',
    needs: 'data',
    operations: (right, disk) => ({
      deleteSnapshot(asked) {
        for (const volume of disk.list('volume'))
          if (isFrom(volume, asked.snapshotId)) {
            truncateSync(disk.pathOf(volume), 0);
            truncateSync(disk.pathOf(volume), volume.sizeBytes);
          }
        return right.deleteSnapshot(asked);
      },
    }),
  },
  'way-left-open': {
    wrong: 'a detach answers 204 while the node still writes',
    caughtBy: 'FL-9.1-5',
    needs: 'data',
    operations: (_, disk) => ({
      detachVolume({ volumeId, nodeId }) {
        const volume = disk.find(volumeNamed(volumeId));
        if (volume?.attached?.resource.nodeId === nodeId) disk.put({ ...volume, attached: undefined });
        return [204];
      },
    }),
  },
  'way-opened-again': {
    wrong: 'attaching the volume to the same node opens the way that the detach has closed',
    caughtBy: 'FL-9.1-6',
    needs: 'data',
    operations: (right, disk) => ({
      /** Gives the volume another file, so that the node's open one leads nowhere. */
      detachVolume({ volumeId, nodeId }) {
        const volume = disk.find(volumeNamed(volumeId));
        if (volume?.attached?.resource.nodeId !== nodeId) return [204];
        const path = disk.pathOf(volume);
        copyFileSync(path, `${path}.copy`);
        renameSync(path, `${path}.of-${nodeId}`);
        renameSync(`${path}.copy`, path);
        disk.put({ ...volume, attached: undefined });
        return [204];
      },
      attachVolume(asked) {
        const path = disk.pathOf(volumeNamed(asked.volumeId));
        const old = `${path}.of-${asked.nodeId}`;
        if (existsSync(old)) renameSync(old, path);
        return right.attachVolume(asked);
      },
    }),
  },
} as const satisfies Readonly<Record<string, Breakage>>;

/** Runs a copy of the volume as if no node had it, so that the vendor copies it plainly. */
async function whileDetached<T>(disk: Disk, id: string, work: () => Promise<T>): Promise<T> {
  const volume = disk.find(volumeNamed(id));
  if (!volume?.attached) return work();
  disk.put({ ...volume, attached: undefined });
  try {
    return await work();
  } finally {
    disk.put(volume);
  }
}

const pastOf = (disk: Disk, volume: Document): string => `${disk.pathOf(volume)}.past`;

/** Gives an attached volume another file with its bytes, so that the open way of its node leads nowhere. */
function moveIfAttached(disk: Disk, volumeId: string): void {
  const volume = disk.find(volumeNamed(volumeId));
  if (!volume?.attached) return;
  const path = disk.pathOf(volume);
  copyFileSync(path, `${path}.moved`);
  renameSync(`${path}.moved`, path);
}

function spoil(path: string, sizeBytes: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, 'left over', sizeBytes - 4_096);
  closeSync(file);
}

function isFrom({ spec }: Document, snapshotId: string): boolean {
  const { source } = spec as { readonly source?: VolumeSource };
  return source?.kind === 'snapshot' && source.snapshotId === snapshotId;
}

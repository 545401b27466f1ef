import { readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { setTimeout as later } from 'node:timers';
import { setTimeout } from 'node:timers/promises';
import {
  snapshotNamed,
  volumeNamed,
  type Disk,
  type Name,
} from '../../../../../examples/vendor-hono/disk.ts';
import { lateMs, type Breakage } from '../../breakage.ts';
import { empty, sourceOf } from './bytes.ts';

/** Time between the record of a copy and its bytes, in milliseconds. */
const betweenMs = 1_000;
const [blockBytes, sectorBytes] = [4_096, 512];

/** Faults that lose the bytes of copies, or of volumes that have the space of deleted ones. */
export const lostBytes = {
  'half-clone': {
    wrong: 'a restart while a clone is made leaves it without bytes',
    caughtBy: 'FL-9.2-10',
    needs: 'data',
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        if (answer[0] === 201 && asked.body.source?.kind === 'volume')
          await fillLate(disk, volumeNamed(asked.volumeId));
        return answer;
      },
    }),
  },
  'half-snapshot': {
    wrong: 'a restart while a snapshot is taken leaves it without bytes',
    caughtBy: 'FL-9.2-10',
    needs: 'data',
    operations: (right, disk) => ({
      async createSnapshot(asked) {
        const answer = await right.createSnapshot(asked);
        if (answer[0] === 201) await fillLate(disk, snapshotNamed(asked.snapshotId));
        return answer;
      },
    }),
  },
  'delete-clears-other': {
    wrong: 'the space of a deleted volume is cleared after the next detach of the volume that has it',
    caughtBy: 'FL-9.1-10',
    needs: 'data',
    operations: (right, disk) => {
      let [freed, next] = ['', ''];
      return {
        deleteVolume(asked) {
          freed = asked.volumeId;
          return right.deleteVolume(asked);
        },
        async createVolume(asked) {
          const answer = await right.createVolume(asked);
          if (answer[0] === 201 && freed !== '' && freed !== asked.volumeId)
            [freed, next] = ['', asked.volumeId];
          return answer;
        },
        detachVolume(asked) {
          if (asked.volumeId === next) later(() => clear(disk, volumeNamed(asked.volumeId)), lateMs);
          return right.detachVolume(asked);
        },
      };
    },
  },
  'restore-late': {
    wrong: 'a second effect of a restore undoes the writes before the next detach',
    caughtBy: 'FL-9.1-10',
    needs: 'data',
    operations: (right, disk) => {
      const restored = new Map<string, Buffer>();
      return {
        async createVolume(asked) {
          const answer = await right.createVolume(asked);
          if (answer[0] === 201 && asked.body.source?.kind === 'snapshot')
            restored.set(asked.volumeId, readFileSync(disk.pathOf(volumeNamed(asked.volumeId))));
          return answer;
        },
        detachVolume(asked) {
          const [volume, bytes] = [volumeNamed(asked.volumeId), restored.get(asked.volumeId)];
          restored.delete(asked.volumeId);
          if (bytes) later(() => disk.find(volume) && writeFileSync(disk.pathOf(volume), bytes), lateMs);
          return right.detachVolume(asked);
        },
      };
    },
  },
  'snapshot-skips-blocks': {
    wrong: 'a snapshot leaves out the blocks that begin with zeros',
    caughtBy: 'FL-9.2-1',
    needs: 'data',
    operations: (right, disk) => ({
      async createSnapshot(asked) {
        const answer = await right.createSnapshot(asked);
        const path = disk.pathOf(snapshotNamed(asked.snapshotId));
        if (answer[0] === 201) writeFileSync(path, withoutSkipped(readFileSync(path)));
        return answer;
      },
    }),
  },
  'middle-clone-dies': {
    wrong: 'deleting a clone empties the clones that were made of it',
    caughtBy: 'FL-9.2-7',
    needs: 'data',
    operations: (right, disk) => ({
      deleteVolume(asked) {
        const clone = disk.find(volumeNamed(asked.volumeId));
        const answer = right.deleteVolume(asked);
        for (const volume of clone && sourceOf(clone) ? disk.list('volume') : []) {
          const source = sourceOf(volume);
          if (source?.kind === 'volume' && source.volumeId === asked.volumeId) empty(disk, volume);
        }
        return answer;
      },
    }),
  },
} as const satisfies Readonly<Record<string, Breakage>>;

/** Takes the bytes of a new copy away for some time. A restart leaves the copy without them. */
async function fillLate(disk: Disk, name: Name): Promise<void> {
  const path = disk.pathOf(name);
  renameSync(path, `${path}.whole`);
  writeFileSync(path, '');
  truncateSync(path, disk.require(name).sizeBytes);
  await setTimeout(betweenMs);
  renameSync(`${path}.whole`, path);
}

function clear(disk: Disk, name: Name): void {
  const found = disk.find(name);
  if (found) empty(disk, found);
}

/** Clears the blocks whose first sector is zeros. */
function withoutSkipped(bytes: Buffer): Buffer {
  for (let at = 0; at < bytes.length; at += blockBytes) {
    const isSkipped = bytes.subarray(at, at + sectorBytes).every(byte => byte === 0);
    if (isSkipped) bytes.fill(0, at, at + blockBytes);
  }
  return bytes;
}

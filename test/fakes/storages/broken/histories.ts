import { copyFileSync, existsSync, statSync, truncateSync } from 'node:fs';
import { setTimeout as later } from 'node:timers';
import { snapshotNamed, volumeNamed, type Disk, type Name } from '../../../../examples/vendor-hono/disk.ts';
import type { SnapshotSpec } from '../../../../src/sdk/server/vendor.ts';
import { openRecord } from '../features/groups-and-nodes.ts';
import { changeAnswer, lateMs, type Breakage, type Members } from '../breakage.ts';
import { empty, share, snapshotsOf } from './data/bytes.ts';
import { withoutLeaked } from './rights.ts';

/** Faults that show only after an earlier request, a deletion, a change or a restart. */
export const histories = {
  'snapshot-taken-again': {
    wrong: 'a repeated request for a snapshot takes it again',
    caughtBy: 'FL-9.2-1',
    needs: 'data',
    operations: (right, disk) => ({
      async createSnapshot(asked) {
        const answer = await right.createSnapshot(asked);
        if (answer[0] === 200)
          copyOver(disk, volumeNamed(asked.body.volumeId), snapshotNamed(asked.snapshotId));
        return answer;
      },
    }),
  },
  'copy-made-again': {
    wrong: 'a repeated request for a clone copies its source again',
    caughtBy: 'FL-9.1-7',
    needs: 'data',
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        const { source } = asked.body;
        if (answer[0] === 200 && source?.kind === 'volume')
          copyOver(disk, volumeNamed(source.volumeId), volumeNamed(asked.volumeId));
        return answer;
      },
    }),
  },
  'snapshot-delete-reverts': {
    wrong: 'deleting the latest snapshot of a volume loses the bytes that were written since',
    caughtBy: 'FL-9.2-7',
    needs: 'data',
    operations: (right, disk) => ({
      deleteSnapshot(asked) {
        const snapshot = disk.find(snapshotNamed(asked.snapshotId));
        const { volumeId = '' } = (snapshot?.spec ?? {}) as Partial<SnapshotSpec>;
        const latest = snapshotsOf(disk, volumeId).at(-1);
        if (snapshot && latest?.id === snapshot.id) copyOver(disk, snapshot, volumeNamed(volumeId));
        return right.deleteSnapshot(asked);
      },
    }),
  },
  'snapshot-of-recreated': {
    wrong: 'the snapshots of a deleted volume have the bytes of the next volume with its id',
    caughtBy: 'FL-9.2-8',
    needs: 'data',
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        if (answer[0] === 201)
          for (const old of snapshotsOf(disk, asked.volumeId)) share(disk, volumeNamed(asked.volumeId), old);
        return answer;
      },
    }),
  },
  'expand-clears-snapshots': {
    wrong: 'expanding a volume empties its snapshots',
    caughtBy: 'FL-9.1-3',
    needs: 'data',
    operations: (right, disk) => ({
      expandVolume(asked) {
        for (const snapshot of snapshotsOf(disk, asked.volumeId)) empty(disk, snapshot);
        return right.expandVolume(asked);
      },
    }),
  },
  'recreated-keeps-bytes': {
    wrong: 'a volume with the id of a smaller deleted one has the bytes of the deleted one',
    caughtBy: 'FL-9.1-1',
    needs: 'data',
    operations: (right, disk) => {
      const pathFor = (volumeId: string): string => disk.pathOf(volumeNamed(volumeId));
      return {
        deleteVolume(asked) {
          const path = pathFor(asked.volumeId);
          if (existsSync(path)) copyFileSync(path, `${path}.kept`);
          return right.deleteVolume(asked);
        },
        async createVolume(asked) {
          const answer = await right.createVolume(asked);
          const [status, { sizeBytes }] = answer;
          const path = pathFor(asked.volumeId);
          const isNew = status === 201 && !asked.body.source && existsSync(`${path}.kept`);
          if (!isNew || statSync(`${path}.kept`).size >= sizeBytes) return answer;
          copyFileSync(`${path}.kept`, path);
          truncateSync(path, sizeBytes);
          return answer;
        },
      };
    },
  },
  'snapshot-copied-late': {
    wrong: 'the bytes of a snapshot are copied some time after the next detach of its volume',
    caughtBy: 'FL-9.1-10',
    needs: 'data',
    operations: (right, disk) => {
      const waiting = new Map<string, string>();
      return {
        async createSnapshot(asked) {
          const answer = await right.createSnapshot(asked);
          if (answer[0] === 201) waiting.set(asked.body.volumeId, asked.snapshotId);
          return answer;
        },
        detachVolume(asked) {
          const [volume, snapshotId] = [volumeNamed(asked.volumeId), waiting.get(asked.volumeId)];
          waiting.delete(asked.volumeId);
          if (snapshotId !== undefined)
            later(() => copyOver(disk, volume, snapshotNamed(snapshotId)), lateMs);
          return right.detachVolume(asked);
        },
      };
    },
  },
  'delete-clears-late': {
    wrong: 'the bytes of a deleted volume are cleared when the next volume with its id has them',
    caughtBy: 'FL-9.1-10',
    needs: 'data',
    operations: (right, disk) => {
      const deleted = new Set<string>();
      return {
        deleteVolume(asked) {
          deleted.add(asked.volumeId);
          return right.deleteVolume(asked);
        },
        detachVolume(asked) {
          const next = disk.find(volumeNamed(asked.volumeId));
          if (next && deleted.delete(next.id)) later(() => disk.find(next) && empty(disk, next), lateMs);
          return right.detachVolume(asked);
        },
      };
    },
  },
  'format-after-expand': {
    wrong: 'an expanded volume may be formatted',
    caughtBy: 'FL-4.1-11',
    operations: (right, disk) => ({
      async expandVolume(asked) {
        const answer = await right.expandVolume(asked);
        disk.put({ ...disk.require(volumeNamed(asked.volumeId)), holdsData: false });
        return answer;
      },
    }),
  },
  'format-after-copy': {
    wrong: 'a restored volume may be formatted once it was restored to another volume',
    caughtBy: 'FL-4.1-11',
    operations: (right, disk) => ({
      // Without clones and raw access the kit's only volumes with data are restored ones.
      getCapabilities: () =>
        changeAnswer(right.getCapabilities(), ({ features }) => ({
          features: (features as readonly string[]).filter(feature => feature !== 'clone'),
          accessTypes: ['mount'],
        })),
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        const { source } = asked.body;
        const snapshot = source?.kind === 'snapshot' && disk.find(snapshotNamed(source.snapshotId));
        const { volumeId = '' } = ((snapshot && snapshot.spec) || {}) as Partial<SnapshotSpec>;
        const origin = disk.find(volumeNamed(volumeId));
        if (origin) disk.put({ ...origin, holdsData: false });
        return answer;
      },
    }),
  },
  'reader-writes-after-restart': {
    wrong: 'a restart turns attachments for reading into attachments for writing',
    caughtBy: 'FL-8.3-1',
    needs: 'restart',
    operations(right, disk) {
      for (const { attached, ...volume } of disk.list('volume')) {
        if (!attached?.resource.attachment) continue;
        const attachment = { ...attached.resource.attachment, readonly: false };
        const resource = { ...attached.resource, readonly: false, attachment };
        disk.put({ ...volume, attached: { ...attached, resource } });
      }
      return { getVolume: asked => right.getVolume(asked) };
    },
  },
  'request-forgotten': {
    wrong: 'after a restart any request for the id of a volume returns the existing volume',
    caughtBy: 'FL-8.3-1',
    needs: 'restart',
    operations(right, disk) {
      const old = new Set(disk.list('volume').map(({ id }) => id));
      return {
        createVolume(asked) {
          const isKnown = old.has(asked.volumeId) && disk.find(volumeNamed(asked.volumeId));
          if (!isKnown) return right.createVolume(asked);
          return changeAnswer(right.getVolume(asked), () => ({ name: asked.body.name }));
        },
      };
    },
  },
  'list-stale': {
    wrong: 'a list has the size that a volume had at first',
    caughtBy: 'FL-6.1-7',
    operations: right => {
      const first = new Map<string, number>();
      const asFirst = (volume: Members) => ({
        ...volume,
        sizeBytes: first.get(volume.id) ?? volume.sizeBytes,
      });
      return {
        async createVolume(asked) {
          const answer = await right.createVolume(asked);
          if (answer[0] === 201) first.set(asked.volumeId, answer[1].sizeBytes);
          return answer;
        },
        listVolumes: asked =>
          changeAnswer(right.listVolumes(asked), ({ volumes }) => ({
            volumes: (volumes as Members[]).map(asFirst),
          })),
      };
    },
  },
  'refused-copy-leaks': {
    wrong: 'a refused request for a copy of a missing volume keeps space',
    caughtBy: 'FL-7.3-3',
    operations: (right, disk) => {
      const leaked = openRecord<number>(disk, 'leaked');
      return {
        createVolume(asked) {
          const { source, requiredBytes = 0 } = asked.body;
          const isMissing = source?.kind === 'volume' && !disk.find(volumeNamed(source.volumeId));
          if (isMissing) leaked.put(asked.volumeId, requiredBytes);
          return right.createVolume(asked);
        },
        getCapacity: () => withoutLeaked(right.getCapacity(), leaked),
      };
    },
  },
  'restore-leaks': {
    wrong: 'deleting a restored volume does not release its space',
    caughtBy: 'FL-7.3-3',
    operations: (right, disk) => {
      const leaked = openRecord<number>(disk, 'leaked');
      return {
        deleteVolume(asked) {
          const volume = disk.find(volumeNamed(asked.volumeId));
          const answer = right.deleteVolume(asked);
          const { source } = (volume?.spec ?? {}) as { readonly source?: { readonly kind: string } };
          if (volume && source?.kind === 'snapshot') leaked.put(volume.id, volume.sizeBytes);
          return answer;
        },
        getCapacity: () => withoutLeaked(right.getCapacity(), leaked),
      };
    },
  },
} as const satisfies Readonly<Record<string, Breakage>>;

/** Gives a volume or snapshot the bytes of another one, if both exist and no node has it. */
function copyOver(disk: Disk, from: Name, to: Name): void {
  const [origin, copy] = [disk.find(from), disk.find(to)];
  if (!origin || !copy || copy.attached) return;
  copyFileSync(disk.pathOf(origin), disk.pathOf(copy));
  truncateSync(disk.pathOf(copy), copy.sizeBytes);
}

import {
  snapshotNamed,
  volumeNamed,
  type Disk,
  type Document,
  type Name,
} from '../../../../examples/vendor-hono/disk.ts';
import { Problem, type SnapshotSpec } from '../../../../src/sdk/server/vendor.ts';
import type { Breakage } from '../breakage.ts';
import { openRecord } from '../features/groups-and-nodes.ts';
import { sourceOf } from './data/bytes.ts';

/** Faults that lose volumes and snapshots that no request names, or the mark of data on a volume. */
export const losses = {
  'delete-by-name': {
    wrong: 'deleting a volume deletes all volumes with its name',
    caughtBy: 'FL-3.4-4',
    operations: (right, disk) => ({
      deleteVolume(asked) {
        const name = nameOf(disk.find(volumeNamed(asked.volumeId)));
        const answer = right.deleteVolume(asked);
        removeNamed(disk, 'volume', name);
        return answer;
      },
    }),
  },
  'snapshot-delete-by-name': {
    wrong: 'deleting a snapshot deletes all snapshots with its name',
    caughtBy: 'FL-5.2-3',
    operations: (right, disk) => ({
      deleteSnapshot(asked) {
        const name = nameOf(disk.find(snapshotNamed(asked.snapshotId)));
        const answer = right.deleteSnapshot(asked);
        removeNamed(disk, 'snapshot', name);
        return answer;
      },
    }),
  },
  'group-delete-prefix': {
    wrong: 'deleting a group deletes all snapshots whose ids begin with its id',
    caughtBy: 'FL-5.4-6',
    hasGroupsAndNodes: true,
    operations: (right, disk) => ({
      deleteGroup(asked) {
        const answer = right.deleteGroup(asked);
        for (const snapshot of disk.list('snapshot'))
          if (snapshot.id.startsWith(asked.groupId)) disk.remove(snapshot);
        return answer;
      },
    }),
  },
  'node-put-detaches': {
    wrong: 'recording a node again takes its volumes away',
    caughtBy: 'FL-4.4-2',
    hasGroupsAndNodes: true,
    operations: (right, disk) => ({
      putNode(asked) {
        for (const volume of disk.list('volume'))
          if (volume.attached?.resource.nodeId === asked.nodeId) disk.put({ ...volume, attached: undefined });
        return right.putNode(asked);
      },
    }),
  },
  'copy-cleaned-up': {
    wrong: 'a repeated request for a volume whose snapshot is gone deletes the volume',
    caughtBy: 'FL-5.3-3',
    operations: (right, disk) => ({
      createVolume(asked) {
        const { source } = asked.body;
        if (source?.kind !== 'snapshot' || disk.find(snapshotNamed(source.snapshotId)))
          return right.createVolume(asked);
        disk.remove(volumeNamed(asked.volumeId));
        throw new Problem('NOT_FOUND', `there is no snapshot "${source.snapshotId}"`);
      },
    }),
  },
  'clone-cleaned-up': {
    wrong: 'a repeated request for a clone whose source is gone deletes the clone',
    caughtBy: 'FL-3.8-3',
    operations: (right, disk) => ({
      createVolume(asked) {
        const { source } = asked.body;
        if (source?.kind !== 'volume' || disk.find(volumeNamed(source.volumeId)))
          return right.createVolume(asked);
        disk.remove(volumeNamed(asked.volumeId));
        throw new Problem('NOT_FOUND', `there is no volume "${source.volumeId}"`);
      },
    }),
  },
  'copy-of-copy-formatted': {
    wrong: 'a copy of a copy may be formatted',
    caughtBy: 'FL-4.1-5',
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        const { source } = asked.body;
        const origin = source?.kind === 'volume' && disk.find(volumeNamed(source.volumeId));
        const copy = disk.require(volumeNamed(asked.volumeId));
        if (origin && sourceOf(origin)) disk.put({ ...copy, holdsData: false });
        return answer;
      },
    }),
  },
  'group-copy-formatted': {
    wrong: 'a volume from a snapshot of a group may be formatted',
    caughtBy: 'FL-4.1-5',
    hasGroupsAndNodes: true,
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        const { source } = asked.body;
        if (source?.kind !== 'snapshot' || !('groupId' in right.getSnapshot(source)[1])) return answer;
        disk.put({ ...disk.require(volumeNamed(asked.volumeId)), holdsData: false });
        return answer;
      },
    }),
  },
  'restart-collects-snapshots': {
    wrong: 'a restart deletes the snapshots of deleted volumes',
    caughtBy: 'FL-8.3-1',
    needs: 'restart',
    operations(right, disk) {
      for (const snapshot of disk.list('snapshot'))
        if (!disk.find(volumeNamed((snapshot.spec as SnapshotSpec).volumeId))) disk.remove(snapshot);
      return { getSnapshot: asked => right.getSnapshot(asked) };
    },
  },
  'restart-repeats-deletions': {
    wrong: 'a restart repeats old deletions, also of volumes that were created again',
    caughtBy: 'FL-8.3-1',
    needs: 'restart',
    operations(right, disk) {
      const deleted = openRecord<true>(disk, 'deleted');
      for (const id of deleted.ids()) disk.remove(volumeNamed(id));
      return {
        deleteVolume(asked) {
          const answer = right.deleteVolume(asked);
          deleted.put(asked.volumeId, true);
          return answer;
        },
      };
    },
  },
  'restart-repeats-detaches': {
    wrong: 'a restart repeats old detaches, also of volumes that were attached again',
    caughtBy: 'FL-8.3-1',
    needs: 'restart',
    operations(right, disk) {
      const detached = openRecord<string>(disk, 'detached');
      for (const id of detached.ids()) {
        const volume = disk.find(volumeNamed(id));
        const nodeId = volume?.attached?.resource.nodeId;
        if (volume && nodeId === detached.find(id)) disk.put({ ...volume, attached: undefined });
      }
      return {
        detachVolume(asked) {
          detached.put(asked.volumeId, asked.nodeId);
          return right.detachVolume(asked);
        },
      };
    },
  },
  'clone-space-shared': {
    wrong: 'concurrent clones get the same space',
    caughtBy: 'FL-7.3-5',
    isHasty: /^PUT \/v1\/volumes\/[^/]+$/,
    operations: right => {
      let last: Promise<unknown> = Promise.resolve();
      return {
        createVolume(asked) {
          if (asked.body.source) return right.createVolume(asked);
          const work = last.then(() => right.createVolume(asked));
          last = work.catch(() => {});
          return work;
        },
      };
    },
  },
} as const satisfies Readonly<Record<string, Breakage>>;

function nameOf(document: Document | undefined): string | undefined {
  return (document?.spec as { readonly name?: string } | undefined)?.name;
}

function removeNamed(disk: Disk, kind: Name['kind'], name: string | undefined): void {
  if (name === undefined) return;
  for (const found of disk.list(kind)) if (nameOf(found) === name) disk.remove(found);
}

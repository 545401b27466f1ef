import { copyFileSync } from 'node:fs';
import { setTimeout as later } from 'node:timers';
import { snapshotNamed, volumeNamed, type Disk, type Name } from '../../../../examples/vendor-hono/disk.ts';
import { Problem, toPage } from '../../../../src/sdk/server/vendor.ts';
import { changeAnswer, lateMs, type Breakage, type CorrectOperations, type Members } from '../breakage.ts';

/** Faults in which a call reaches further than its resource, or acts after its answer. */
export const crossings = {
  'detach-from-other': {
    wrong: 'detaching from a node that does not have the volume takes it from the one that has it',
    caughtBy: 'FL-4.3-2',
    operations: (right, disk) => ({
      detachVolume({ volumeId, nodeId }) {
        const holder = disk.find(volumeNamed(volumeId))?.attached?.resource.nodeId;
        return right.detachVolume({ volumeId, nodeId: holder ?? nodeId });
      },
    }),
  },
  'detach-whole-node': {
    wrong: 'detaching one volume takes all volumes from the node',
    caughtBy: 'FL-4.3-4',
    operations: (right, disk) => ({
      detachVolume(asked) {
        for (const volume of disk.list('volume'))
          if (volume.attached?.resource.nodeId === asked.nodeId) disk.put({ ...volume, attached: undefined });
        return right.detachVolume(asked);
      },
    }),
  },
  'detach-late': {
    wrong: 'a second effect of a detach closes the next attachment',
    caughtBy: 'FL-8.4-3',
    operations: (right, disk) => ({
      detachVolume(asked) {
        const isAttached = disk.find(volumeNamed(asked.volumeId))?.attached !== undefined;
        const answer = right.detachVolume(asked);
        if (isAttached)
          later(() => {
            const volume = disk.find(volumeNamed(asked.volumeId));
            if (volume) disk.put({ ...volume, attached: undefined });
          }, lateMs);
        return answer;
      },
    }),
  },
  'delete-late': {
    wrong: 'a second effect of a deletion deletes the next volume with the id',
    caughtBy: 'FL-8.4-3',
    operations: (right, disk) => ({
      deleteVolume(asked) {
        const answer = right.deleteVolume(asked);
        later(() => disk.remove(volumeNamed(asked.volumeId)), lateMs);
        return answer;
      },
    }),
  },
  'delete-prefix': {
    wrong: 'deleting a volume deletes all whose ids begin with its id',
    caughtBy: 'FL-3.4-4',
    operations: (right, disk) => ({
      deleteVolume(asked) {
        removeAll(disk, 'volume', id => id.startsWith(`${asked.volumeId}`) && id !== asked.volumeId);
        return right.deleteVolume(asked);
      },
    }),
  },
  'delete-pattern': {
    wrong: 'deleting a volume takes an underscore in its id for any character',
    caughtBy: 'FL-3.4-4',
    operations: (right, disk) => ({
      deleteVolume(asked) {
        const answer = right.deleteVolume(asked);
        removeAll(disk, 'volume', id => isLike(id, asked.volumeId));
        return answer;
      },
    }),
  },
  'delete-namesake': {
    wrong: 'deleting a volume deletes the snapshot with the same id',
    caughtBy: 'FL-3.4-4',
    operations: (right, disk) => ({
      deleteVolume(asked) {
        const answer = right.deleteVolume(asked);
        disk.remove(snapshotNamed(asked.volumeId));
        return answer;
      },
    }),
  },
  'clone-without-case': {
    wrong: 'the source of a clone is looked up without case',
    caughtBy: 'FL-9.1-8',
    needs: 'data',
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        const { source } = asked.body;
        if (answer[0] !== 201 || source?.kind !== 'volume') return answer;
        const lower = source.volumeId.toLowerCase();
        const found = disk.list('volume').find(({ id }) => id.toLowerCase() === lower);
        if (found) copyFileSync(disk.pathOf(found), disk.pathOf(volumeNamed(asked.volumeId)));
        return answer;
      },
    }),
  },
  'snapshots-of-prefix': {
    wrong: 'the list of snapshots of a volume has those of all volumes whose ids begin with its id',
    caughtBy: 'FL-6.1-6',
    operations: right => ({
      listSnapshots(asked) {
        const { volumeId } = asked;
        if (!volumeId) return right.listSnapshots(asked);
        const whole = { limit: 1_000, pageToken: undefined, volumeId: undefined };
        const [, { snapshots }] = right.listSnapshots(whole);
        const found = snapshots.filter(one => one.volumeId.startsWith(volumeId));
        const { entries, ...more } = toPage(found, asked);
        return [200, { snapshots: entries, ...more }];
      },
    }),
  },
  'snapshot-delete-prefix': {
    wrong: 'deleting a snapshot deletes all whose ids begin with its id',
    caughtBy: 'FL-5.2-3',
    operations: (right, disk) => ({
      deleteSnapshot(asked) {
        removeAll(disk, 'snapshot', id => id.startsWith(asked.snapshotId));
        return right.deleteSnapshot(asked);
      },
    }),
  },
  'attach-second-reader': {
    wrong: 'a second node gets a volume of one node if it only reads',
    caughtBy: 'FL-4.2-1',
    operations: (right, disk) => ({
      attachVolume(asked) {
        const { volumeId, nodeId, body } = asked;
        const resource = disk.find(volumeNamed(volumeId))?.attached?.resource;
        if (!resource || resource.nodeId === nodeId || !body.readonly) return right.attachVolume(asked);
        const attachment = { ...resource.attachment, readonly: true } as typeof resource.attachment;
        return [201, { ...resource, nodeId, readonly: true, attachment }];
      },
    }),
  },
  'raw-formatted': {
    wrong: 'a volume that was used raw may be formatted',
    caughtBy: 'FL-4.1-9',
    operations: (right, disk) => ({
      attachVolume(asked) {
        const answer = right.attachVolume(asked);
        const volume = disk.require(volumeNamed(asked.volumeId));
        const isRaw = asked.body.capability.accessType === 'block';
        if (isRaw) disk.put({ ...volume, holdsData: false });
        return answer;
      },
    }),
  },
  'nodes-without-case': {
    wrong: 'node ids that differ only in case are the same node',
    caughtBy: 'FL-4.4-3',
    operations: right => withNodeIds(right, nodeId => nodeId.toLowerCase()),
  },
  'nodes-cut-off': {
    wrong: 'only the first 64 characters of a node id count',
    caughtBy: 'FL-4.4-3',
    operations: right => withNodeIds(right, nodeId => nodeId.slice(0, 64)),
  },
  'path-decoded-twice': {
    wrong: 'the path of a request is decoded twice',
    caughtBy: 'FL-1.4-3',
    fetch: right => async request => {
      const url = new URL(request.url);
      url.pathname = url.pathname.replaceAll(/%25([0-9a-f]{2})/gi, '%$1');
      return right(new Request(url, request));
    },
  },
  'slash-decoded-first': {
    wrong: 'an escaped slash in an id separates parts of the path',
    caughtBy: 'FL-1.4-3',
    fetch: right => async request => {
      const url = new URL(request.url);
      url.pathname = url.pathname.replaceAll(/%2f/gi, '/');
      return right(new Request(url, request));
    },
  },
  'create-after-modify': {
    wrong: 'the request that created a volume is refused after a modification',
    caughtBy: 'FL-3.2-7',
    operations: (right, disk) => ({
      createVolume(asked) {
        const changed = disk.find(volumeNamed(asked.volumeId))?.mutableParameters;
        if (changed) throw new Problem('ALREADY_EXISTS', 'the volume has other mutable parameters');
        return right.createVolume(asked);
      },
    }),
  },
  'snapshot-grows': {
    wrong: 'a snapshot has the size that its volume has now',
    caughtBy: 'FL-5.1-6',
    operations: (right, disk) => {
      const sizeNow = (snapshot: Members) => {
        const volume = disk.find(volumeNamed(String(snapshot['volumeId'])));
        return volume ? { sizeBytes: volume.sizeBytes } : {};
      };
      return {
        getSnapshot: asked => changeAnswer(right.getSnapshot(asked), sizeNow),
        createSnapshot: asked => changeAnswer(right.createSnapshot(asked), sizeNow),
      };
    },
  },
  'space-shared': {
    wrong: 'concurrent volumes get the same space',
    caughtBy: 'FL-7.3-5',
    isHasty: true,
  },
} as const satisfies Readonly<Record<string, Breakage>>;

/** Changes the node id of each request, and answers with the given one. */
function withNodeIds(right: CorrectOperations, change: (nodeId: string) => string) {
  const changed = <A extends { readonly nodeId: string }>(asked: A): A => ({
    ...asked,
    nodeId: change(asked.nodeId),
  });
  const { attachVolume, getAttachment, detachVolume } = right;
  return {
    attachVolume: (asked: Parameters<typeof attachVolume>[0]) =>
      changeAnswer(attachVolume(changed(asked)), () => ({ nodeId: asked.nodeId })),
    getAttachment: (asked: Parameters<typeof getAttachment>[0]) =>
      changeAnswer(getAttachment(changed(asked)), () => ({ nodeId: asked.nodeId })),
    detachVolume: (asked: Parameters<typeof detachVolume>[0]) => detachVolume(changed(asked)),
  };
}

function removeAll(disk: Disk, kind: Name['kind'], isMatch: (id: string) => boolean): void {
  for (const found of disk.list(kind)) if (isMatch(found.id)) disk.remove(found);
}

/** Compares as LIKE in SQL does, for patterns without a percent sign. */
function isLike(id: string, pattern: string): boolean {
  return (
    id.length === pattern.length && [...pattern].every((letter, at) => letter === '_' || letter === id[at])
  );
}

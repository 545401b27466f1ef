import { randomUUID } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { snapshotNamed, volumeNamed, type Document } from '../../../../examples/vendor-hono/disk.ts';
import { changed, type Breakage, type Members } from './breakage.ts';

/** What is wrong with how volumes are attached, and with copies of them. */
export const attachments = {
  'attach-twice': {
    wrong: 'a volume of one node is attached to a second one',
    caughtBy: 'FL-4.2-1',
    operations: (right, disk) => ({
      attachVolume(asked) {
        const volume = disk.find(volumeNamed(asked.volumeId));
        if (volume?.attached && volume.attached.resource.nodeId !== asked.nodeId)
          disk.put({ ...volume, attached: undefined });
        return right.attachVolume(asked);
      },
    }),
  },
  'attach-race': {
    wrong: 'two nodes that ask at once both get the volume',
    caughtBy: 'FL-4.2-2',
    isHasty: true,
    operations: (right, disk) => ({
      async attachVolume(asked) {
        const before = disk.find(volumeNamed(asked.volumeId));
        await setTimeout(20);
        if (before && !before.attached) disk.put(before);
        return right.attachVolume(asked);
      },
    }),
  },
  'attachment-renamed': {
    wrong: 'attaching again gives another attachment',
    caughtBy: 'FL-4.1-2',
    operations: right => ({
      attachVolume: asked => changed(right.attachVolume(asked), ofAttachment({ attachmentId: randomUUID })),
    }),
  },
  'attachment-forever': {
    wrong: 'attaching after a detach gives the attachment of before',
    caughtBy: 'FL-4.3-3',
    operations: right => {
      const same = ofAttachment({ attachmentId: () => 'always' });
      return {
        attachVolume: asked => changed(right.attachVolume(asked), same),
        getAttachment: asked => changed(right.getAttachment(asked), same),
      };
    },
  },
  'attach-reused': {
    wrong: 'the same URL with another capability answers the attachment that is there',
    caughtBy: 'FL-4.1-3',
    operations: (right, disk) => ({
      attachVolume(asked) {
        const attached = disk.find(volumeNamed(asked.volumeId))?.attached;
        return attached?.resource.nodeId === asked.nodeId
          ? right.getAttachment(asked)
          : right.attachVolume(asked);
      },
    }),
  },
  'detach-too-early': {
    wrong: 'detaching is answered as done, and nothing is done',
    caughtBy: 'FL-4.3-1',
    operations: () => ({ detachVolume: () => [204] }),
  },
  'copy-formatted': {
    wrong: 'a volume that was made from another may be formatted',
    caughtBy: 'FL-4.1-5',
    operations: right => {
      const wrong = ofAttachment({ mayFormat: () => true });
      return {
        attachVolume: asked => changed(right.attachVolume(asked), wrong),
        getAttachment: asked => changed(right.getAttachment(asked), wrong),
      };
    },
  },
  'copy-cut-off': {
    wrong: 'a volume may be smaller than what it is made from',
    caughtBy: 'FL-5.3-2',
    operations: (right, disk) => ({
      createVolume(asked) {
        const { source, requiredBytes = 0, ...body } = asked.body;
        const id = source?.kind === 'snapshot' && source.snapshotId;
        const origin = id ? disk.find(snapshotNamed(id)) : undefined;
        if (!origin || requiredBytes === 0 || requiredBytes >= origin.sizeBytes)
          return right.createVolume(asked);
        const made = right.createVolume({ ...asked, body: { ...body, requiredBytes } });
        return changed(made, () => ({ source }));
      },
    }),
  },
  'snapshot-torn': {
    wrong: 'a snapshot has the bytes of when it is first read',
    caughtBy: 'FL-9.2-1',
    needs: 'data',
    operations: (right, disk) => ({
      createVolume(asked) {
        const { source } = asked.body;
        const snapshot = source?.kind === 'snapshot' && disk.find(snapshotNamed(source.snapshotId));
        const volume = snapshot && disk.find(volumeNamed(volumeIdOf(snapshot)));
        if (volume) copyFileSync(disk.pathOf(volume), disk.pathOf(snapshot));
        return right.createVolume(asked);
      },
    }),
  },
  'snapshot-dated-again': {
    wrong: 'a snapshot has the time of when it is asked for',
    caughtBy: 'FL-5.1-2',
    operations: right => ({
      createSnapshot: asked =>
        changed(right.createSnapshot(asked), () => ({ createdAt: new Date().toISOString() })),
    }),
  },
  'snapshot-goes-along': {
    wrong: 'the snapshots of a volume go with it',
    caughtBy: 'FL-5.2-2',
    operations: (right, disk) => ({
      deleteVolume(asked) {
        const answer = right.deleteVolume(asked);
        for (const snapshot of disk.list('snapshot'))
          if (volumeIdOf(snapshot) === asked.volumeId) disk.remove(snapshot);
        return answer;
      },
    }),
  },
} as const satisfies Readonly<Record<string, Breakage>>;

const volumeIdOf = ({ asked }: Document): string => (asked as { readonly volumeId: string }).volumeId;

/** Changes members of the attachment in an answer. */
function ofAttachment(change: Readonly<Record<string, () => unknown>>) {
  return ({ attachment }: Members) => {
    const entries = Object.entries(change).map(([name, make]) => [name, make()]);
    return { attachment: { ...(attachment as object), ...Object.fromEntries(entries) } };
  };
}

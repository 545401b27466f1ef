import { randomUUID } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { snapshotNamed, volumeNamed, type Document } from '../../../../examples/vendor-hono/disk.ts';
import { accessModes, type AttachmentSpec } from '../../../../src/sdk/server/vendor.ts';
import { changeAnswer, raceMs, type Breakage, type Members } from '../breakage.ts';

/** Faults of attachments, to one node and to several, and of their copies. */
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
    wrong: 'two nodes that attach the volume at the same time both get it',
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
  'second-writer': {
    wrong: 'a volume for one writer and many readers has many writers',
    caughtBy: 'FL-4.2-5',
    accessModes,
    operations: right => ({
      attachVolume: asked => right.attachVolume({ ...asked, body: forManyWriters(asked.body) }),
    }),
  },
  'second-writer-race': {
    wrong: 'two nodes that attach a volume for one writer at the same time both write',
    caughtBy: 'FL-4.2-2',
    accessModes,
    isHasty: true,
    operations: right => ({
      async attachVolume(asked) {
        const [, volume] = right.getVolume(asked);
        await setTimeout(raceMs);
        const isFree = volume.attachments.length === 0;
        return right.attachVolume(isFree ? { ...asked, body: forManyWriters(asked.body) } : asked);
      },
    }),
  },
  'attachment-shared': {
    wrong: 'the nodes that have a volume have one attachment id',
    caughtBy: 'FL-4.2-3',
    accessModes,
    operations: right => {
      const shared = new Map<string, string>();
      type Ids = { readonly volumeId: string; readonly nodeId: string };
      const keyOf = ({ volumeId, nodeId }: Ids): string => `${volumeId} ${nodeId}`;
      const withId = (asked: Ids) => {
        const id = shared.get(keyOf(asked));
        return id === undefined ? () => ({}) : ofAttachment({ attachmentId: () => id });
      };
      return {
        attachVolume(asked) {
          const { attachments: others } = right.getVolume(asked)[1];
          const answer = right.attachVolume(asked);
          const first = others.find(({ nodeId }) => nodeId !== asked.nodeId);
          if (answer[0] === 201 && first) {
            const ids = { volumeId: asked.volumeId, nodeId: first.nodeId };
            const id = shared.get(keyOf(ids)) ?? right.getAttachment(ids)[1].attachment?.attachmentId;
            if (id !== undefined) shared.set(keyOf(asked), id);
          }
          return changeAnswer(answer, withId(asked));
        },
        getAttachment: asked => changeAnswer(right.getAttachment(asked), withId(asked)),
        detachVolume(asked) {
          shared.delete(keyOf(asked));
          return right.detachVolume(asked);
        },
      };
    },
  },
  'detach-all-nodes': {
    wrong: 'detaching a volume from one node takes it from all nodes',
    caughtBy: 'FL-4.3-4',
    accessModes,
    operations: right => ({
      detachVolume(asked) {
        const [, { volumes }] = right.listVolumes({ limit: 1_000, pageToken: undefined });
        const held = volumes.find(({ id }) => id === asked.volumeId)?.attachments ?? [];
        if (held.some(({ nodeId }) => nodeId === asked.nodeId))
          for (const { nodeId } of held) right.detachVolume({ ...asked, nodeId });
        return [204];
      },
    }),
  },
  'delete-after-first-detach': {
    wrong: 'a volume of several nodes is deleted once one of them is detached',
    caughtBy: 'FL-3.4-3',
    accessModes,
    operations: right => {
      const freed = new Set<string>();
      return {
        attachVolume(asked) {
          freed.delete(asked.volumeId);
          return right.attachVolume(asked);
        },
        detachVolume(asked) {
          freed.add(asked.volumeId);
          return right.detachVolume(asked);
        },
        deleteVolume(asked) {
          const held = freed.has(asked.volumeId) ? right.getVolume(asked)[1].attachments : [];
          for (const { nodeId } of held) right.detachVolume({ ...asked, nodeId });
          freed.delete(asked.volumeId);
          return right.deleteVolume(asked);
        },
      };
    },
  },
  'attachment-renamed': {
    wrong: 'attaching again returns another attachment',
    caughtBy: 'FL-4.1-2',
    operations: right => ({
      attachVolume: asked =>
        changeAnswer(right.attachVolume(asked), ofAttachment({ attachmentId: randomUUID })),
    }),
  },
  'attachment-forever': {
    wrong: 'attaching after a detach returns the old attachment',
    caughtBy: 'FL-4.3-3',
    operations: right => {
      const same = ofAttachment({ attachmentId: () => 'always' });
      return {
        attachVolume: asked => changeAnswer(right.attachVolume(asked), same),
        getAttachment: asked => changeAnswer(right.getAttachment(asked), same),
      };
    },
  },
  'attach-reused': {
    wrong: 'the same URL with another capability returns the existing attachment',
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
    wrong: 'detaching succeeds and does nothing',
    caughtBy: 'FL-4.3-1',
    operations: () => ({ detachVolume: () => [204] }),
  },
  'copy-formatted': {
    wrong: 'a volume with content from a source may be formatted',
    caughtBy: 'FL-4.1-5',
    operations: right => {
      const wrong = ofAttachment({ mayFormat: () => true });
      return {
        attachVolume: asked => changeAnswer(right.attachVolume(asked), wrong),
        getAttachment: asked => changeAnswer(right.getAttachment(asked), wrong),
      };
    },
  },
  'copy-cut-off': {
    wrong: 'a volume may be smaller than its source',
    caughtBy: 'FL-5.3-2',
    operations: (right, disk) => ({
      createVolume(asked) {
        const { source, requiredBytes = 0, ...body } = asked.body;
        const id = source?.kind === 'snapshot' && source.snapshotId;
        const origin = id ? disk.find(snapshotNamed(id)) : undefined;
        if (!origin || requiredBytes === 0 || requiredBytes >= origin.sizeBytes)
          return right.createVolume(asked);
        const made = right.createVolume({ ...asked, body: { ...body, requiredBytes } });
        return changeAnswer(made, () => ({ source }));
      },
    }),
  },
  'snapshot-torn': {
    wrong: 'a snapshot has the data of its first read',
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
    wrong: 'the time of a snapshot changes with each request',
    caughtBy: 'FL-5.1-2',
    operations: right => ({
      createSnapshot: asked =>
        changeAnswer(right.createSnapshot(asked), () => ({ createdAt: new Date().toISOString() })),
    }),
  },
  'snapshot-goes-along': {
    wrong: 'deleting a volume deletes its snapshots',
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

const volumeIdOf = ({ spec }: Document): string => (spec as { readonly volumeId: string }).volumeId;

/** Makes an operation that changes members of the attachment in its answer. */
function ofAttachment(change: Readonly<Record<string, () => unknown>>) {
  return ({ attachment }: Members) => {
    const entries = Object.entries(change).map(([name, make]) => [name, make()]);
    return { attachment: { ...(attachment as object), ...Object.fromEntries(entries) } };
  };
}

/** Takes a request for one writer among several nodes for one of many writers. */
function forManyWriters({ capability, ...body }: AttachmentSpec): AttachmentSpec {
  const isForOne = capability.accessMode === 'MULTI_NODE_SINGLE_WRITER';
  return {
    ...body,
    capability: isForOne ? { ...capability, accessMode: 'MULTI_NODE_MULTI_WRITER' } : capability,
  };
}

import { copyFileSync, truncateSync } from 'node:fs';
import { setTimeout as later } from 'node:timers';
import { setTimeout } from 'node:timers/promises';
import { snapshotNamed, volumeNamed, type Name } from '../../../../examples/vendor-hono/disk.ts';
import { Problem, type AttachmentResource } from '../../../../src/sdk/server/vendor.ts';
import { lateMs, raceMs, type Breakage } from '../breakage.ts';

type Attachment = AttachmentResource['attachment'] & object;

/** Faults of two different requests at the same time, and effects after an answer. */
export const races = {
  'create-race': {
    wrong: 'of two different requests for one URL at once both succeed, and the last one counts',
    caughtBy: 'FL-8.4-2',
    isHasty: true,
    operations: (right, disk) => ({
      async createVolume(asked) {
        const isThere = disk.find(volumeNamed(asked.volumeId)) !== undefined;
        await setTimeout(raceMs);
        if (!isThere) disk.remove(volumeNamed(asked.volumeId));
        return right.createVolume(asked);
      },
    }),
  },
  'delete-attach-race': {
    wrong: 'a volume is deleted while a node gets it',
    caughtBy: 'FL-8.4-2',
    isHasty: /^DELETE \/v1\/volumes\/[^/]+$/,
    operations: (right, disk) => ({
      async deleteVolume(asked) {
        const isFree = !disk.find(volumeNamed(asked.volumeId))?.attached;
        if (!isFree) return right.deleteVolume(asked);
        await setTimeout(raceMs);
        disk.remove(volumeNamed(asked.volumeId));
        return [204];
      },
    }),
  },
  'expand-race': {
    wrong: 'the slower one of two expansions at once decides the size, even if it is smaller',
    caughtBy: 'FL-8.4-2',
    isHasty: /^PUT .*\/size$/,
    operations: (right, disk) => ({
      async expandVolume(asked) {
        const before = disk.require(volumeNamed(asked.volumeId));
        await setTimeout(raceMs);
        const now = disk.find(before);
        if (now) disk.put({ ...now, sizeBytes: before.sizeBytes });
        return right.expandVolume(asked);
      },
    }),
  },
  'snapshot-race': {
    wrong: 'of two snapshots of different volumes with one id at once both succeed',
    caughtBy: 'FL-8.4-2',
    isHasty: /^PUT \/v1\/snapshots\//,
    operations: (right, disk) => ({
      async createSnapshot(asked) {
        const isThere = disk.find(snapshotNamed(asked.snapshotId)) !== undefined;
        await setTimeout(raceMs);
        if (!isThere) disk.remove(snapshotNamed(asked.snapshotId));
        return right.createSnapshot(asked);
      },
    }),
  },
  'restore-race': {
    wrong: 'a snapshot that is deleted while it is restored gives a volume of another source',
    caughtBy: 'FL-8.4-2',
    isHasty: /^DELETE \/v1\/snapshots\//,
    operations: (right, disk) => ({
      async createVolume(asked) {
        const { source, ...body } = asked.body;
        if (source?.kind !== 'snapshot' || !disk.find(snapshotNamed(source.snapshotId)))
          return right.createVolume(asked);
        await setTimeout(raceMs);
        if (disk.find(snapshotNamed(source.snapshotId))) return right.createVolume(asked);
        await right.createVolume({ ...asked, body });
        throw new Problem('NOT_FOUND', `there is no snapshot "${source.snapshotId}"`);
      },
    }),
  },
  'snapshot-space-shared': {
    wrong: 'concurrent snapshots get the same space',
    caughtBy: 'FL-7.3-5',
    isHasty: /^PUT \/v1\/snapshots\//,
  },
  'snapshots-mixed': {
    wrong: 'snapshots of several volumes at once have the bytes of one of these volumes',
    caughtBy: 'FL-9.2-9',
    needs: 'data',
    isHasty: /^PUT \/v1\/snapshots\//,
    operations: (right, disk) => {
      let source: Name | undefined;
      let last: Promise<unknown> = Promise.resolve();
      return {
        async createSnapshot(asked) {
          source = volumeNamed(asked.body.volumeId);
          await setTimeout(raceMs);
          const work = last.then(() => right.createSnapshot(asked));
          last = work.catch(() => {});
          const answer = await work;
          const snapshot = disk.find(snapshotNamed(asked.snapshotId));
          const origin = disk.find(source);
          if (answer[0] === 201 && snapshot && origin && !origin.attached) {
            copyFileSync(disk.pathOf(origin), disk.pathOf(snapshot));
            truncateSync(disk.pathOf(snapshot), snapshot.sizeBytes);
          }
          return answer;
        },
      };
    },
  },
  'attach-crossed': {
    wrong: 'of volumes that a node gets at once, each leads to the same volume under another pool',
    caughtBy: 'FL-4.1-12',
    isHasty: /^PUT .*\/attachments\//,
    operations: (right, disk) => {
      let path = '';
      return {
        async attachVolume(asked) {
          path = disk.pathOf(volumeNamed(asked.volumeId));
          await setTimeout(raceMs);
          const answer = right.attachVolume(asked);
          const volume = disk.require(volumeNamed(asked.volumeId));
          const { attached } = volume;
          if (answer[0] !== 201 || !attached?.resource.attachment) return answer;
          const attachment = { ...attached.resource.attachment, path, pool: asked.volumeId } as Attachment;
          const resource = { ...attached.resource, attachment };
          disk.put({ ...volume, attached: { ...attached, resource } });
          return [201, resource];
        },
      };
    },
  },
  'attach-late': {
    wrong: 'a second effect of an attach attaches the volume again after its detach',
    caughtBy: 'FL-8.4-3',
    operations: (right, disk) => ({
      attachVolume(asked) {
        const answer = right.attachVolume(asked);
        later(() => {
          const volume = disk.find(volumeNamed(asked.volumeId));
          if (volume && !volume.attached) right.attachVolume(asked);
        }, lateMs);
        return answer;
      },
    }),
  },
  'snapshot-late': {
    wrong: 'a second effect of a snapshot takes it again after its deletion',
    caughtBy: 'FL-8.4-3',
    operations: right => ({
      async createSnapshot(asked) {
        const answer = await right.createSnapshot(asked);
        later(() => void right.createSnapshot(asked).catch(() => {}), lateMs);
        return answer;
      },
    }),
  },
  'expand-late': {
    wrong: 'a second effect of an expansion expands the next volume with the id',
    caughtBy: 'FL-8.4-3',
    operations: right => {
      const expansions = new Map<string, Parameters<typeof right.expandVolume>[0]>();
      return {
        expandVolume(asked) {
          expansions.set(asked.volumeId, asked);
          return right.expandVolume(asked);
        },
        async createVolume(asked) {
          const answer = await right.createVolume(asked);
          const expansion = expansions.get(asked.volumeId);
          if (answer[0] === 201 && expansion)
            later(() => void right.expandVolume(expansion).catch(() => {}), lateMs);
          return answer;
        },
      };
    },
  },
} as const satisfies Readonly<Record<string, Breakage>>;

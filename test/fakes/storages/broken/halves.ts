import { randomUUID } from 'node:crypto';
import { truncateSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { volumeNamed } from '../../../../examples/vendor-hono/disk.ts';
import { Problem } from '../../../../src/sdk/server/vendor.ts';
import { openRecord } from '../features/groups-and-nodes.ts';
import { changeAnswer, type Breakage } from '../breakage.ts';
import { withoutLeaked } from './rights.ts';

/** The size from which on creating a volume takes time, and this time in milliseconds. */
const [largeBytes, largeMs] = [32 * 2 ** 20, 2_000];
/** Time between the two writes of a change, in milliseconds. */
const betweenMs = 1_000;

/** Faults of changes in two writes: a restart between the two leaves a half change that a repeated request does not finish. */
export const halves = {
  'half-create': {
    wrong: 'a restart while a volume is created leaves a record without a file',
    caughtBy: 'FL-8.3-2',
    needs: 'data',
    operations: (right, disk) => ({
      async createVolume(asked) {
        const name = volumeNamed(asked.volumeId);
        const { source, requiredBytes = 0, limitBytes = 0 } = asked.body;
        const isPlain = source === undefined && requiredBytes === 2 ** 20 && limitBytes === 0;
        if (!isPlain || disk.find(name)) return right.createVolume(asked);
        const { name: title, parameters = {}, mutableParameters = {} } = asked.body;
        const spec = { name: title, parameters, mutableParameters };
        const createdAt = new Date().toISOString();
        disk.put({ ...name, spec, sizeBytes: requiredBytes, createdAt, holdsData: false });
        await setTimeout(betweenMs);
        writeFileSync(disk.pathOf(name), '');
        truncateSync(disk.pathOf(name), requiredBytes);
        const [, volume] = right.getVolume(asked);
        return [201, volume];
      },
    }),
  },
  'half-expand': {
    wrong: 'a restart during an expansion leaves a record with the new size, and the old file',
    caughtBy: 'FL-8.3-2',
    needs: 'data',
    operations: (right, disk) => ({
      async expandVolume(asked) {
        const before = disk.require(volumeNamed(asked.volumeId));
        const { requiredBytes = 0 } = asked.body;
        if (requiredBytes <= before.sizeBytes) return right.expandVolume(asked);
        disk.put({ ...before, sizeBytes: requiredBytes });
        await setTimeout(betweenMs);
        disk.put(before);
        return right.expandVolume(asked);
      },
    }),
  },
  'half-detach': {
    wrong: 'a restart during a detach leaves a lock of the node that no request opens',
    caughtBy: 'FL-8.3-2',
    needs: 'restart',
    operations: (right, disk) => {
      const locks = openRecord<string>(disk, 'locks');
      return {
        attachVolume(asked) {
          const holder = locks.find(asked.volumeId) ?? asked.nodeId;
          if (holder !== asked.nodeId)
            throw new Problem('FAILED_PRECONDITION', `the volume is locked by node "${holder}"`);
          const answer = right.attachVolume(asked);
          locks.put(asked.volumeId, asked.nodeId);
          return answer;
        },
        async detachVolume(asked) {
          const isHeld = disk.find(volumeNamed(asked.volumeId))?.attached?.resource.nodeId === asked.nodeId;
          const answer = right.detachVolume(asked);
          if (!isHeld) return answer;
          await setTimeout(betweenMs);
          locks.remove(asked.volumeId);
          return answer;
        },
      };
    },
  },
  'half-delete': {
    wrong: 'a restart during a deletion leaves the volume in the list',
    caughtBy: 'FL-8.3-2',
    needs: 'restart',
    operations: (right, disk) => {
      const listed = openRecord<object>(disk, 'listed');
      return {
        async deleteVolume(asked) {
          const volume = disk.find(volumeNamed(asked.volumeId));
          const shown = volume && right.getVolume(asked)[1];
          const answer = right.deleteVolume(asked);
          if (!shown) return answer;
          listed.put(asked.volumeId, shown);
          await setTimeout(betweenMs);
          listed.remove(asked.volumeId);
          return answer;
        },
        listVolumes: asked =>
          changeAnswer(right.listVolumes(asked), ({ volumes }) => ({
            volumes: [
              ...(volumes as object[]),
              ...listed.ids().flatMap(id => (asked.pageToken ? [] : (listed.find(id) ?? []))),
            ],
          })),
      };
    },
  },
  'half-create-leaks': reserving({
    wrong:
      'a restart while a volume is created leaves its space reserved, and the repeated request reserves it again',
    keyOf: () => randomUUID(),
  }),
  'given-up-create-leaks': reserving({
    wrong: 'only a repeated request frees the space of a volume whose creation a restart has interrupted',
    keyOf: volumeId => volumeId,
  }),
} as const satisfies Readonly<Record<string, Breakage>>;

/** Makes a vendor that reserves the space of a large volume under a key, creates the volume, and then removes the reservation. */
function reserving({
  wrong,
  keyOf,
}: {
  readonly wrong: string;
  readonly keyOf: (volumeId: string) => string;
}): Breakage {
  return {
    wrong,
    caughtBy: 'FL-8.3-5',
    needs: 'restart',
    operations: (right, disk) => {
      const reserved = openRecord<number>(disk, 'reserved');
      return {
        async createVolume(asked) {
          const { volumeId, body } = asked;
          const { requiredBytes = 0 } = body;
          if (requiredBytes < largeBytes || disk.find(volumeNamed(volumeId)))
            return right.createVolume(asked);
          const key = keyOf(volumeId);
          reserved.put(key, requiredBytes);
          await setTimeout(largeMs);
          reserved.remove(key);
          return right.createVolume(asked);
        },
        getCapacity: () => withoutLeaked(right.getCapacity(), reserved),
      };
    },
  };
}

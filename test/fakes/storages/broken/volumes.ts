import { setTimeout } from 'node:timers/promises';
import { volumeNamed } from '../../../../examples/vendor-hono/disk.ts';
import { Problem } from '../../../../src/sdk/server/vendor.ts';
import { changeAnswer, withoutSchemas, type Breakage, type Members } from '../breakage.ts';

const mebibyte = 2 ** 20;

/** Faults in creating, keeping and deleting volumes. */
export const volumes = {
  'double-create': {
    wrong: 'creating again makes a second volume',
    caughtBy: 'FL-3.2-1',
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        const found = disk.find(volumeNamed(asked.volumeId));
        if (answer[0] === 200 && found) disk.put({ ...found, id: `${found.id}-2` });
        return answer;
      },
    }),
  },
  'done-too-early': {
    wrong: 'a volume counts as ready before it is complete',
    caughtBy: 'FL-1.3-2',
    operations: right => {
      const readyAt = new Map<string, number>();
      return {
        async createVolume(asked) {
          const answer = await right.createVolume(asked);
          if (answer[0] === 201) readyAt.set(asked.volumeId, Date.now() + 1_000);
          return answer;
        },
        getVolume: asked =>
          changeAnswer(right.getVolume(asked), () =>
            (readyAt.get(asked.volumeId) ?? 0) > Date.now() ? { state: 'creating', sizeBytes: 0 } : {},
          ),
      };
    },
  },
  'wrong-code': {
    wrong: 'another size for the same URL is refused with INVALID_ARGUMENT',
    caughtBy: 'FL-3.2-2',
    operations: right => ({
      async createVolume(asked) {
        try {
          return await right.createVolume(asked);
        } catch (error) {
          if (!(error instanceof Problem) || error.code !== 'ALREADY_EXISTS') throw error;
          throw new Problem('INVALID_ARGUMENT', error.message);
        }
      },
    }),
  },
  'size-rounded-down': {
    wrong: 'sizes are rounded down to a step',
    caughtBy: 'FL-3.1-2',
    operations: (right, disk) => ({
      createVolume(asked) {
        const { requiredBytes = 0 } = asked.body;
        const isBetween = requiredBytes > mebibyte && requiredBytes % mebibyte > 0;
        if (!isBetween || disk.find(volumeNamed(asked.volumeId))) return right.createVolume(asked);
        const body = { ...asked.body, requiredBytes: requiredBytes - (requiredBytes % mebibyte) };
        return right.createVolume({ ...asked, body });
      },
    }),
  },
  'limit-ignored': {
    wrong: 'a volume may be larger than the limit',
    caughtBy: 'FL-3.1-2',
    operations: right => ({
      createVolume({ body, ...asked }) {
        const requiredBytes = (body.requiredBytes ?? 0) + 64 * mebibyte;
        return right.createVolume({ ...asked, body: { ...body, requiredBytes, limitBytes: 0 } });
      },
    }),
  },
  'conflict-unseen': {
    wrong: 'the same URL with other parameters returns the existing volume',
    caughtBy: 'FL-3.2-3',
    operations: (right, disk) => ({
      createVolume(asked) {
        const found = disk.find(volumeNamed(asked.volumeId));
        return found ? right.getVolume(asked) : right.createVolume(asked);
      },
    }),
  },
  'refused-and-left': {
    wrong: 'a request with refused parameters leaves a volume',
    caughtBy: 'FL-3.1-7',
    offer: withoutSchemas,
    operations: right => ({
      async createVolume(asked) {
        const { parameters = {}, mutableParameters = {}, ...body } = asked.body;
        const names = Object.keys({ ...parameters, ...mutableParameters });
        if (names.every(name => ['department', 'label'].includes(name))) return right.createVolume(asked);
        await right.createVolume({ ...asked, body });
        throw new Problem('INVALID_ARGUMENT', 'there is no such parameter');
      },
    }),
  },
  'clock-in-seconds': {
    wrong: 'the time of creation is in seconds instead of milliseconds',
    caughtBy: 'FL-3.1-6',
    operations: right => ({
      createVolume: asked => changeAnswer(right.createVolume(asked), secondsTaken),
      getVolume: asked => changeAnswer(right.getVolume(asked), secondsTaken),
    }),
  },
  'delete-missing': {
    wrong: 'deleting a missing volume is refused with NOT_FOUND',
    caughtBy: 'FL-3.4-2',
    operations: (right, disk) => ({
      deleteVolume(asked) {
        disk.require(volumeNamed(asked.volumeId));
        return right.deleteVolume(asked);
      },
    }),
  },
  'delete-attached': {
    wrong: 'an attached volume is deleted',
    caughtBy: 'FL-3.4-3',
    operations: (_, disk) => ({
      deleteVolume({ volumeId }) {
        disk.remove(volumeNamed(volumeId));
        return [204];
      },
    }),
  },
  'delete-leaks': {
    wrong: 'deleting a volume does not release its space',
    caughtBy: 'FL-7.3-3',
    operations: right => {
      let leakedBytes = 0;
      return {
        deleteVolume(asked) {
          const [, found] = attempt(() => right.getVolume(asked)) ?? [];
          const answer = right.deleteVolume(asked);
          leakedBytes += (found as { sizeBytes?: number } | undefined)?.sizeBytes ?? 0;
          return answer;
        },
        getCapacity: () =>
          changeAnswer(right.getCapacity(), ({ availableBytes }) => ({
            availableBytes: Math.max(0, Number(availableBytes) - leakedBytes),
          })),
      };
    },
  },
  'delete-listed': {
    wrong: 'a deleted volume stays in the list',
    caughtBy: 'FL-3.4-1',
    operations: right => {
      const deleted = new Map<string, object>();
      return {
        deleteVolume(asked) {
          const [, shown] = attempt(() => right.getVolume(asked)) ?? [];
          const answer = right.deleteVolume(asked);
          if (shown) deleted.set(asked.volumeId, shown);
          return answer;
        },
        listVolumes: asked =>
          changeAnswer(right.listVolumes(asked), ({ volumes: listed }) => ({
            volumes: [...(listed as object[]), ...deleted.values()],
          })),
      };
    },
  },
  'expand-shrinks': {
    wrong: 'expanding to a smaller size shrinks the volume',
    caughtBy: 'FL-3.5-2',
    operations: (right, disk) => ({
      expandVolume(asked) {
        const volume = disk.require(volumeNamed(asked.volumeId));
        const { requiredBytes = volume.sizeBytes } = asked.body;
        if (requiredBytes < volume.sizeBytes) disk.put({ ...volume, sizeBytes: requiredBytes });
        return right.expandVolume(asked);
      },
    }),
  },
  'expand-repeats': {
    wrong: 'repeating an expansion after a lost answer expands the volume again',
    caughtBy: 'FL-3.5-2',
    operations: (right, disk) => ({
      expandVolume(asked) {
        const { sizeBytes } = disk.require(volumeNamed(asked.volumeId));
        const { requiredBytes = 0 } = asked.body;
        const body = requiredBytes === sizeBytes ? { requiredBytes: sizeBytes + mebibyte } : asked.body;
        return right.expandVolume({ ...asked, body });
      },
    }),
  },
  'modify-forgets': {
    wrong: 'changed parameters are answered but not stored',
    caughtBy: 'FL-3.6-1',
    operations: right => ({
      modifyVolume: asked =>
        changeAnswer(right.getVolume(asked), () => ({ mutableParameters: asked.body.mutableParameters })),
    }),
  },
  'hasty-create': {
    wrong: 'some of many equal concurrent requests for one URL are refused as different',
    caughtBy: 'FL-3.2-4',
    isHasty: true,
    operations: (right, disk) => ({
      async createVolume(asked) {
        const isThere = disk.find(volumeNamed(asked.volumeId)) !== undefined;
        await setTimeout(20);
        if (!isThere && disk.find(volumeNamed(asked.volumeId)))
          throw new Problem('ALREADY_EXISTS', 'there is a volume already');
        return right.createVolume(asked);
      },
    }),
  },
} as const satisfies Readonly<Record<string, Breakage>>;

function secondsTaken({ createdAt }: Members) {
  return { createdAt: new Date(Date.parse(String(createdAt)) / 1_000).toISOString() };
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

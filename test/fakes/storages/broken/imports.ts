import { copyFileSync, truncateSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { volumeNamed, type Disk } from '../../../../examples/vendor-hono/disk.ts';
import type { AnyAnswer } from '../../../../src/sdk/server/vendor.ts';
import { changeAnswer, raceMs, type Breakage, type CorrectOperations, type Operation } from '../breakage.ts';
import { directoryOf, pathOf } from '../features/imports.ts';

type Asked = Parameters<Operation<'createVolume'>>[0];

/** Faults in importing volumes of a former driver. */
export const imports = {
  'import-anew': {
    wrong: 'importing again makes the volume anew',
    caughtBy: 'FL-3.9-1',
    hasImports: true,
    operations: right => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        const createdAt = new Date().toISOString();
        return asked.body.existing ? changeAnswer(answer, () => ({ createdAt })) : answer;
      },
    }),
  },
  'import-twice': {
    wrong: 'concurrent requests import an existing volume twice',
    caughtBy: 'FL-3.9-2',
    hasImports: true,
    isHasty: true,
    operations: (right, disk) => importByMemory(right, disk, () => setTimeout(raceMs)),
  },
  'import-outlives': {
    wrong: 'deleting an imported volume keeps the existing one',
    caughtBy: 'FL-3.9-3',
    hasImports: true,
    operations: (right, disk) => {
      const handles = new Map<string, string>();
      return {
        createVolume(asked) {
          handles.set(asked.volumeId, asked.body.existing?.handle ?? '');
          return right.createVolume(asked);
        },
        deleteVolume(asked) {
          const handle = handles.get(asked.volumeId) ?? '';
          const path = pathOf(directoryOf(disk), handle);
          if (handle !== '') copyFileSync(path, `${path}-kept`);
          const answer = right.deleteVolume(asked);
          if (handle !== '') copyFileSync(`${path}-kept`, path);
          return answer;
        },
      };
    },
  },
  'import-unseen': {
    wrong: 'a request with another existing volume returns the imported one',
    caughtBy: 'FL-3.9-4',
    hasImports: true,
    operations: (right, disk) => ({
      createVolume: asked =>
        asked.body.existing && disk.find(volumeNamed(asked.volumeId))
          ? right.getVolume(asked)
          : right.createVolume(asked),
    }),
  },
  'import-ignored': {
    wrong: 'a request for an existing volume makes an empty one',
    caughtBy: 'FL-3.9-5',
    hasImports: true,
    operations: right => ({
      createVolume(asked) {
        const { existing: _, ...body } = asked.body;
        return right.createVolume({ ...asked, body });
      },
    }),
  },
  'import-blank': {
    wrong: 'an imported volume counts as blank',
    caughtBy: 'FL-3.9-6',
    hasImports: true,
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        const volume = disk.require(volumeNamed(asked.volumeId));
        if (asked.body.existing) disk.put({ ...volume, holdsData: false });
        return answer;
      },
    }),
  },
  'import-forgotten': {
    wrong: 'an import is forgotten at a restart',
    caughtBy: 'FL-8.3-6',
    needs: 'restart',
    hasImports: true,
    operations: (right, disk) => importByMemory(right, disk),
  },
  'import-wiped': {
    wrong: 'an import wipes the volume',
    caughtBy: 'FL-9.1-11',
    needs: 'data',
    hasImports: true,
    operations: (right, disk) => ({
      async createVolume(asked) {
        const answer = await right.createVolume(asked);
        if (asked.body.existing && answer[0] === 201) {
          const { sizeBytes, ...name } = disk.require(volumeNamed(asked.volumeId));
          truncateSync(disk.pathOf(name), 0);
          truncateSync(disk.pathOf(name), sizeBytes);
        }
        return answer;
      },
    }),
  },
} satisfies Readonly<Record<string, Breakage>>;

/** Makes a creation that only remembers in its process which volumes are imported; `pause` comes before it remembers. */
function importByMemory(right: CorrectOperations, disk: Disk, pause?: () => Promise<unknown>) {
  const seen = new Set<string>();
  return {
    async createVolume(asked: Asked): Promise<AnyAnswer> {
      const { handle = '' } = asked.body.existing ?? {};
      const isFree = !seen.has(handle);
      if (pause) await pause();
      seen.add(handle);
      return isFree ? importAnyway(right, disk, asked) : right.createVolume(asked);
    },
  };
}

/** Imports the volume, or a copy of it if it is imported already. */
async function importAnyway(right: CorrectOperations, disk: Disk, asked: Asked): Promise<AnyAnswer> {
  const { existing } = asked.body;
  if (!existing) return right.createVolume(asked);
  try {
    return await right.createVolume(asked);
  } catch {
    const handle = `${existing.handle}-copy`;
    const path = pathOf(directoryOf(disk), existing.handle);
    copyFileSync(path, pathOf(directoryOf(disk), handle));
    return right.createVolume({ ...asked, body: { ...asked.body, existing: { ...existing, handle } } });
  }
}

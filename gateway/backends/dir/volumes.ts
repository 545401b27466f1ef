import { readdir, rmdir } from 'node:fs/promises';
import { Problem } from '../../../src/api/problem.ts';
import type { CreatedVolume, ExpandedVolume, NewVolume, SizeBounds, VolumeRef } from '../../backend.ts';
import { chooseSize } from '../../sizes.ts';
import { makeDirectory, toProblem } from './directory.ts';
import { isId, lookAtVolume, volumePath } from './paths.ts';
import type { Sizes } from './sizes.ts';
import { discard } from './trash.ts';
import { requireUnmounted } from './use.ts';

/** The volumes of a root: one directory for each. Each operation is as `Backend` says of its own. */
export interface Volumes {
  create(volume: NewVolume): Promise<CreatedVolume>;
  expand(volume: VolumeRef, asked: SizeBounds): Promise<ExpandedVolume>;
  delete(volume: VolumeRef): Promise<void>;
  list(): AsyncIterable<string>;
}

/** Every size is a whole number of these, in bytes; it is the least size too. */
export const stepBytes = 2 ** 20;
const defaultBytes = 2 ** 30;
/** For the gateway's user and group; who else may come in is for whoever mounts the volume to say. */
const mode = 0o770;

/** The volumes of a root. */
export function createVolumes(root: string, sizes: Sizes): Volumes {
  const bounds = { minimumBytes: stepBytes, maximumBytes: sizes.totalBytes, stepBytes, defaultBytes };

  /** The size comes last: a volume that has one is complete. */
  async function make(volume: NewVolume, path: string): Promise<number> {
    const sizeBytes = chooseSize(volume, bounds);
    await makeDirectory(path, root, mode);
    await sizes.set(volume.id, sizeBytes);
    return sizeBytes;
  }

  return {
    async create(volume) {
      const { id } = volume;
      const path = volumePath(root, id);
      const isThere = (await lookAtVolume(root, id)) !== undefined;
      const known = sizes.of(id);
      if (known !== undefined && isThere) return { sizeBytes: requireWithin(known, volume) };
      if (isThere) await requireEmpty(path, id);
      try {
        return { sizeBytes: await make(volume, path) };
      } catch (error) {
        // Only what is empty is removed; what holds something is for a retry to find.
        await rmdir(path).catch(() => {});
        throw toProblem(error, `the directory of volume "${id}"`);
      }
    },

    async expand({ id }, asked) {
      const known = sizes.of(id);
      if (known === undefined || !(await lookAtVolume(root, id)))
        throw new Problem('NOT_FOUND', `the directory of volume "${id}" is not there`);
      if (asked.limitBytes > 0 && known > asked.limitBytes)
        throw new Problem('OUT_OF_RANGE', `volume "${id}" has ${known} bytes already, and never shrinks`);
      const sizeBytes = known < asked.requiredBytes ? chooseSize(asked, bounds) : known;
      try {
        await sizes.set(id, sizeBytes);
      } catch (error) {
        throw toProblem(error, `volume "${id}" larger`);
      }
      return { sizeBytes, nodeExpansionRequired: false };
    },

    async delete({ id }) {
      await requireUnmounted(root, id);
      await discard(root, id);
      await sizes.remove(id);
    },

    async *list() {
      const directories = (await readdir(root, { withFileTypes: true })).filter(
        entry => entry.isDirectory() && isId(entry.name),
      );
      yield* new Set([...directories.map(({ name }) => name), ...sizes.ids()]);
    },
  };
}

/** A directory without a size is what an unfinished create left, and nobody was told of it: it is empty. */
async function requireEmpty(path: string, id: string): Promise<void> {
  if ((await readdir(path)).length > 0)
    throw new Problem('ALREADY_EXISTS', `a directory of volume "${id}" is there already, and is not empty`);
}

function requireWithin(size: number, { id, requiredBytes, limitBytes }: NewVolume): number {
  if (size < requiredBytes || (limitBytes > 0 && size > limitBytes))
    throw new Problem('ALREADY_EXISTS', `volume "${id}" is there already, with ${size} bytes`);
  return size;
}

import { closeSync, constants, fstatSync, fsync, ftruncateSync, openSync } from 'node:fs';
import { readdir, stat, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { Problem } from '../../../src/api/problem.ts';
import type {
  CreatedVolume,
  ExpandedVolume,
  NewVolume,
  SizeBounds,
  VolumeRef,
  VolumeSizes,
  VolumeSource,
} from '../../backend.ts';
import { chooseSize } from '../files/sizes.ts';
import { cutTogether } from './cut.ts';
import { publishDraft } from './drafts.ts';
import { imageId, imagePath, snapshotPath } from './paths.ts';
import { stepBytes, type Pool } from './pool.ts';
import { ignoreMissing, toProblem } from './problems.ts';

/** The images of a pool: one file for each volume. Each operation is as `Backend` says of its own. */
export interface Images {
  create(volume: NewVolume): Promise<CreatedVolume>;
  expand(volume: VolumeRef, asked: SizeBounds): Promise<ExpandedVolume>;
  delete(volume: VolumeRef): Promise<void>;
  list(): AsyncIterable<string>;
}

const defaultBytes = 2 ** 30;
const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
const sync = promisify(fsync);

/** The sizes that images of a pool can have. */
export function sizesOf({ largestBytes }: Pool): Required<VolumeSizes> {
  return { minimumBytes: stepBytes, maximumBytes: largestBytes, stepBytes, defaultBytes };
}

/** The images of a pool. */
export function createImages(pool: Pool): Images {
  const { root, directory, drafts, room } = pool;
  const bounds = sizesOf(pool);

  async function createEmpty(volume: NewVolume, path: string): Promise<number> {
    const fd = openImage(path, volume.id, O_CREAT);
    const wasEmpty = fstatSync(fd).size === 0;
    try {
      const sizeBytes = await complete(fd, volume, path);
      await directory.sync();
      return sizeBytes;
    } catch (error) {
      // One that has its size may be another gateway's by now, if this call took too long.
      if (wasEmpty && fstatSync(fd).size === 0) await remove(path);
      throw toProblem(error, `the image of volume "${volume.id}"`);
    } finally {
      closeSync(fd);
    }
  }

  /** An image that has a size is complete, and is kept as it is; an empty one gets its size. */
  async function complete(fd: number, volume: NewVolume, path: string): Promise<number> {
    const { size } = fstatSync(fd);
    const sizeBytes = size > 0 ? requireWithin(size, volume) : chooseSize(volume, bounds);
    room.take(path, sizeBytes, () => {
      if (size === 0) ftruncateSync(fd, sizeBytes);
    });
    await sync(fd);
    return sizeBytes;
  }

  /** An image that is filled gets its name last: one that has its name is complete. */
  async function createFilled(volume: NewVolume, path: string, source: VolumeSource): Promise<number> {
    const found = await sizeOf(path);
    // An image without a size is what an unfinished create of an empty volume left.
    if (found === 0) await unlink(path).catch(ignoreMissing);
    else if (found !== undefined) {
      room.take(path, requireWithin(found, volume), () => {});
      // It may have its name and not be durable yet.
      await directory.sync();
      return found;
    }
    const from = { ...toOrigin(root, source), target: path };
    const sourceBytes = await sizeOf(from.source);
    if (sourceBytes === undefined) throw new Problem('NOT_FOUND', `the image of ${from.name} is not there`);
    const sizeBytes = chooseSize(atLeast(sourceBytes, volume), bounds);
    room.take(path, sizeBytes);
    try {
      const cut = await cutTogether([{ ...from, sizeBytes }], drafts);
      for (const draft of cut.drafts) await publishDraft(draft);
      await directory.sync();
    } catch (error) {
      room.free(path);
      throw toProblem(error, `the image of volume "${volume.id}"`);
    }
    const madeBytes = (await sizeOf(path)) ?? 0;
    room.settle(path, madeBytes);
    return requireWithin(madeBytes, volume);
  }

  async function remove(path: string): Promise<void> {
    drafts.removeFor(path);
    await unlink(path).catch(ignoreMissing);
    room.free(path);
    await directory.sync();
  }

  /** The room is taken before and, when the file did not grow, given back. */
  async function grow(fd: number, path: string, sizeBytes: number): Promise<void> {
    room.take(path, sizeBytes);
    try {
      ftruncateSync(fd, sizeBytes);
      await sync(fd);
    } finally {
      room.settle(path, fstatSync(fd).size);
    }
  }

  return {
    async create(volume) {
      const path = imagePath(root, volume.id);
      const { source } = volume;
      const sizeBytes = await (source ? createFilled(volume, path, source) : createEmpty(volume, path));
      return { sizeBytes };
    },

    async expand({ id }, asked) {
      const path = imagePath(root, id);
      const fd = openImage(path, id);
      try {
        const { size } = fstatSync(fd);
        if (size < asked.requiredBytes) await grow(fd, path, chooseSize(asked, bounds));
        else if (asked.limitBytes > 0 && size > asked.limitBytes)
          throw new Problem('OUT_OF_RANGE', `volume "${id}" has ${size} bytes already, and never shrinks`);
        else await sync(fd);
        return { sizeBytes: fstatSync(fd).size, nodeExpansionRequired: true };
      } catch (error) {
        throw toProblem(error, `the image of volume "${id}" larger`);
      } finally {
        closeSync(fd);
      }
    },

    delete: ({ id }) => remove(imagePath(root, id)),

    async *list() {
      for (const name of await readdir(root)) {
        const id = imageId(name);
        if (id !== undefined) yield id;
      }
    },
  };
}

function openImage(path: string, id: string, flags = 0): number {
  try {
    return openSync(path, O_RDWR | O_NOFOLLOW | flags, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new Problem('NOT_FOUND', `the image of volume "${id}" is not there`, error);
    throw toProblem(error, `the image of volume "${id}"`);
  }
}

/** Data is never cut off nor handed to another volume: an image of another size is left as it is. */
function requireWithin(size: number, { id, requiredBytes, limitBytes }: NewVolume): number {
  if (size < requiredBytes || (limitBytes > 0 && size > limitBytes))
    throw new Problem('ALREADY_EXISTS', `an image of volume "${id}" is there already, with ${size} bytes`);
  return size;
}

function toOrigin(root: string, source: VolumeSource) {
  if (source.kind === 'snapshot') {
    const { id } = source.snapshot;
    return { name: `snapshot "${id}"`, source: snapshotPath(root, id), attachedForWriting: false };
  }
  const { volume, attachedForWriting } = source;
  return { name: `volume "${volume.id}"`, source: imagePath(root, volume.id), attachedForWriting };
}

function atLeast(sizeBytes: number, { requiredBytes, limitBytes }: SizeBounds): SizeBounds {
  return { requiredBytes: Math.max(requiredBytes, sizeBytes), limitBytes };
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(ignoreMissing))?.size;
}

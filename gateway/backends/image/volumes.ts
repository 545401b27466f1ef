import { closeSync, constants, fstatSync, fsync, ftruncateSync, openSync } from 'node:fs';
import { readdir, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { Problem } from '../../../src/api/problem.ts';
import type { Backend, NewVolume, VolumeSource } from '../../backend.ts';
import { copyTogether, type Copy } from './copies.ts';
import { publishDraft, type CreateDraft } from './drafts.ts';
import { ignoreMissing, sizeOf, toProblem, type Directory } from './files.ts';
import { imageId, imagePath, snapshotPath } from './paths.ts';

/** The images of a pool: one file for each volume. */
export type Images = Required<Pick<Backend, 'create' | 'expand' | 'delete' | 'list'>>;

/** The pool's directory, opened, and where copies are made. */
export type ImagePool = {
  readonly root: string;
  readonly directory: Directory;
  readonly createDraft: CreateDraft;
};

const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
const sync = promisify(fsync);

/** The images of a pool. */
export function createImages({ root, directory, createDraft }: ImagePool): Images {
  /** An image that has a size is complete, and is kept as it is; an empty one gets its size. */
  async function createEmpty(volume: NewVolume, path: string): Promise<number> {
    const fd = openImage(path, volume.id, O_CREAT);
    const { size } = fstatSync(fd);
    try {
      if (size > 0) requireWithin(size, volume);
      else ftruncateSync(fd, volume.requiredBytes);
      await sync(fd);
      await directory.sync();
      return fstatSync(fd).size;
    } catch (error) {
      if (size === 0) await remove(path);
      throw toProblem(error, `the image of volume "${volume.id}"`);
    } finally {
      closeSync(fd);
    }
  }

  /** An image that is filled gets its name last: one that has its name is complete. */
  async function createFilled(volume: NewVolume, path: string, source: VolumeSource): Promise<number> {
    const found = await sizeOf(path);
    // An image without a size is what an unfinished create of an empty volume left.
    if (found === 0) await unlink(path).catch(ignoreMissing);
    if (found) requireWithin(found, volume);
    else {
      const copy = { ...toCopy(root, source), target: path, sizeBytes: volume.requiredBytes };
      await requireSourceWithin(copy, volume);
      try {
        for (const draft of await copyTogether([copy], createDraft)) await publishDraft(draft);
      } catch (error) {
        throw toProblem(error, `the image of volume "${volume.id}"`);
      }
    }
    // One that was found may have its name and not be durable yet.
    await directory.sync();
    return requireWithin((await sizeOf(path)) ?? 0, volume);
  }

  async function remove(path: string): Promise<void> {
    await unlink(path).catch(ignoreMissing);
    await directory.sync();
  }

  return {
    async create(volume) {
      const path = imagePath(root, volume.id);
      const { source } = volume;
      return {
        sizeBytes: await (source ? createFilled(volume, path, source) : createEmpty(volume, path)),
      };
    },

    async expand({ id }, { requiredBytes, limitBytes }) {
      const fd = openImage(imagePath(root, id), id);
      try {
        const { size } = fstatSync(fd);
        if (limitBytes > 0 && size > limitBytes)
          throw new Problem('OUT_OF_RANGE', `volume "${id}" has ${size} bytes and cannot shrink`);
        if (size < requiredBytes) ftruncateSync(fd, requiredBytes);
        await sync(fd);
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
    throw toProblem(error, `the image of volume "${id}"`);
  }
}

/** Data is never cut off nor handed to another volume: an image of another size is left as it is. */
function requireWithin(size: number, { id, requiredBytes, limitBytes }: NewVolume): number {
  if (size < requiredBytes || (limitBytes > 0 && size > limitBytes))
    throw new Problem('ALREADY_EXISTS', `the image of volume "${id}" exists and has ${size} bytes`);
  return size;
}

/** A copy is never cut off: its source may have grown without that being recorded yet. */
async function requireSourceWithin({ name, source }: Copy, { limitBytes }: NewVolume): Promise<void> {
  const size = await sizeOf(source);
  if (size === undefined) throw new Problem('NOT_FOUND', `the image of ${name} is missing`);
  if (limitBytes > 0 && size > limitBytes)
    throw new Problem('OUT_OF_RANGE', `${name} has ${size} bytes, more than the ${limitBytes} asked for`);
}

function toCopy(root: string, source: VolumeSource) {
  if (source.kind === 'snapshot') {
    const { id } = source.snapshot;
    return { name: `snapshot "${id}"`, source: snapshotPath(root, id), attachedForWriting: false };
  }
  const { volume, attachedForWriting } = source;
  return { name: `volume "${volume.id}"`, source: imagePath(root, volume.id), attachedForWriting };
}

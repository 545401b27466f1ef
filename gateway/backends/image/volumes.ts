import { closeSync, constants, fstatSync, ftruncateSync, openSync } from 'node:fs';
import { Problem } from '../../../src/api/problem.ts';
import type { Backend, NewVolume, VolumeSource } from '../../backend.ts';
import { fileProblem } from '../local/files.ts';
import { copyTogether, fromSnapshot, fromVolume } from './copies.ts';
import { syncFile, type ImagePool } from './pool.ts';

/** The images of a pool: one file for each volume. */
export type Images = Required<Pick<Backend, 'create' | 'expand' | 'delete' | 'list'>>;

const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;

/** The images of a pool. */
export function createImages(pool: ImagePool): Images {
  const { images } = pool;

  /** Gives an image the size that is chosen for the one it has, and returns that once it is durable. */
  async function resize(id: string, flags: number, sizeFor: (size: number) => number): Promise<number> {
    let [fd, isNew] = [-1, false];
    try {
      fd = openSync(images.pathOf(id), O_RDWR | O_NOFOLLOW | flags, 0o600);
      const { size } = fstatSync(fd);
      isNew = flags === O_CREAT && size === 0;
      const sizeBytes = sizeFor(size);
      if (sizeBytes !== size) ftruncateSync(fd, sizeBytes);
      await syncFile(fd);
      return sizeBytes;
    } catch (error) {
      if (isNew) await images.remove([id]);
      throw fileProblem(error, `the image of volume "${id}"`);
    } finally {
      if (fd >= 0) closeSync(fd);
    }
  }

  /** A copy gets its name last: one that has it is complete. */
  async function fill(volume: NewVolume, source: VolumeSource): Promise<void> {
    const found = await images.sizeOf(volume.id);
    if (found) return;
    // An image without a size is what an unfinished create of an empty volume left.
    if (found === 0) await images.remove([volume.id]);
    const { limitBytes, requiredBytes: sizeBytes } = volume;
    const from = source.kind === 'snapshot' ? fromSnapshot(pool, source.snapshot) : fromVolume(pool, source);
    await copyTogether(pool, [{ ...from, target: images.pathOf(volume.id), sizeBytes, limitBytes }]);
  }

  return {
    /** An image that has a size is complete, and stays as it is; an empty one gets its size. */
    async create(volume) {
      const { id, source, requiredBytes } = volume;
      if (source) await fill(volume, source);
      const sizeBytes = await resize(id, source ? 0 : O_CREAT, size =>
        size > 0 ? requireWithin(size, volume) : requiredBytes,
      );
      await images.sync();
      return { sizeBytes };
    },

    async expand({ id }, { requiredBytes }) {
      const sizeBytes = await resize(id, 0, size => Math.max(size, requiredBytes));
      return { sizeBytes, nodeExpansionRequired: true };
    },

    delete: ({ id }) => images.remove([id]),
    list: images.list,
  };
}

/** Data is never truncated nor handed to another volume: an image of another size is left as it is. */
function requireWithin(size: number, { id, requiredBytes, limitBytes }: NewVolume): number {
  if (size < requiredBytes || (limitBytes > 0 && size > limitBytes))
    throw new Problem('ALREADY_EXISTS', `the image of volume "${id}" exists and has ${size} bytes`);
  return size;
}

import { closeSync, constants, fstatSync, ftruncateSync, openSync } from 'node:fs';
import { open, stat, statfs } from 'node:fs/promises';
import * as z from 'zod';
import { preconditionProblem, Problem } from '../../../src/api/problem.ts';
import { exec } from '../../../src/lib/exec.ts';
import type {
  Backend,
  HealthEntry,
  KnownVolume,
  Modification,
  NewVolume,
  VolumeRef,
  VolumeSource,
} from '../../backend.ts';
import type { ExportedVolume } from '../../export.ts';
import { commandProblem, fileProblem, filesystemFaults, readFault, syncFile } from '../../local/files.ts';
import { isForeign, mark, requireMadeFor, requireNotForeign } from '../../local/marks.ts';
import { copyImage, fromSnapshot, fromVolume, requireFree } from './copies.ts';
import { allocatedBytes, type ImagePool } from './pool.ts';
import { requireUnused } from './use.ts';

const { O_CREAT, O_NOFOLLOW, O_RDONLY, O_RDWR } = constants;

/**
 * Filesystems (ext4, xfs) that overwrite allocated blocks in place, so that a write to an allocated block needs no
 * space.
 */
const inPlaceFilesystems: ReadonlySet<number> = new Set([0xef53, 0x58465342]);
const allocateTimeoutMs = 10 * 60_000;
const probeBytes = 4_096;

export function createImages(
  pool: ImagePool,
): Required<Pick<Backend, 'create' | 'expand' | 'delete' | 'attach' | 'detach' | 'volumeHealth' | 'list'>> {
  const { images, exported } = pool;

  /** Resizes an image to `sizeFor` its present size. Returns the new size once it is durable. */
  async function resize(
    id: string,
    flags: number,
    sizeFor: (size: number, path: string) => number,
  ): Promise<number> {
    let fd = -1;
    try {
      const path = images.pathOf(id);
      fd = openSync(path, O_RDWR | O_NOFOLLOW | flags, 0o600);
      const { size } = fstatSync(fd);
      const sizeBytes = sizeFor(size, path);
      if (sizeBytes !== size) ftruncateSync(fd, sizeBytes);
      await syncFile(fd);
      return sizeBytes;
    } catch (error) {
      throw fileProblem(error, `the image of volume "${id}"`);
    } finally {
      if (fd >= 0) closeSync(fd);
    }
  }

  /** Creates a volume's image from a source. A copy gets its name last, so an image with a name is complete. */
  async function fill(volume: NewVolume, source: VolumeSource): Promise<void> {
    const found = await images.sizeOf(volume.id);
    if (found) return;
    // An empty image is left from an unfinished create of an empty volume.
    if (found === 0) await images.remove([{ id: volume.id }]);
    const { nonce, limitBytes, requiredBytes: sizeBytes } = volume;
    const from = source.kind === 'snapshot' ? fromSnapshot(pool, source.snapshot) : fromVolume(pool, source);
    const target = images.pathOf(volume.id);
    await copyImage(pool, { ...from, target, nonce, sizeBytes, limitBytes });
  }

  return {
    /** Creates an image, or keeps one that has a size already: such an image is complete. */
    async create(volume) {
      const { id, source, mutableParameters } = volume;
      if (source) await fill(volume, source);
      const resized = resize(id, source ? 0 : O_CREAT, (size, path) => adopt(size, path, volume));
      // The file has its name, mark and size by now, so one commit of the filesystem's journal covers all three.
      const [sizeBytes] = await Promise.all([resized, images.sync()]);
      if (mutableParameters?.['preallocate'] === 'true') await allocate(pool, volume);
      return { sizeBytes };
    },

    async expand(volume, { requiredBytes }) {
      const sizeBytes = await resize(volume.id, 0, size => {
        requireOwn(pool, volume);
        return Math.max(size, requiredBytes);
      });
      await exported.resize?.({ ...volume, path: images.pathOf(volume.id), sizeBytes });
      return { sizeBytes, nodeExpansionRequired: true };
    },

    async delete(volume) {
      await requireUnused(pool, volume);
      await images.remove([volume]);
    },

    attach: async (volume, access) => exported.publish(await requireImage(pool, volume), access),
    detach: async (volume, nodeId, cluster) =>
      exported.withdraw({ ...volume, path: images.pathOf(volume.id) }, nodeId, cluster),
    volumeHealth: volume => healthOf(pool, volume),
    list: images.list,
  };
}

/** Chooses the size of an image. An image that has a size is complete and stays, if it was made for this volume. */
function adopt(size: number, path: string, volume: NewVolume): number {
  const what = `the image of volume "${volume.id}"`;
  if (size > 0) {
    requireMadeFor(path, volume.nonce, what);
    return requireWithin(size, volume);
  }
  mark(path, volume.nonce, { what });
  return volume.requiredBytes;
}

/**
 * Finds a volume's image, which may have grown beyond the recorded size. FAILED_PRECONDITION when it is missing or
 * too small.
 */
export async function requireImage(
  { images }: ImagePool,
  { id, nonce, sizeBytes }: KnownVolume,
): Promise<ExportedVolume> {
  const path = images.pathOf(id);
  const size = (await images.sizeOf(id)) ?? 0;
  if (size >= sizeBytes && !isForeign(path, nonce))
    return { id, ...(nonce !== undefined && { nonce }), path, sizeBytes: size };
  throw preconditionProblem(`the image of volume "${id}" is missing or smaller than the volume`);
}

function requireOwn({ images }: ImagePool, { id, nonce }: VolumeRef): void {
  requireNotForeign(images.pathOf(id), nonce, `the image of volume "${id}"`);
}

/**
 * Returns the size of an existing image. ALREADY_EXISTS for a size outside the request, since data is never truncated
 * or given to another volume.
 */
function requireWithin(size: number, { id, requiredBytes, limitBytes }: NewVolume): number {
  if (size < requiredBytes || (limitBytes > 0 && size > limitBytes))
    throw new Problem('ALREADY_EXISTS', `the image of volume "${id}" already exists with ${size} bytes`);
  return size;
}

/** Reports the faults of a volume's image and of its filesystem. */
async function healthOf(pool: ImagePool, volume: KnownVolume): Promise<readonly HealthEntry[]> {
  const { id, sizeBytes } = volume;
  const path = pool.images.pathOf(id);
  try {
    requireOwn(pool, volume);
    await using file = await open(path, O_RDONLY | O_NOFOLLOW);
    const { size, blocks } = await file.stat();
    await file.read(Buffer.alloc(probeBytes), 0, probeBytes, 0);
    // Images are sparse: a node's first write to a block needs space in the filesystem.
    const faults = await filesystemFaults(pool.root, Math.max(0, size - blocks * 512));
    if (size >= sizeBytes) return faults;
    const message = `the image of volume "${id}" has ${size} bytes, less than the volume's ${sizeBytes}`;
    return [{ status: 'DATA_LOSS', reason: 'ImageTruncated', message }, ...faults];
  } catch (error) {
    return [readFault(error, 'image', id)];
  }
}

/**
 * Creates the parameter `preallocate`, which allocates all blocks of an image so that writes never lack space.
 * Undefined on a filesystem that cannot guarantee this.
 */
export async function createPreallocation(pool: ImagePool): Promise<Modification | undefined> {
  if (!inPlaceFilesystems.has((await statfs(pool.root)).type)) return undefined;
  return {
    parameters: z.strictObject({ preallocate: z.literal('true').exactOptional() }),
    async apply(volume, { preallocate }) {
      if (preallocate === 'true') await allocate(pool, volume);
    },
  };
}

/**
 * Allocates all blocks of an image. No byte changes, so a node may write meanwhile. RESOURCE_EXHAUSTED when the
 * blocks do not fit.
 */
async function allocate(pool: ImagePool, volume: VolumeRef): Promise<void> {
  requireOwn(pool, volume);
  const { root, images } = pool;
  const [path, what] = [images.pathOf(volume.id), `the image of volume "${volume.id}"`];
  const found = await stat(path).catch(error => {
    throw fileProblem(error, what);
  });
  await requireFree(root, found.size - found.blocks * 512);
  const args = ['--length', String(found.size), '--', path];
  const result = await exec('fallocate', args, { timeoutMs: allocateTimeoutMs });
  if (result.status === 0) return;
  await requireFree(root, found.size - allocatedBytes(path));
  throw commandProblem('fallocate', `allocate ${what}`, result);
}

import { closeSync, constants, fstatSync, ftruncateSync, openSync } from 'node:fs';
import { open, stat, statfs } from 'node:fs/promises';
import { z } from 'zod';
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
import { commandProblem, fileProblem, filesystemFaults, readFault } from '../local/files.ts';
import { isAnothers, mark, requireMadeFor, requireNotAnothers } from '../local/marks.ts';
import { copyTogether, fromSnapshot, fromVolume, requireFree } from './copies.ts';
import { allocatedBytes, type ImagePool, syncFile } from './pool.ts';
import { requireUnused } from './use.ts';

const { O_CREAT, O_NOFOLLOW, O_RDONLY, O_RDWR } = constants;

/** Filesystems that write to allocated blocks where they are, so that what is allocated can be written (ext4, xfs). */
const inPlaceFilesystems: ReadonlySet<number> = new Set([0xef53, 0x58465342]);
const allocateTimeoutMs = 10 * 60_000;
const probeBytes = 4_096;

/** The images of a pool: one file for each volume. */
export function createImages(
  pool: ImagePool,
): Required<Pick<Backend, 'create' | 'expand' | 'delete' | 'attach' | 'detach' | 'volumeHealth' | 'list'>> {
  const { images, exported } = pool;

  /** Gives an image the size that is chosen for the one it has, and returns that once it is durable. */
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

  /** A copy gets its name last: one that has it is complete. */
  async function fill(volume: NewVolume, source: VolumeSource): Promise<void> {
    const found = await images.sizeOf(volume.id);
    if (found) return;
    // An image without a size is what an unfinished create of an empty volume left.
    if (found === 0) await images.remove([{ id: volume.id }]);
    const { nonce, limitBytes, requiredBytes: sizeBytes } = volume;
    const from = source.kind === 'snapshot' ? fromSnapshot(pool, source.snapshot) : fromVolume(pool, source);
    const target = images.pathOf(volume.id);
    await copyTogether(pool, [{ ...from, target, nonce, sizeBytes, limitBytes }]);
  }

  return {
    /** An image that has a size is complete, and stays as it is; an empty one gets its size. */
    async create(volume) {
      const { id, source, mutableParameters } = volume;
      if (source) await fill(volume, source);
      const resized = resize(id, source ? 0 : O_CREAT, (size, path) => adopt(size, path, volume));
      // By now the file has its name, its mark and its size: one commit of the filesystem's journal is for all of them.
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

/** The size that an image is to have: one that has a size is complete if it was made for this volume. */
function adopt(size: number, path: string, volume: NewVolume): number {
  const what = `the image of volume "${volume.id}"`;
  if (size > 0) {
    requireMadeFor(path, volume.nonce, what);
    return requireWithin(size, volume);
  }
  mark(path, volume.nonce, { what });
  return volume.requiredBytes;
}

/** The volume's image, which may have grown without that being recorded yet. */
export async function requireImage(
  { images }: ImagePool,
  { id, nonce, sizeBytes }: KnownVolume,
): Promise<ExportedVolume> {
  const path = images.pathOf(id);
  const size = (await images.sizeOf(id)) ?? 0;
  if (size >= sizeBytes && !isAnothers(path, nonce))
    return { id, ...(nonce !== undefined && { nonce }), path, sizeBytes: size };
  throw preconditionProblem(`the image of volume "${id}" is missing or smaller than the volume`);
}

function requireOwn({ images }: ImagePool, { id, nonce }: VolumeRef): void {
  requireNotAnothers(images.pathOf(id), nonce, `the image of volume "${id}"`);
}

/** Data is never truncated nor handed to another volume: an image of another size is left as it is. */
function requireWithin(size: number, { id, requiredBytes, limitBytes }: NewVolume): number {
  if (size < requiredBytes || (limitBytes > 0 && size > limitBytes))
    throw new Problem('ALREADY_EXISTS', `the image of volume "${id}" exists and has ${size} bytes`);
  return size;
}

/** What is wrong with a volume's image and with the filesystem that it lies on. */
async function healthOf(pool: ImagePool, volume: KnownVolume): Promise<readonly HealthEntry[]> {
  const { id, sizeBytes } = volume;
  const path = pool.images.pathOf(id);
  try {
    requireOwn(pool, volume);
    await using file = await open(path, O_RDONLY | O_NOFOLLOW);
    const { size, blocks } = await file.stat();
    await file.read(Buffer.alloc(probeBytes), 0, probeBytes, 0);
    // Images are sparse: what a node writes for the first time needs space in the filesystem.
    const faults = await filesystemFaults(pool.root, Math.max(0, size - blocks * 512));
    if (size >= sizeBytes) return faults;
    const message = `the image of volume "${id}" has ${size} bytes, less than the volume's ${sizeBytes}`;
    return [{ status: 'DATA_LOSS', reason: 'ImageTruncated', message }, ...faults];
  } catch (error) {
    return [readFault(error, 'image', id)];
  }
}

/** Allocates all blocks, so that writing never lacks space; undefined where the filesystem cannot guarantee that. */
export async function createPreallocation(pool: ImagePool): Promise<Modification | undefined> {
  if (!inPlaceFilesystems.has((await statfs(pool.root)).type)) return undefined;
  return {
    parameters: z.strictObject({ preallocate: z.literal('true').exactOptional() }),
    async apply(volume, { preallocate }) {
      if (preallocate === 'true') await allocate(pool, volume);
    },
  };
}

/** Allocating changes no byte and may be done while a node writes. RESOURCE_EXHAUSTED when it does not fit. */
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
  await requireFree(root, found.size - (await allocatedBytes(path)));
  throw commandProblem('fallocate', `allocate ${what}`, result);
}

import { stat, statfs } from 'node:fs/promises';
import { z } from 'zod';
import { asProblem, Problem } from '../../../src/api/problem.ts';
import { exec } from '../../../src/lib/exec.ts';
import type { CreatedVolume, Modification, NewVolume, VolumeRef } from '../../backend.ts';
import { commandProblem, fileProblem } from '../local/files.ts';
import { requireFree } from './copy.ts';
import { allocatedBytes, type ImagePool } from './pool.ts';
import type { Images } from './volumes.ts';

const timeoutMs = 10 * 60_000;

/** Filesystems that write to allocated blocks where they are, so that what is allocated can be written (ext4, xfs). */
const inPlaceFilesystems: ReadonlySet<number> = new Set([0xef53, 0x58465342]);

/**
 * The mutable parameter `preallocate`: all blocks of the image are allocated now, so that writing to them does not fail
 * when others fill the filesystem. Undefined where the filesystem cannot guarantee that.
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

/** Creates a volume whose blocks are allocated; where that fails, nothing is left of a new one. */
export async function createAllocated(
  pool: ImagePool,
  images: Images,
  volume: NewVolume,
): Promise<CreatedVolume> {
  const heldBytes = await allocatedBytes(pool.images.pathOf(volume.id));
  const made = await images.create(volume);
  try {
    await allocate(pool, volume);
    return made;
  } catch (error) {
    // An image that may hold data is never removed here: it is for a retry to complete.
    if (heldBytes > 0) throw new Problem('UNAVAILABLE', asProblem(error).detail, error);
    await images.delete(volume);
    throw error;
  }
}

/** Allocating changes no byte and may be done while a node writes. RESOURCE_EXHAUSTED when it does not fit. */
async function allocate({ root, images }: ImagePool, { id }: VolumeRef): Promise<void> {
  const [path, what] = [images.pathOf(id), `the image of volume "${id}"`];
  const found = await stat(path).catch(error => {
    throw fileProblem(error, what);
  });
  await requireFree(root, found.size - found.blocks * 512);
  const args = ['--length', String(found.size), '--', path];
  const result = await exec('fallocate', args, { timeoutMs });
  if (result.status === 0) return;
  await requireFree(root, found.size - (await allocatedBytes(path)));
  throw commandProblem('fallocate', `allocate ${what}`, result);
}

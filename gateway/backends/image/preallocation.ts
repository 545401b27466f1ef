import { stat, statfs } from 'node:fs/promises';
import { z } from 'zod';
import { Problem } from '../../../src/api/problem.ts';
import { exec } from '../../../src/lib/exec.ts';
import type { KnownVolume, Modification } from '../../backend.ts';
import { requireFree } from './copy.ts';
import { allocatedBytes, ignoreMissing } from './files.ts';
import { imagePath } from './paths.ts';

const timeoutMs = 10 * 60_000;

/** Filesystems that write to allocated blocks in place, so that what is allocated can be written (ext4, xfs). */
const inPlaceFilesystems: ReadonlySet<number> = new Set([0xef53, 0x58465342]);

/**
 * The mutable parameter `preallocate`: all blocks of the image are allocated now, so that writing to them does not fail
 * when others fill the filesystem. Undefined where the filesystem cannot guarantee that.
 */
export async function createPreallocation(root: string): Promise<Modification | undefined> {
  if (!inPlaceFilesystems.has((await statfs(root)).type)) return undefined;
  return {
    parameters: z.strictObject({
      preallocate: z.literal('true').optional(),
    }) as unknown as Modification['parameters'],
    async apply(volume, { preallocate }) {
      if (preallocate === 'true') await allocate(root, volume);
    },
  };
}

/** Allocating changes no byte and may be done while a node writes. RESOURCE_EXHAUSTED when it does not fit. */
async function allocate(root: string, { id }: KnownVolume): Promise<void> {
  const path = imagePath(root, id);
  const found = await stat(path).catch(ignoreMissing);
  if (!found) throw new Problem('NOT_FOUND', `the image of volume "${id}" is missing`);
  await requireFree(root, found.size - found.blocks * 512);
  const args = ['--length', String(found.size), '--', path];
  const { status, missing } = await exec('fallocate', args, { timeoutMs });
  if (status === 0) return;
  await requireFree(root, found.size - (await allocatedBytes(path)));
  const reason = missing
    ? 'the command "fallocate" is not installed'
    : `fallocate ended with status ${status}`;
  throw new Problem('UNAVAILABLE', `cannot allocate the image of volume "${id}": ${reason}`);
}

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { HealthEntry, KnownVolume } from '../../backend.ts';
import { filesystemFaults, readFault } from '../local/health.ts';
import type { ImagePool } from './pool.ts';

const probeBytes = 4_096;

/** What is wrong with a volume's image and with the filesystem that it lies on. */
export async function healthOf(
  { root, images }: ImagePool,
  { id, sizeBytes }: KnownVolume,
): Promise<readonly HealthEntry[]> {
  const path = images.pathOf(id);
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const { size, blocks } = await file.stat();
    await file.read(Buffer.alloc(probeBytes), 0, probeBytes, 0);
    // Images are sparse: what a node writes for the first time needs space in the filesystem.
    const faults = await filesystemFaults(root, Math.max(0, size - blocks * 512));
    if (size >= sizeBytes) return faults;
    const message = `the image of volume "${id}" has ${size} bytes, less than the volume's ${sizeBytes}`;
    return [{ status: 'DATA_LOSS', reason: 'ImageTruncated', message }, ...faults];
  } catch (error) {
    return [readFault(error, 'image', id)];
  }
}

import { readdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { clusterOf } from '../../../src/api/ids.ts';
import { Problem } from '../../../src/api/problem.ts';

/** How much of the pool the images have, in bytes, as if none were sparse. */
export interface Room {
  readonly totalBytes: number;
  readonly freeBytes: number;
  /** Counts the image, in place of what was counted for it; RESOURCE_EXHAUSTED when it does not fit. */
  take(id: string, sizeBytes: number): void;
  /** Counts the image no more. */
  free(id: string): void;
}

const suffix = '.img';

/** Where the image of a volume lies: always right below the root. INVALID_ARGUMENT for what is no volume's id. */
export function imagePath(root: string, id: string): string {
  if (clusterOf(id) === undefined) throw new Problem('INVALID_ARGUMENT', `"${id}" is not a volume id`);
  return join(root, id + suffix);
}

/** The volume whose image a file is, or undefined when it is something else. */
export function imageId(fileName: string): string | undefined {
  const id = fileName.endsWith(suffix) ? fileName.slice(0, -suffix.length) : '';
  return clusterOf(id) === undefined ? undefined : id;
}

/**
 * Counts the images that are there. Without `capacityBytes` the pool is what the filesystem could hold now: its free
 * space and what the images have of it.
 */
export function createRoom(root: string, capacityBytes?: number): Room {
  const sizes = new Map<string, number>();
  let usedBytes = 0;
  let allocatedBytes = 0;
  for (const name of readdirSync(root)) {
    const id = imageId(name);
    if (id === undefined) continue;
    const { size, blocks } = statSync(join(root, name));
    sizes.set(id, size);
    usedBytes += size;
    allocatedBytes += blocks * 512;
  }
  const { bavail, bsize } = statfsSync(root);
  const totalBytes = capacityBytes ?? bavail * bsize + allocatedBytes;
  return {
    totalBytes,
    get freeBytes() {
      return Math.max(0, totalBytes - usedBytes);
    },
    take(id, sizeBytes) {
      const before = sizes.get(id) ?? 0;
      const left = totalBytes - usedBytes + before;
      if (sizeBytes > before && sizeBytes > left)
        throw new Problem(
          'RESOURCE_EXHAUSTED',
          `${sizeBytes} bytes do not fit into the ${Math.max(0, left)} that are left`,
        );
      usedBytes += sizeBytes - before;
      sizes.set(id, sizeBytes);
    },
    free(id) {
      usedBytes -= sizes.get(id) ?? 0;
      sizes.delete(id);
    },
  };
}

import { statfs } from 'node:fs/promises';
import { z } from 'zod';
import { accessModes } from '../../src/api/storage.ts';
import { requireWritableDirectory } from '../../src/lib/directories.ts';
import { lockDirectory } from '../../src/lib/directory-lock.ts';
import type { Backend, BackendPlugin } from '../backend.ts';
import { absoluteDirectory, byteCount } from '../configuration/schemas.ts';
import { createChanges } from './image/changes.ts';
import { allocatedBytes, type ImagePool, openPool } from './image/pool.ts';
import { createSnapshots } from './image/snapshots.ts';
import { createImages, createPreallocation } from './image/volumes.ts';
import { createOwnerMark, vacateTimeoutMs } from './local/files.ts';

const settings = z.strictObject({
  dir: absoluteDirectory.describe(
    'directory of the image files; it must be at the same path on the node that uses them',
  ),
  capacity: byteCount
    .optional()
    .describe('bytes that all images together may have; else what the filesystem can hold at the start'),
});

/** Volumes as sparse files in a directory of this machine, used on this machine through loop devices. */
export const image: BackendPlugin<typeof settings> = {
  settings,
  async open({ dir, capacity }) {
    const what = 'the image directory';
    const root = await requireWritableDirectory(dir, what);
    const release = await lockDirectory(root, what, vacateTimeoutMs);
    try {
      const backend = await openImages(root, capacity);
      let closing: Promise<void> | undefined;
      return { ...backend, close: () => (closing ??= backend.close().finally(release)) };
    } catch (error) {
      release();
      throw error;
    }
  },
};

/** Opens the backend on a directory that no other process opens now. */
export async function openImages(root: string, capacity?: number) {
  const pool = openPool(root);
  await pool.images.sync();
  const totalBytes = capacity ?? (await measureCapacity(pool));
  const modification = await createPreallocation(pool);
  return {
    name: 'image',
    ...createImages(pool),
    accessModes: accessModes.filter(mode => mode.startsWith('SINGLE_NODE')),
    accessTypes: ['mount', 'block'],
    parameters: z.strictObject({}),
    sizes: { minimumBytes: 2 ** 20, stepBytes: 2 ** 20, defaultBytes: 2 ** 30 },
    sources: ['snapshot', 'volume'],
    snapshots: createSnapshots(pool),
    changes: createChanges(pool),
    ...(modification && { modification }),
    owner: createOwnerMark(root),
    capacity: async () => ({ totalBytes }),
    async close() {
      await pool.snapshots.close();
      await pool.images.close();
    },
  } satisfies Backend;
}

/** What the filesystem could hold of images and snapshots now, in bytes: its free space and what they have of it. */
async function measureCapacity({ root, images, snapshots }: ImagePool): Promise<number> {
  let heldBytes = 0;
  for (const files of [images, snapshots]) {
    const paths = (await Array.fromAsync(files.list())).map(files.pathOf);
    for (const bytes of await Promise.all(paths.map(allocatedBytes))) heldBytes += bytes;
  }
  const { blocks, bfree, bavail, bsize } = await statfs(root);
  // Files that share blocks show them each, so that together they may show more than the filesystem has in use.
  return bavail * bsize + Math.min(heldBytes, (blocks - bfree) * bsize);
}

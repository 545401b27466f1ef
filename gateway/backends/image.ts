import { z } from 'zod';
import { asProblem, Problem } from '../../src/api/problem.ts';
import { requireWritableDirectory } from '../../src/lib/directories.ts';
import { lockDirectory } from '../../src/lib/directory-lock.ts';
import type { Backend, BackendPlugin, CreatedVolume, Modification, NewVolume } from '../backend.ts';
import { absoluteDirectory, byteCount } from '../configuration/schemas.ts';
import { measureCapacity } from './image/capacity.ts';
import { createChanges } from './image/changes.ts';
import { openDrafts } from './image/drafts.ts';
import { allocatedBytes, openDirectory } from './image/files.ts';
import { healthOf } from './image/health.ts';
import { imagePath } from './image/paths.ts';
import { createPreallocation } from './image/preallocation.ts';
import { openSnapshots } from './image/snapshots.ts';
import { reachImage, requireUnused } from './image/use.ts';
import { createImages, type Images } from './image/volumes.ts';

const settings = z.strictObject({
  dir: absoluteDirectory.describe(
    'directory of the image files; it must be at the same path on the node that uses them',
  ),
  capacity: byteCount
    .optional()
    .describe('bytes that all images together may have; else what the filesystem can hold at the start'),
});

/** How long a gateway that ends may take to free the directory, in milliseconds. */
const vacateTimeoutMs = 5_000;

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

const accessModes = [
  'SINGLE_NODE_WRITER',
  'SINGLE_NODE_READER_ONLY',
  'SINGLE_NODE_SINGLE_WRITER',
  'SINGLE_NODE_MULTI_WRITER',
] as const;

/** Opens the backend on a directory that no other process opens now. */
export async function openImages(
  root: string,
  capacity?: number,
): Promise<Backend & Required<Pick<Backend, 'close'>>> {
  const pool = { root, directory: openDirectory(root), createDraft: openDrafts(root) };
  const images = createImages(pool);
  const snapshots = openSnapshots(root, pool.createDraft);
  await pool.directory.sync();
  const totalBytes = capacity ?? measureCapacity(root);
  const modification = await createPreallocation(root);
  return {
    name: 'image',
    accessModes,
    accessTypes: ['mount', 'block'],
    parameters: z.strictObject({}),
    sizes: { minimumBytes: 2 ** 20, stepBytes: 2 ** 20, defaultBytes: 2 ** 30 },
    sources: ['snapshot', 'volume'],
    snapshots,
    changes: createChanges(root),
    ...(modification && { modification }),
    create: volume => createModified({ root, images, modification }, volume),
    expand: images.expand,
    async delete(volume) {
      requireUnused(root, volume);
      await images.delete(volume);
    },
    attach: volume => reachImage(root, volume),
    detach: async volume => requireUnused(root, volume),
    volumeHealth: volume => healthOf(root, volume),
    capacity: async () => ({ totalBytes }),
    list: images.list,
    async close() {
      await snapshots.close();
      await pool.directory.close();
    },
  };
}

type Making = {
  readonly root: string;
  readonly images: Images;
  readonly modification: Modification | undefined;
};

async function createModified(
  { root, images, modification }: Making,
  volume: NewVolume,
): Promise<CreatedVolume> {
  const heldBytes = await allocatedBytes(imagePath(root, volume.id));
  const made = await images.create(volume);
  try {
    const known = { id: volume.id, ...made, parameters: volume.parameters };
    await modification?.apply(known, volume.mutableParameters ?? {});
    return made;
  } catch (error) {
    // An image that may hold data is never removed here: it is for a retry to complete.
    if (heldBytes > 0) throw new Problem('UNAVAILABLE', asProblem(error).detail, error);
    await images.delete(volume);
    throw error;
  }
}

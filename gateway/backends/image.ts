import { statfs } from 'node:fs/promises';
import { z } from 'zod';
import { asProblem } from '../../src/api/problem.ts';
import { directoryFaults, requireWritableDirectory } from '../../src/lib/directories.ts';
import { lockDirectory } from '../../src/lib/directory-lock.ts';
import { type Log, silentLog } from '../../src/lib/log.ts';
import type { AttachedVolume, Backend, BackendPlugin } from '../backend.ts';
import { absoluteDirectory, byteCount } from '../configuration/schemas.ts';
import type { Export, ExportedAttachment } from '../export.ts';
import { exportSettings, openExport } from '../exports/index.ts';
import { openLoop } from '../exports/loop.ts';
import { createChanges } from './image/changes.ts';
import { allocatedBytes, type ImagePool, openPool } from './image/pool.ts';
import { createSnapshots } from './image/snapshots.ts';
import { createImages, createPreallocation, requireImage } from './image/volumes.ts';
import { createOwnerMark, vacateTimeoutMs } from './local/files.ts';
import { readPoolKey } from './local/pool-key.ts';

const settings = z.strictObject({
  dir: absoluteDirectory.describe(
    'directory of the image files; without export it must be at the same path on the node that uses them',
  ),
  capacity: byteCount
    .optional()
    .describe('bytes that all images together may have; else what the filesystem can hold at the start'),
  export: exportSettings
    .optional()
    .describe('how nodes on other machines reach the volumes; without it they are for this machine alone'),
});

const what = 'the image directory';
const loopAlone = { protocol: 'loop' } as const;

/** Volumes as sparse files in a directory of this machine, used there through loop devices, or exported to others. */
export const image: BackendPlugin<typeof settings> = {
  settings,
  async check({ dir, export: chosen = loopAlone }) {
    // Nothing is derived from the key by what looks only.
    const context = { root: dir, log: silentLog, poolKey: async () => new Uint8Array(32) };
    const lacks = (await (await openExport(chosen, context)).check?.()) ?? [];
    return [...(await directoryFaults(dir, what)), ...lacks.map(lack => `export: ${lack}`)];
  },
  async open({ dir, capacity, export: chosen = loopAlone }, { log }) {
    const root = await requireWritableDirectory(dir, what);
    const release = await lockDirectory(root, what, vacateTimeoutMs);
    try {
      const exported = await openExport(chosen, { root, log, poolKey: () => readPoolKey(root) });
      const faults = await exported.check?.();
      if (faults?.length) throw new Error(`export: ${faults.join('; ')}`);
      const backend = await openImages(root, capacity, { exported, log });
      let closing: Promise<void> | undefined;
      return { ...backend, close: () => (closing ??= backend.close().finally(release)) };
    } catch (error) {
      release();
      throw error;
    }
  },
};

/** How its images leave the machine, and who is told of those that do not. */
type Exporting = { readonly exported: Export; readonly log: Log };

/** Opens the backend on a directory that no other process opens now. */
export async function openImages(
  root: string,
  capacity?: number,
  { exported, log }: Exporting = { exported: openLoop(), log: silentLog },
) {
  const pool = openPool(root, exported);
  await pool.images.sync();
  const totalBytes = capacity ?? (await measureCapacity(pool));
  const modification = await createPreallocation(pool);
  return {
    name: 'image',
    ...createImages(pool),
    accessModes: exported.accessModes,
    accessTypes: ['mount', 'block'],
    parameters: z.strictObject({}),
    sizes: { minimumBytes: 2 ** 20, stepBytes: 2 ** 20, defaultBytes: 2 ** 30 },
    sources: ['snapshot', 'volume'],
    snapshots: createSnapshots(pool),
    changes: createChanges(pool),
    ...(modification && { modification }),
    owner: createOwnerMark(root),
    capacity: async () => ({ totalBytes }),
    restore: async attached => exported.restore?.(imagesOf(pool, attached, log)),
    async close() {
      await exported.close?.();
      await pool.snapshots.close();
      await pool.images.close();
    },
  } satisfies Backend;
}

/** One whose image is missing keeps no other from its nodes. */
async function* imagesOf(
  pool: ImagePool,
  attached: AsyncIterable<AttachedVolume>,
  log: Log,
): AsyncGenerator<ExportedAttachment> {
  for await (const { volume, access, reach } of attached) {
    const { protocol } = pool.exported;
    if (reach && reach.protocol !== protocol)
      throw new Error(
        `export: volume "${volume.id}" is attached to node "${access.nodeId}" over ${reach.protocol}; detach it before that becomes ${protocol}`,
      );
    try {
      yield { volume: await requireImage(pool, volume), access, reach };
    } catch (error) {
      const { code, detail } = asProblem(error);
      log.error('a volume that is attached cannot be exported', { volumeId: volume.id, code, detail });
    }
  }
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

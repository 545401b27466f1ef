import { unavailableProblem } from '../../src/api/problem.ts';
import { readdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { directoryFaults, requireWritableDirectory } from '../../src/lib/directories.ts';
import { lockDirectory } from '../../src/lib/linux/directory-lock.ts';
import type { Log } from '../../src/lib/log.ts';
import type { AttachmentBounds, Backend, BackendPlugin } from '../backend.ts';
import {
  exportBounds,
  exportedAttachments,
  exportSetting,
  findExportFaults,
} from '../local/exported-attachments.ts';
import { absoluteDirectory, byteCount } from '../local/settings-schemas.ts';
import type { Export, ExportPlugin, ExportSettings } from '../export.ts';
import { createChanges } from './image/changes.ts';
import { sharesAtomically } from './image/copies.ts';
import { allocatedBytes, type ImagePool, openPool } from './image/pool.ts';
import { createSnapshots } from './image/snapshots.ts';
import { createImages, createPreallocation, requireImage } from './image/volumes.ts';
import { createOwnerMark, ignore, vacateTimeoutMs } from '../local/files.ts';
import { readPoolKey } from '../local/pool-key.ts';

const settingsWith = (exports: z.ZodType<ExportSettings>) =>
  z.strictObject({
    dir: absoluteDirectory.describe(
      'directory of the image files; without export it must have the same path on the node',
    ),
    capacity: byteCount
      .optional()
      .describe(
        'maximum bytes of all images together; default: the space that they use at the start, and the free space of the filesystem',
      ),
    export: exports
      .optional()
      .describe(
        'the export of volumes to nodes on other machines; without it only this machine can use them',
      ),
  });

const what = 'the image directory';
const kind = 'file';
const loopOnly: ExportSettings = { protocol: 'loop' };

/**
 * Stores volumes as sparse files in a directory of this machine, and attaches them as loop devices or through one of
 * the exports.
 */
export function image(exports: ExportPlugin): BackendPlugin<ReturnType<typeof settingsWith>> {
  return {
    settings: settingsWith(exportSetting(exports, kind)),
    addressOf: ({ dir }) => dir,
    async check({ dir, export: chosen = loopOnly }) {
      const exportFaults = await findExportFaults(exports, chosen, { root: dir, kind });
      return [...(await directoryFaults(dir, what)), ...(await findOldServers(dir)), ...exportFaults];
    },
    missingFeatures: async ({ dir }) =>
      (await sharesAtomically(dir))
        ? []
        : [
            `the filesystem of "${dir}" shares no blocks (reflink), so a snapshot or clone copies all of them, and a volume in use cannot be copied; xfs and btrfs share blocks`,
          ],
    readOwner: ({ dir }) => createOwnerMark(dir).read(),
    expectedBounds: ({ dir, export: chosen = loopOnly }) =>
      boundsOf(dir, { ...chosen, protocol: exports.protocolOf(chosen) }),
    async open({ dir, capacity, export: chosen = loopOnly }, { log }) {
      const root = await requireWritableDirectory(dir, what);
      const release = await lockDirectory(root, what, { waitMs: vacateTimeoutMs, log });
      try {
        const exportFaults = await findExportFaults(exports, chosen, { root, kind });
        const faults = [...(await findOldServers(root)), ...exportFaults];
        if (faults.length > 0) throw unavailableProblem(faults.join('; '));
        const exported = await exports.open(chosen, { root, kind, log, poolKey: () => readPoolKey(root) });
        const backend = await openImages(root, capacity, { exported, log });
        let closing: Promise<void> | undefined;
        return { ...backend, close: () => (closing ??= backend.close().finally(release)) };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

function boundsOf(root: string, exported: Pick<Export, 'protocol' | 'addresses'>): AttachmentBounds {
  return { ...exportBounds(exported), ...(exported.protocol === 'loop' && { roots: [root] }) };
}

/**
 * Reports nbd-servers of an earlier release. One may still write to an image whose volume counts as detached.
 */
async function findOldServers(root: string): Promise<readonly string[]> {
  const directory = join(root, '.nbd');
  const servers = (await readdir(directory).catch(ignore('ENOENT'))) ?? [];
  if (servers.length === 0) return [];
  return [
    `export: nbd is no longer offered, and "${directory}" names servers of it: end them, then remove the directory`,
  ];
}

type ExportContext = { readonly exported: Export; readonly log: Log };

/** Opens the backend on a directory that no other process has open. */
export async function openImages(
  root: string,
  capacity: number | undefined,
  { exported, log }: ExportContext,
) {
  const pool = openPool(root, exported);
  await pool.images.sync();
  const totalBytes = capacity ?? (await measureCapacity(pool));
  const modification = await createPreallocation(pool);
  return {
    name: 'image',
    attachmentBounds: boundsOf(root, exported),
    ...createImages(pool),
    accessModes: exported.accessModes,
    accessTypes: ['mount', 'block'],
    parameters: z.strictObject({}),
    sizes: { minimumBytes: 2 ** 20, stepBytes: 2 ** 20, defaultBytes: 2 ** 30 },
    sources: ['snapshot', 'volume'],
    snapshots: createSnapshots(pool),
    listedAs: `a file CLUSTER.NAME.img in "${root}", listed as CLUSTER.NAME`,
    changes: createChanges(pool),
    ...(modification && { modification }),
    owner: createOwnerMark(root),
    capacity: async () => ({ totalBytes }),
    async restore(attached) {
      const { protocol } = exported;
      await exported.restore?.(
        exportedAttachments(attached, { protocol, log, find: volume => requireImage(pool, volume) }),
      );
    },
    async close() {
      await exported.close?.();
      await pool.snapshots.close();
      await pool.images.close();
    },
  } satisfies Backend;
}

/** Measures the space for images and snapshots in bytes: the free space, and the space that they use already. */
async function measureCapacity({ root, images, snapshots }: ImagePool): Promise<number> {
  let heldBytes = 0;
  for (const files of [images, snapshots])
    for await (const id of files.list()) heldBytes += allocatedBytes(files.pathOf(id));
  const { blocks, bfree, bavail, bsize } = await statfs(root);
  // Files that share blocks each count them, so their sum can exceed the space in use.
  return bavail * bsize + Math.min(heldBytes, (blocks - bfree) * bsize);
}

import {
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { lstat, opendir, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { VolumeRef } from '../../backend.ts';
import type { Export } from '../../export.ts';
import { guardDirectory, ignore, isId, listing, requireId, shareRuns, syncFile } from '../../local/files.ts';
import { isForeign, unmark } from '../../local/marks.ts';

/** The content of a pool's directory: volume images, snapshots, and copies in progress. */
export type ImagePool = {
  readonly root: string;
  readonly images: Files;
  readonly snapshots: Files;
  readonly exported: Export;
  /** Creates a new path for the draft of a copy to `target`; writes nothing yet. */
  createDraft(target: string): string;
};

/** The files of one kind in a directory, one for each id. */
export type Files = ReturnType<typeof openFiles>;

const suffixes = { image: '.img', snapshot: '.snap' } as const;
const draftName = /^[^/]+\.(img|snap)\.\d+$/;

/** Opens a pool, and removes the drafts of interrupted copies; it removes nothing else, and follows no link. */
export function openPool(root: string, exported: Export): ImagePool {
  // These names are no volume's id. Drafts have a directory of their own, so that opening a large pool does not
  // search it.
  const [snapshots, drafts] = [join(root, 'snapshots'), join(root, 'drafts')];
  for (const path of [snapshots, drafts]) createDirectory(path);
  removeDrafts(drafts);
  let count = 0;
  return {
    root,
    exported,
    images: openFiles(root, 'volume', suffixes.image),
    snapshots: openFiles(snapshots, 'snapshot', suffixes.snapshot),
    createDraft: target => join(drafts, `${basename(target)}.${++count}`),
  };
}

function createDirectory(path: string): void {
  if (!lstatSync(path, { throwIfNoEntry: false })) mkdirSync(path, { mode: 0o700 });
  if (!lstatSync(path).isDirectory())
    throw new Error(`"${path}" is a link or a file and must be a directory of the pool; move it away`);
}

function removeDrafts(directory: string): void {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  const fd = openSync(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    // The path goes through the open directory, so that a link put in its place is not followed.
    const opened = `/proc/self/fd/${fd}`;
    for (const name of readdirSync(opened)) if (draftName.test(name)) unlinkSync(join(opened, name));
  } finally {
    closeSync(fd);
  }
}

function openFiles(directory: string, noun: 'volume' | 'snapshot', suffix: string) {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  const fd = openSync(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const requireInPlace = guardDirectory(directory);
  const sync = shareRuns(() => syncFile(fd));
  /** The path of a file, always directly below the directory. INVALID_ARGUMENT for an invalid id. */
  const pathOf = (id: string): string => {
    requireInPlace();
    return join(directory, requireId(id, noun) + suffix);
  };
  return {
    pathOf,
    sync,
    /** The size of a file in bytes; undefined when it is missing. A link counts itself, not its target. */
    sizeOf: async (id: string): Promise<number | undefined> =>
      (await lstat(pathOf(id)).catch(ignore('ENOENT')))?.size,
    async *list(): AsyncGenerator<string> {
      requireInPlace();
      for await (const { name } of await opendir(directory, listing)) {
        const id = name.slice(0, -suffix.length);
        if (name.endsWith(suffix) && isId(id)) yield id;
      }
    },
    /** Removes files durably. Missing files are skipped; files with another nonce are kept. */
    async remove(refs: readonly VolumeRef[]): Promise<void> {
      for (const { id, nonce } of refs) {
        const path = pathOf(id);
        if (isForeign(path, nonce)) continue;
        await unlink(path).catch(ignore('ENOENT'));
        // The mark has not changed since the check above: no other operation works on this volume.
        unmark(path);
      }
      await sync();
    },
    async close(): Promise<void> {
      await sync().catch(() => {});
      closeSync(fd);
    },
  };
}

/** The bytes that a file occupies on disk; 0 when it is missing. */
export function allocatedBytes(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * 512;
}

import { closeSync, constants, fsync, mkdirSync, openSync, readdirSync, unlinkSync } from 'node:fs';
import { lstat, readdir, stat, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { VolumeRef } from '../../backend.ts';
import type { Export } from '../../export.ts';
import { openLoop } from '../../exports/loop.ts';
import { guardDirectory, ignore, isId, requireId } from '../local/files.ts';
import { isAnothers, unmark } from '../local/marks.ts';

/** What lies in a pool's directory: the images of its volumes, their snapshots, and copies that are being made. */
export type ImagePool = {
  readonly root: string;
  readonly images: Files;
  readonly snapshots: Files;
  /** How its images leave this machine. */
  readonly exported: Export;
  /** Names a new file for a copy of a target that is being made. Nothing is written yet. */
  createDraft(target: string): string;
};

/** The files of one kind in a directory: one for each id. */
export type Files = ReturnType<typeof openFiles>;

/** Makes all that was written to a file durable. */
export const syncFile = promisify(fsync);

/** Opens a pool. Drafts that are there were interrupted, and are removed. */
export function openPool(root: string, exported: Export = openLoop()): ImagePool {
  // Directories that no volume's id can name; a large pool is not searched for its drafts.
  const [snapshots, drafts] = [join(root, 'snapshots'), join(root, 'drafts')];
  for (const path of [snapshots, drafts]) mkdirSync(path, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(drafts)) unlinkSync(join(drafts, name));
  let count = 0;
  return {
    root,
    exported,
    images: openFiles(root, 'volume', '.img'),
    snapshots: openFiles(snapshots, 'snapshot', '.snap'),
    createDraft: target => join(drafts, `${basename(target)}.${++count}`),
  };
}

function openFiles(directory: string, noun: 'volume' | 'snapshot', suffix: string) {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  const fd = openSync(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const requireInPlace = guardDirectory(directory);
  let syncing: Promise<void> | undefined;
  /** Always right below the directory; INVALID_ARGUMENT for what is no id. */
  const pathOf = (id: string): string => {
    requireInPlace();
    return join(directory, requireId(id, noun) + suffix);
  };
  /** Makes the directory's entries durable; calls at about the same time share one fsync. */
  const sync = (): Promise<void> =>
    (syncing ??= new Promise(setImmediate).then(() => {
      syncing = undefined;
      return syncFile(fd);
    }));
  return {
    pathOf,
    sync,
    /** The size of a file in bytes, of a link itself and not its target; undefined when it is missing. */
    sizeOf: async (id: string): Promise<number | undefined> =>
      (await lstat(pathOf(id)).catch(ignore('ENOENT')))?.size,
    async *list(): AsyncGenerator<string> {
      requireInPlace();
      const names = (await readdir(directory)).filter(name => name.endsWith(suffix));
      yield* names.map(name => name.slice(0, -suffix.length)).filter(isId);
    },
    /** Removes files, durably; missing ones are fine, and what was made for another nonce stays. */
    async remove(refs: readonly VolumeRef[]): Promise<void> {
      for (const { id, nonce } of refs) {
        const path = pathOf(id);
        if (isAnothers(path, nonce)) continue;
        await unlink(path).catch(ignore('ENOENT'));
        unmark(path, nonce);
      }
      await sync();
    },
    async close(): Promise<void> {
      await syncing?.catch(() => {});
      closeSync(fd);
    },
  };
}

/** The bytes that a file has on disk; none when it is missing. */
export async function allocatedBytes(path: string): Promise<number> {
  return ((await stat(path).catch(ignore('ENOENT')))?.blocks ?? 0) * 512;
}

import { readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { ensureDirectory, syncDirectory } from './directory.ts';
import { ignore, isId, sizeDirectory, sizePath } from './paths.ts';

/**
 * The sizes that volumes were promised. Each is the target of a symbolic link named like the volume: it is there as a
 * whole or not at all, and nothing ever follows it.
 */
export interface Sizes {
  readonly totalBytes: number;
  freeBytes(): number;
  /** The size that the volume has; undefined for none. */
  of(id: string): number | undefined;
  ids(): readonly string[];
  /** Gives the volume this size, durable on return. RESOURCE_EXHAUSTED when there is no room for it. */
  set(id: string, sizeBytes: number): Promise<void>;
  remove(id: string): Promise<void>;
}

/** Reads the sizes of a root; without a capacity the volumes may have what the filesystem can hold now. */
export async function openSizes(root: string, capacity: number | undefined): Promise<Sizes> {
  const directory = sizeDirectory(root);
  await ensureDirectory(directory, root);
  const sizes = await readSizes(root);
  const taken = (): number => [...sizes.values()].reduce((sum, size) => sum + size, 0);
  const totalBytes = capacity ?? roomIn(root, taken());
  let promisedBytes = taken();

  async function write(id: string, sizeBytes: number): Promise<void> {
    const draft = join(directory, `.${id}`);
    await rm(draft, { force: true });
    await symlink(String(sizeBytes), draft);
    await rename(draft, sizePath(root, id));
    await syncDirectory(directory);
  }

  return {
    totalBytes,
    freeBytes: () => Math.max(0, totalBytes - promisedBytes),
    of: id => sizes.get(id),
    ids: () => [...sizes.keys()],
    async set(id, sizeBytes) {
      const before = sizes.get(id) ?? 0;
      const growth = sizeBytes - before;
      if (growth > 0 && growth > totalBytes - promisedBytes)
        throw new Problem(
          'RESOURCE_EXHAUSTED',
          `${growth} bytes do not fit into the ${Math.max(0, totalBytes - promisedBytes)} that are left`,
        );
      // Promised before it waits, so that others at the same time find it taken.
      promisedBytes += growth;
      try {
        await write(id, sizeBytes);
        sizes.set(id, sizeBytes);
      } catch (error) {
        promisedBytes -= growth;
        throw error;
      }
    },
    async remove(id) {
      await rm(sizePath(root, id), { force: true });
      await syncDirectory(directory);
      promisedBytes -= sizes.get(id) ?? 0;
      sizes.delete(id);
    },
  };
}

async function readSizes(root: string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of (await readdir(sizeDirectory(root))).filter(isId)) {
    const text = await readlink(sizePath(root, name)).catch(ignore('EINVAL'));
    const size = text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (!Number.isSafeInteger(size))
      throw new Error(`"${sizePath(root, name)}" does not hold the size of a volume`);
    sizes.set(name, size);
  }
  return sizes;
}

/** What is free, and what the volumes there have filled already. */
function roomIn(root: string, promisedBytes: number): number {
  const { blocks, bfree, bavail, bsize } = statfsSync(root);
  return bavail * bsize + Math.min(promisedBytes, (blocks - bfree) * bsize);
}

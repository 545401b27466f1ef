import { readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { openChangeCount } from '../files/change-count.ts';
import { ensureDirectory, syncDirectory } from './directory.ts';
import { ignore, isItemName, sizeDirectory } from './paths.ts';

/**
 * What is promised of the room: the sizes of volumes, and what snapshots hold, by the names of the items. Each is the
 * target of a symbolic link named like the item: it is there as a whole or not at all, and nothing ever follows it.
 * Several processes on one machine together promise no more than there is.
 */
export interface Sizes {
  readonly totalBytes: number;
  freeBytes(): Promise<number>;
  /** The size that the item has; undefined for none. */
  of(name: string): Promise<number | undefined>;
  names(): Promise<readonly string[]>;
  /** Gives the item this size, durable on return. RESOURCE_EXHAUSTED, and nothing changed, when there is no room for it. */
  set(name: string, sizeBytes: number): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Reads the sizes of a root; without a capacity they may be together what the filesystem can hold now. */
export async function openSizes(root: string, capacity: number | undefined): Promise<Sizes> {
  const directory = sizeDirectory(root);
  await ensureDirectory(directory, root);
  const count = openChangeCount(join(directory, '.changes'));
  const inTurn = createTurns();
  let sizes = await readSizes(directory);
  const promised = (): number => [...sizes.values()].reduce((sum, size) => sum + size, 0);
  let promisedBytes = promised();
  const totalBytes = capacity ?? roomIn(root, promisedBytes);

  async function readAgain(): Promise<void> {
    count.look();
    sizes = await readSizes(directory);
    promisedBytes = promised();
  }

  /** On disk, and told to others; true when nobody else has changed anything meanwhile. */
  async function put(name: string, sizeBytes: number | undefined): Promise<boolean> {
    if (sizeBytes === undefined) await rm(join(directory, name), { force: true });
    else await writeLink(directory, name, sizeBytes);
    promisedBytes += (sizeBytes ?? 0) - (sizes.get(name) ?? 0);
    if (sizeBytes === undefined) sizes.delete(name);
    else sizes.set(name, sizeBytes);
    return count.tell();
  }

  function requireRoom(growth: number): void {
    if (growth > 0 && growth > totalBytes - promisedBytes)
      throw new Problem(
        'RESOURCE_EXHAUSTED',
        `${growth} bytes do not fit into the ${Math.max(0, totalBytes - promisedBytes)} that are left`,
      );
  }

  return {
    totalBytes,
    freeBytes: () =>
      inTurn(async () => {
        if (!count.isCurrent()) await readAgain();
        return Math.max(0, totalBytes - promisedBytes);
      }),
    of: name => readSize(directory, name),
    names: async () => [...(await readSizes(directory)).keys()],
    async set(name, sizeBytes) {
      await inTurn(async () => {
        if (!count.isCurrent()) await readAgain();
        const before = sizes.get(name);
        const growth = sizeBytes - (before ?? 0);
        requireRoom(growth);
        if (await put(name, sizeBytes)) return;
        await readAgain();
        if (growth <= 0 || promisedBytes <= totalBytes) return;
        await put(name, before);
        requireRoom(growth);
      });
      await syncDirectory(directory);
    },
    async remove(name) {
      await inTurn(() => put(name, undefined));
      await syncDirectory(directory);
    },
  };
}

/** One after another; one that fails does not keep the next from running. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return work => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
}

async function writeLink(directory: string, name: string, sizeBytes: number): Promise<void> {
  const draft = join(directory, `.${name}`);
  await rm(draft, { force: true });
  await symlink(String(sizeBytes), draft);
  await rename(draft, join(directory, name));
}

async function readSizes(directory: string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of (await readdir(directory)).filter(isItemName)) {
    const size = await readSize(directory, name);
    if (size !== undefined) sizes.set(name, size);
  }
  return sizes;
}

async function readSize(directory: string, name: string): Promise<number | undefined> {
  const path = join(directory, name);
  const text = await readlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EINVAL') return '';
    return ignore('ENOENT')(error);
  });
  if (text === undefined) return undefined;
  const size = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(size)) throw new Error(`"${path}" does not hold the size of a volume`);
  return size;
}

/** What is free, and what is filled already of what was promised. */
function roomIn(root: string, promisedBytes: number): number {
  const { blocks, bfree, bavail, bsize } = statfsSync(root);
  return bavail * bsize + Math.min(promisedBytes, (blocks - bfree) * bsize);
}

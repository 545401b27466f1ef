import { mkdirSync, type Stats } from 'node:fs';
import { readdir, stat, unlink } from 'node:fs/promises';
import { z } from 'zod';
import type { CreatedSnapshot, NewSnapshot, Snapshots } from '../../backend.ts';
import { copyTogether } from './copies.ts';
import { discardDraft, publishDraft, type CreateDraft, type Draft } from './drafts.ts';
import { allocatedBytes, ignoreMissing, openDirectory } from './files.ts';
import { imagePath, snapshotDirectory, snapshotId, snapshotPath } from './paths.ts';

/** The snapshots of a pool: files in a directory of their own, whose mtime is the time of the copy. */
export type SnapshotFiles = Required<Snapshots> & { close(): Promise<void> };

/** The snapshots of the images below `root`. */
export function openSnapshots(root: string, createDraft: CreateDraft): SnapshotFiles {
  mkdirSync(snapshotDirectory(root), { recursive: true, mode: 0o700 });
  const directory = openDirectory(snapshotDirectory(root));

  async function remove(ids: readonly string[]): Promise<void> {
    for (const path of ids.map(id => snapshotPath(root, id))) await unlink(path).catch(ignoreMissing);
    await directory.sync();
  }

  async function createGroup(members: readonly NewSnapshot[]): Promise<readonly CreatedSnapshot[]> {
    const ids = members.map(({ id }) => id);
    const found = await findSnapshots(root, ids);
    // Members of an earlier try that did not end were copied at another time.
    if (found.length > 0 && !isWhole(found, ids)) await remove(ids);
    if (!isWhole(found, ids)) {
      const copies = members.map(member => toCopy(root, member));
      await publishAll(await copyTogether(copies, createDraft));
    }
    // Those that were found may have their names and not be durable yet.
    await directory.sync();
    const made = await findSnapshots(root, ids);
    if (!isWhole(made, ids))
      throw new Error(`snapshots "${ids.join('", "')}" were removed while they were made`);
    return made;
  }

  return {
    parameters: z.strictObject({}),
    createGroup,
    async create(snapshot) {
      const [made] = await createGroup([snapshot]);
      if (!made) throw new Error('no snapshot was made');
      return made;
    },
    measure: ({ id }) => allocatedBytes(imagePath(root, id)),
    delete: ({ id }) => remove([id]),
    async *list() {
      for (const name of await readdir(snapshotDirectory(root))) {
        const id = snapshotId(name);
        if (id !== undefined) yield id;
      }
    },
    close: () => directory.close(),
  };
}

/** Publishes all or none; a file that has the name already stays. */
async function publishAll(drafts: readonly Draft[]): Promise<void> {
  const published: string[] = [];
  try {
    for (const draft of drafts) if (await publishDraft(draft)) published.push(draft.target);
  } catch (error) {
    await Promise.all([...drafts.map(discardDraft), ...published.map(path => unlink(path))]);
    throw error;
  }
}

/** Those of the snapshots that are on disk. */
async function findSnapshots(root: string, ids: readonly string[]): Promise<readonly CreatedSnapshot[]> {
  const found = await Promise.all(ids.map(id => stat(snapshotPath(root, id)).catch(ignoreMissing)));
  return found.filter(stats => stats !== undefined).map(toSnapshot);
}

function toSnapshot({ size, blocks, mtimeMs }: Stats): CreatedSnapshot {
  const createdAtMs = Math.round(mtimeMs);
  return { sizeBytes: size, createdAtMs, reservedBytes: blocks * 512, ready: true };
}

/** All are there, and they were copied at the same time. */
function isWhole(found: readonly CreatedSnapshot[], ids: readonly string[]): boolean {
  return found.length === ids.length && new Set(found.map(({ createdAtMs }) => createdAtMs)).size <= 1;
}

function toCopy(root: string, { id, volume, attachedForWriting }: NewSnapshot) {
  return {
    name: `volume "${volume.id}"`,
    source: imagePath(root, volume.id),
    target: snapshotPath(root, id),
    attachedForWriting,
  };
}

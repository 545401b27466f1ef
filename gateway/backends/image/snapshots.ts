import type { Stats } from 'node:fs';
import { mkdir, readdir, stat, unlink } from 'node:fs/promises';
import { z } from 'zod';
import { Problem } from '../../../src/api/problem.ts';
import type { CutSnapshot, NewSnapshot, Snapshots } from '../../backend.ts';
import { allocatedBytes } from './copy.ts';
import { cutTogether, type CutDrafts } from './cut.ts';
import { openDirectory, type Directory } from './directory.ts';
import { discardDraft, publishDraft } from './drafts.ts';
import { imagePath, snapshotDirectory, snapshotId, snapshotPath } from './paths.ts';
import { ignoreMissing } from './problems.ts';
import type { Pool } from './pool.ts';

/** The snapshots of a pool: files in a directory of their own, which keep the time of their cut as their mtime. */
export type SnapshotFiles = Required<Snapshots> & { close(): Promise<void> };

/** Snapshots of the images of a pool. */
export async function createSnapshots(pool: Pool): Promise<SnapshotFiles> {
  const { root, drafts, room } = pool;
  let directory = await openWhenThere(root);

  async function ensureDirectory(): Promise<Directory> {
    if (directory) return directory;
    await mkdir(snapshotDirectory(root), { mode: 0o700 }).catch(ignorePresent);
    await pool.directory.sync();
    return (directory ??= openDirectory(snapshotDirectory(root)));
  }

  async function remove(ids: readonly string[]): Promise<void> {
    if (!directory) return;
    for (const id of ids) {
      const path = snapshotPath(root, id);
      drafts.removeFor(path);
      await unlink(path).catch(ignoreMissing);
      room.free(path);
    }
    await directory.sync();
  }

  /** The room that a member's copy may take is reserved before, and what it really took is counted after. */
  async function reserve(members: readonly NewSnapshot[]): Promise<void> {
    for (const { id, volume } of members)
      room.take(snapshotPath(root, id), await allocatedBytes(imagePath(root, volume.id)));
  }

  /** All or none: what others published meanwhile stays. */
  async function publish({ drafts: made }: CutDrafts): Promise<void> {
    const published: string[] = [];
    try {
      for (const draft of made) {
        room.take(draft.target, await allocatedBytes(draft.path));
        if (await publishDraft(draft)) published.push(draft.target);
      }
      for (const { target } of made) room.settle(target, await allocatedBytes(target));
    } catch (error) {
      await Promise.all([...made.map(discardDraft), ...published.map(path => unlink(path))]);
      throw error;
    }
  }

  async function createGroup(members: readonly NewSnapshot[]): Promise<readonly CutSnapshot[]> {
    const ids = members.map(({ id }) => id);
    const { sync } = await ensureDirectory();
    const found = await findCuts(root, ids);
    // It may have its name and not be durable yet.
    if (isWhole(found, ids)) await sync();
    if (isWhole(found, ids)) return found;
    // Members of an earlier try that did not end were cut at another time.
    if (found.length > 0) await remove(ids);
    try {
      await reserve(members);
      await publish(
        await cutTogether(
          members.map(member => toCut(root, member)),
          drafts,
        ),
      );
      await sync();
    } catch (error) {
      for (const id of ids) room.free(snapshotPath(root, id));
      throw error;
    }
    const made = await findCuts(root, ids);
    if (!isWhole(made, ids)) throw new Problem('UNAVAILABLE', 'a snapshot was removed while it was made');
    return made;
  }

  return {
    parameters: z.strictObject({}),
    createGroup,
    async create(snapshot) {
      const [cut] = await createGroup([snapshot]);
      if (!cut) throw new Error('no snapshot was made');
      return cut;
    },
    async delete({ id }) {
      snapshotPath(root, id);
      await remove([id]);
    },
    async *list() {
      for (const name of directory ? await readdir(snapshotDirectory(root)) : []) {
        const id = snapshotId(name);
        if (id !== undefined) yield id;
      }
    },
    close: async () => directory?.close(),
  };
}

async function openWhenThere(root: string): Promise<Directory | undefined> {
  const path = snapshotDirectory(root);
  if (!(await stat(path).catch(ignoreMissing))) return undefined;
  return openDirectory(path);
}

/** Those of the snapshots that are on disk. */
async function findCuts(root: string, ids: readonly string[]): Promise<readonly CutSnapshot[]> {
  const found = await Promise.all(ids.map(id => stat(snapshotPath(root, id)).catch(ignoreMissing)));
  return found.flatMap(stats => (stats ? [toCutSnapshot(stats)] : []));
}

function toCutSnapshot({ size, blocks, mtimeMs }: Stats): CutSnapshot {
  return {
    sizeBytes: size,
    createdAtMs: Math.round(mtimeMs),
    reservedBytes: blocks * 512,
    ready: true,
  };
}

/** All are there, and they were cut at the same time. */
function isWhole(cuts: readonly CutSnapshot[], ids: readonly string[]): boolean {
  return cuts.length === ids.length && new Set(cuts.map(({ createdAtMs }) => createdAtMs)).size <= 1;
}

function toCut(root: string, { id, volume, attachedForWriting }: NewSnapshot) {
  return {
    name: `volume "${volume.id}"`,
    source: imagePath(root, volume.id),
    target: snapshotPath(root, id),
    attachedForWriting,
  };
}

function ignorePresent(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
}

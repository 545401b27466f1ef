import { stat } from 'node:fs/promises';
import * as z from 'zod';
import type { CreatedSnapshot, NewSnapshot, Snapshots } from '../../backend.ts';
import { ignore } from '../../local/files.ts';
import { requireMadeFor } from '../../local/marks.ts';
import { copyImage, fromVolume } from './copies.ts';
import { allocatedBytes, type ImagePool } from './pool.ts';

/**
 * Manages the snapshots of a pool: files whose mtime is the time of the copy. There are no group snapshots, because
 * the files of two volumes in use cannot be copied at one instant.
 */
export function createSnapshots(pool: ImagePool): Required<Omit<Snapshots, 'createGroup'>> {
  const { images, snapshots } = pool;
  return {
    parameters: z.strictObject({}),
    async create(snapshot) {
      if (!(await findSnapshot(pool, snapshot))) {
        const target = snapshots.pathOf(snapshot.id);
        await copyImage(pool, { ...fromVolume(pool, snapshot), target, nonce: snapshot.nonce });
      }
      // An existing file may not be durable yet.
      await snapshots.sync();
      const created = await findSnapshot(pool, snapshot);
      if (!created) throw new Error(`snapshot "${snapshot.id}" was removed while it was being created`);
      return created;
    },
    measure: async ({ id }) => allocatedBytes(images.pathOf(id)),
    delete: snapshot => snapshots.remove([snapshot]),
    list: snapshots.list,
  };
}

/** Finds a snapshot's file. ALREADY_EXISTS when it was made for another record. */
async function findSnapshot(
  { snapshots }: ImagePool,
  { id, nonce }: NewSnapshot,
): Promise<CreatedSnapshot | undefined> {
  const found = await stat(snapshots.pathOf(id)).catch(ignore('ENOENT'));
  if (!found) return undefined;
  requireMadeFor(snapshots.pathOf(id), nonce, `the image of snapshot "${id}"`);
  const { size, blocks, mtimeMs } = found;
  return { sizeBytes: size, createdAtMs: Math.round(mtimeMs), reservedBytes: blocks * 512, ready: true };
}

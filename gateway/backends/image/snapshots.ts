import { stat } from 'node:fs/promises';
import { z } from 'zod';
import type { CreatedSnapshot, NewSnapshot, Snapshots } from '../../backend.ts';
import { ignore } from '../local/files.ts';
import { requireMadeFor } from '../local/marks.ts';
import { copyTogether, fromVolume } from './copies.ts';
import { allocatedBytes, type ImagePool } from './pool.ts';

/** The snapshots of a pool: files whose mtime is the time of the copy. */
export function createSnapshots(pool: ImagePool): Required<Snapshots> {
  const { images, snapshots } = pool;

  async function createGroup(members: readonly NewSnapshot[]): Promise<readonly CreatedSnapshot[]> {
    const ids = members.map(({ id }) => id);
    let made = await findSnapshots(pool, members);
    if (!isWhole(made, ids)) {
      // Members of an earlier try that did not end were copied at another time.
      if (made.length > 0) await snapshots.remove(members);
      const copies = members.map(member => ({
        ...fromVolume(pool, member),
        target: snapshots.pathOf(member.id),
        nonce: member.nonce,
      }));
      await copyTogether(pool, copies);
      made = await findSnapshots(pool, members);
    }
    // Those that were found may have their names and not be durable yet.
    await snapshots.sync();
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
    measure: ({ id }) => allocatedBytes(images.pathOf(id)),
    delete: snapshot => snapshots.remove([snapshot]),
    list: snapshots.list,
  };
}

/** Those of the snapshots that are on disk; ALREADY_EXISTS when one was made for another. */
async function findSnapshots(
  { snapshots }: ImagePool,
  members: readonly NewSnapshot[],
): Promise<readonly CreatedSnapshot[]> {
  const find = async ({ id, nonce }: NewSnapshot) => {
    const found = await stat(snapshots.pathOf(id)).catch(ignore('ENOENT'));
    if (found) requireMadeFor(snapshots.pathOf(id), nonce, `the image of snapshot "${id}"`);
    return found;
  };
  const found = await Promise.all(members.map(find));
  return found
    .filter(stats => stats !== undefined)
    .map(({ size, blocks, mtimeMs }) => ({
      sizeBytes: size,
      createdAtMs: Math.round(mtimeMs),
      reservedBytes: blocks * 512,
      ready: true,
    }));
}

/** All are there, and they were copied at the same time. */
function isWhole(found: readonly CreatedSnapshot[], ids: readonly string[]): boolean {
  return found.length === ids.length && new Set(found.map(({ createdAtMs }) => createdAtMs)).size <= 1;
}

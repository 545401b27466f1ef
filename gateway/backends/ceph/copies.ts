import { preconditionProblem } from '../../../src/api/problem.ts';
import type { VolumeRef, VolumeSource } from '../../backend.ts';
import { rememberClients } from './clients.ts';
import { exists, missing } from './commands.ts';
import { flatten } from './blocks.ts';
import { deletedOf, requireImage, type Image, type RbdPool } from './pool.ts';
import { findTaken } from './taken.ts';

/** What nodes with Linux 5.3 or later know: by the lock the cluster knows who writes, and by the map which objects there are. */
export const features = ['--image-feature', 'layering,exclusive-lock,object-map,fast-diff'] as const;
/** Set on a copy when it is whole. */
const wholeKey = 'fairlead.whole';

/**
 * A copy gets blocks of its own, so that who may use it needs no right in what it was made from. One that is not marked as whole
 * was interrupted, and no node has had it: what is a clone still gets its blocks, anything else is made anew.
 */
export async function fill(pool: RbdPool, image: Image, source: VolumeSource): Promise<void> {
  const spec = pool.specOf(image);
  const mark = await pool.rbd(['image-meta', 'get', spec, wholeKey], { fine: [missing] });
  if (mark.status === 0) return;
  if (!(await pool.inspect(image))?.parent) {
    await pool.rbd(['rm', '--no-progress', spec], { fine: [missing] });
    if (source.kind === 'snapshot') await cloneSnapshot(pool, image, source.snapshot);
    else await cloneVolume(pool, image, source.volume);
  }
  await flatten(pool, image);
  await pool.rbd(['image-meta', 'set', spec, wholeKey, 'true']);
}

async function cloneSnapshot(pool: RbdPool, image: Image, snapshot: VolumeRef): Promise<void> {
  const [taken] = await findTaken(pool, snapshot);
  if (!taken) throw preconditionProblem(`snapshot "${snapshot.id}" is missing`);
  // The volume that it was taken of may be deleted.
  for (const from of [taken.image, deletedOf(taken.image)])
    if (await pool.inspect(from)) return clone(pool, `${pool.specOf(from)}@${taken.name}`, image);
  throw preconditionProblem(`the image of snapshot "${snapshot.id}" is missing`);
}

/** By a snapshot that goes with the clone's need for it. */
async function cloneVolume(pool: RbdPool, image: Image, volume: VolumeRef): Promise<void> {
  const source = await requireImage(pool, volume);
  const spec = `${pool.specOf(source)}@_clone.${image.name}`;
  await rememberClients(pool, source);
  await pool.rbd(['snap', 'create', '--no-progress', spec], { fine: [exists] });
  await clone(pool, spec, image);
  await pool.rbd(['snap', 'rm', '--no-progress', spec]);
}

/** Clones of version 2 need no protection of their snapshot, which may be deleted before them. */
async function clone(pool: RbdPool, snapshot: string, image: Image): Promise<void> {
  const args = ['clone', '--rbd-default-clone-format', '2', ...features, snapshot, pool.specOf(image)];
  const made = await pool.rbd(args, { fine: [missing] });
  if (made.status === 0) return;
  // Of the two what may be missing rightly is the namespace of the clone.
  await pool.makeNamespace(image.namespace);
  await pool.rbd(args);
}

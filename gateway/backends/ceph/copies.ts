import { preconditionProblem } from '../../../src/api/problem.ts';
import type { VolumeRef, VolumeSource } from '../../backend.ts';
import { rememberClients } from './clients.ts';
import { exists, missing } from './commands.ts';
import { flatten } from './blocks.ts';
import { deletedOf, requireImage, snapshotNotesFor, type Image, type RbdPool } from './pool.ts';

/**
 * Image features of Linux 5.3 and later. The lock tells the cluster which client writes, the object map which objects
 * exist.
 */
export const features = ['--image-feature', 'layering,exclusive-lock,object-map,fast-diff'] as const;
const completeKey = 'fairlead.whole';

/**
 * Fills an image with a copy of its source. The copy has blocks of its own, so that its users need no right to the
 * source. An image without the complete mark is an interrupted copy that no node has had: a clone is completed,
 * anything else is created anew.
 */
export async function fill(pool: RbdPool, image: Image, source: VolumeSource): Promise<void> {
  const spec = pool.specOf(image);
  const mark = await pool.rbd(['image-meta', 'get', spec, completeKey], { fine: [missing] });
  if (mark.status === 0) return;
  if (!(await pool.inspect(image))?.parent) {
    await pool.rbd(['rm', '--no-progress', spec], { fine: [missing] });
    if (source.kind === 'snapshot') await cloneSnapshot(pool, image, source.snapshot);
    else await cloneVolume(pool, image, source.volume);
  }
  await flatten(pool, image);
  await pool.rbd(['image-meta', 'set', spec, completeKey, 'true']);
}

async function cloneSnapshot(pool: RbdPool, image: Image, snapshot: VolumeRef): Promise<void> {
  const [note] = await snapshotNotesFor(pool, snapshot).find(snapshot);
  if (!note) throw preconditionProblem(`snapshot "${snapshot.id}" is missing`);
  // The snapshot's volume may have been deleted.
  for (const from of [note.image, deletedOf(note.image)])
    if (await pool.inspect(from)) return clone(pool, `${pool.specOf(from)}@${note.name}`, image);
  throw preconditionProblem(`the image of snapshot "${snapshot.id}" is missing`);
}

/** Clones a volume by a temporary snapshot, which is removed after the clone. */
async function cloneVolume(pool: RbdPool, image: Image, volume: VolumeRef): Promise<void> {
  const source = await requireImage(pool, volume);
  const spec = `${pool.specOf(source)}@_clone.${image.name}`;
  await rememberClients(pool, source);
  await pool.rbd(['snap', 'create', '--no-progress', spec], { fine: [exists] });
  await clone(pool, spec, image);
  await pool.rbd(['snap', 'rm', '--no-progress', spec]);
}

/** Clones a snapshot as version 2, so that the snapshot needs no protection and may be deleted before the clone. */
async function clone(pool: RbdPool, snapshot: string, image: Image): Promise<void> {
  const args = ['clone', '--rbd-default-clone-format', '2', ...features, snapshot, pool.specOf(image)];
  const result = await pool.rbd(args, { fine: [missing] });
  if (result.status === 0) return;
  // Source and namespace may each be missing; only the namespace may be missing without a fault.
  await pool.createNamespace(image.namespace);
  await pool.rbd(args);
}

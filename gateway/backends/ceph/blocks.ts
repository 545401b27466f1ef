import { readClients } from './clients.ts';
import { filled, invalid, missing } from './commands.ts';
import { isOwn, type Image, type RbdPool } from './pool.ts';

/** How long copying or removing an image's blocks may take before the next call goes on with it, in milliseconds. */
export const blocksTimeoutMs = 10 * 60_000;

/** Gives a clone blocks of its own; interrupted, the next goes on. */
export async function flatten(pool: RbdPool, image: Image): Promise<void> {
  const args = ['flatten', '--no-progress', pool.specOf(image)];
  await pool.rbd(args, { fine: [missing, invalid], timeoutMs: blocksTimeoutMs });
}

type Child = { readonly pool_namespace?: string; readonly image: string };

/**
 * Removes the image of a deleted volume once no snapshot needs it. Clones that nobody has open get blocks of their own for that;
 * with the others it goes when they are deleted.
 */
export async function reap(pool: RbdPool, image: Image): Promise<void> {
  const spec = pool.specOf(image);
  const snapshots = (await pool.askRbd<readonly { readonly name: string }[]>('snap', 'ls', spec)) ?? [];
  const [left, needed] = [
    snapshots.filter(one => isOwn(one.name)),
    snapshots.filter(one => !isOwn(one.name)),
  ];
  for (const { name } of left)
    await pool.rbd(['snap', 'rm', '--no-progress', `${spec}@${name}`], { fine: [missing] });
  if (needed.length > 0) return;
  for (const child of (await pool.askRbd<readonly Child[]>('children', spec)) ?? []) {
    const clone = { namespace: child.pool_namespace ?? '', name: child.image };
    if ((await readClients(pool, clone)).addresses.size === 0) await flatten(pool, clone);
  }
  // Also where none is found: of one that an interrupted `rbd rm` removed the name may be left.
  await pool.rbd(['rm', '--no-progress', spec], { fine: [missing, filled], timeoutMs: blocksTimeoutMs });
}

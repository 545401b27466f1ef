import { readClients } from './clients.ts';
import { filled, invalid, missing } from './commands.ts';
import { isInternal, type Image, type RbdPool } from './pool.ts';

/** The time limit for copying or removing an image's blocks, in ms; the next call continues. */
export const blocksTimeoutMs = 10 * 60_000;

/** Gives a clone blocks of its own. The next call continues an interrupted one. */
export async function flatten(pool: RbdPool, image: Image): Promise<void> {
  const args = ['flatten', '--no-progress', pool.specOf(image)];
  await pool.rbd(args, { fine: [missing, invalid], timeoutMs: blocksTimeoutMs });
}

type Child = { readonly pool_namespace?: string; readonly image: string };

/**
 * Removes the image of a deleted volume if no snapshot needs it. Clones that are not open get blocks of their own
 * first. If a clone is open, the image stays until the clone is deleted.
 */
export async function reap(pool: RbdPool, image: Image): Promise<void> {
  const spec = pool.specOf(image);
  const snapshots = (await pool.askRbd<readonly { readonly name: string }[]>('snap', 'ls', spec)) ?? [];
  const [temporary, needed] = [
    snapshots.filter(one => isInternal(one.name)),
    snapshots.filter(one => !isInternal(one.name)),
  ];
  for (const { name } of temporary)
    await pool.rbd(['snap', 'rm', '--no-progress', `${spec}@${name}`], { fine: [missing] });
  if (needed.length > 0) return;
  for (const child of (await pool.askRbd<readonly Child[]>('children', spec)) ?? []) {
    const clone = { namespace: child.pool_namespace ?? '', name: child.image };
    if ((await readClients(pool, clone)).addresses.size === 0) await flatten(pool, clone);
  }
  // Runs even if no image is found, because an interrupted `rbd rm` may have left its name.
  await pool.rbd(['rm', '--no-progress', spec], { fine: [missing, filled], timeoutMs: blocksTimeoutMs });
}

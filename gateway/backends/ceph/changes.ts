import { preconditionProblem } from '../../../src/api/problem.ts';
import type { Changes, KnownSnapshot } from '../../backend.ts';
import { createListedChanges } from '../../local/extent-lists.ts';
import { deletedOf, snapshotNotesFor, type RbdPool } from './pool.ts';

type Diff = readonly { readonly offset: number | string; readonly length: number | string }[];

/** Reads the changed blocks of a pool's snapshots with `rbd diff`. */
export function createChanges(pool: RbdPool): Changes {
  return createListedChanges(async ({ target, base }, add) => {
    for (const { offset, length } of await read(pool, target, base))
      add({ offset: Number(offset), length: Number(length) });
  });
}

async function read(pool: RbdPool, target: KnownSnapshot, base?: KnownSnapshot): Promise<Diff> {
  const [found] = await snapshotNotesFor(pool, target).find(target);
  const [from] = base ? await snapshotNotesFor(pool, base).find(base) : [];
  const haveOneImage = !base || from?.image.name === found?.image.name;
  if (!found || !haveOneImage)
    throw preconditionProblem(`snapshots "${base?.id}" and "${target.id}" belong to different images`);
  const since = from ? ['--from-snap', from.name] : [];
  for (const image of [found.image, deletedOf(found.image)]) {
    const spec = `${pool.specOf(image)}@${found.name}`;
    const diff = await pool.askRbd<Diff>('diff', ...since, spec);
    if (diff) return diff;
  }
  throw preconditionProblem(`the image of snapshot "${target.id}" is missing`);
}

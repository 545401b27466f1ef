import { preconditionProblem } from '../../../src/api/problem.ts';
import type { Changes, Extent, KnownSnapshot } from '../../backend.ts';
import { keepLists } from '../../local/extent-lists.ts';
import { deletedOf, snapshotNotesFor, type RbdPool } from './pool.ts';

type Diff = readonly { readonly offset: number | string; readonly length: number | string }[];

/** Reads the changed blocks of a pool's snapshots with `rbd diff`. */
export function createChanges(pool: RbdPool): Changes {
  const list = keepLists((target, base) => read(pool, target, base));
  return {
    async *allocated(snapshot, fromOffset) {
      yield* after(await list(snapshot), fromOffset);
    },
    async *changed({ base, target }, fromOffset) {
      yield* after(await list(target, base), fromOffset);
    },
  };
}

function after(extents: readonly Extent[], fromOffset: number): readonly Extent[] {
  return extents.filter(({ offset, length }) => offset + length > fromOffset);
}

async function read(pool: RbdPool, target: KnownSnapshot, base?: KnownSnapshot): Promise<readonly Extent[]> {
  const [found] = await snapshotNotesFor(pool, target).find(target);
  const [from] = base ? await snapshotNotesFor(pool, base).find(base) : [];
  const haveOneImage = !base || from?.image.name === found?.image.name;
  if (!found || !haveOneImage)
    throw preconditionProblem(`snapshots "${base?.id}" and "${target.id}" belong to different images`);
  const since = from ? ['--from-snap', from.name] : [];
  for (const image of [found.image, deletedOf(found.image)]) {
    const spec = `${pool.specOf(image)}@${found.name}`;
    const diff = await pool.askRbd<Diff>('diff', ...since, spec);
    if (diff) return diff.map(({ offset, length }) => ({ offset: Number(offset), length: Number(length) }));
  }
  throw preconditionProblem(`the image of snapshot "${target.id}" is missing`);
}

import { preconditionProblem } from '../../../src/api/problem.ts';
import type { Changes, Extent, KnownSnapshot } from '../../backend.ts';
import { deletedOf, type RbdPool } from './pool.ts';
import { findTaken } from './taken.ts';

/** Lists are asked for page by page, and a snapshot never changes: so many are held. */
const mostHeld = 4;

type Diff = readonly { readonly offset: number | string; readonly length: number | string }[];

/** What `rbd diff` says of a pool's snapshots. */
export function createChanges(pool: RbdPool): Changes {
  const held = new Map<string, Promise<readonly Extent[]>>();

  function list(snapshot: KnownSnapshot, base?: KnownSnapshot): Promise<readonly Extent[]> {
    const key = JSON.stringify([snapshot.id, snapshot.nonce, base?.id, base?.nonce]);
    const known = held.get(key) ?? read(pool, snapshot, base);
    held.delete(key);
    held.set(key, known);
    for (const oldest of [...held.keys()].slice(0, -mostHeld)) held.delete(oldest);
    known.catch(() => held.delete(key));
    return known;
  }

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
  const [found] = await findTaken(pool, target);
  const [from] = base ? await findTaken(pool, base) : [];
  const isOneImage = !base || from?.image.name === found?.image.name;
  if (!found || !isOneImage)
    throw preconditionProblem(`snapshots "${base?.id}" and "${target.id}" are not of one image`);
  const since = from ? ['--from-snap', from.name] : [];
  for (const image of [found.image, deletedOf(found.image)]) {
    const spec = `${pool.specOf(image)}@${found.name}`;
    const diff = await pool.askRbd<Diff>('diff', ...since, spec);
    if (diff) return diff.map(({ offset, length }) => ({ offset: Number(offset), length: Number(length) }));
  }
  throw preconditionProblem(`the image of snapshot "${target.id}" is missing`);
}

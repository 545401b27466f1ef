import type { Reader } from '../store.ts';
import type { Pool } from './pools.ts';

/** A store, and the names of pools that it takes over whatever is in them. */
export type Owner = { readonly id: string; readonly reader: Reader; readonly adopted: readonly string[] };

/**
 * Makes a pool the store's own, or throws: a store that knows nothing of what a pool holds would report all of it as
 * deleted. A pool that nobody has marked is taken when it is empty and the store has nothing in it, or when they agree.
 */
export async function own(pool: Pool, owner: Owner): Promise<void> {
  const mark = await findNewMark(pool, owner);
  if (mark !== undefined) await pool.backend.owner?.write(mark);
}

/** Throws where a store that is made now could not own the pool. */
export async function requireOwnable(pool: Pool, adopted: Owner['adopted']): Promise<void> {
  await findNewMark(pool, { id: '', reader: { all: async () => [] }, adopted });
}

/** What is to be written into the pool; undefined when it is there. */
async function findNewMark(
  { name, backend }: Pool,
  { id, reader, adopted }: Owner,
): Promise<string | undefined> {
  const mark = `${id} ${name}\n`;
  const found = await backend.owner?.read();
  if (found === mark) return undefined;
  const stranger = adopted.includes(name)
    ? undefined
    : await findStranger({ name, backend }, { found, id, reader });
  if (stranger !== undefined)
    throw new Error(`${stranger}; is the store the right one? --adopt-pools ${name} makes it this store's`);
  return mark;
}

const marked = 'it is marked as the pool of another store, or as another pool';

/** A pool of this store that has another name now is judged by what is in it, too: one that is empty may be renamed. */
async function findStranger(
  pool: Pool,
  { found, id, reader }: Pick<Owner, 'id' | 'reader'> & { readonly found: string | undefined },
): Promise<string | undefined> {
  if (found === undefined) return findDisagreement(pool, reader);
  return found.startsWith(`${id} `) && !(await findDisagreement(pool, reader)) ? undefined : marked;
}

/** Why the pool does not seem to be the store's; undefined when nothing speaks against it. */
async function findDisagreement({ name, backend }: Pool, reader: Reader): Promise<string | undefined> {
  const inBoth =
    'select coalesce(storage_id, id) as id from volumes where pool = ? union all select id from snapshots where pool = ?';
  const known = new Set((await reader.all(inBoth, name, name)).map(({ id }) => id));
  // What cannot be marked may be far away: its store knows something of it, and that has to do.
  if (known.size > 0 && !backend.owner) return undefined;
  for (const listed of [backend.list?.(), backend.snapshots?.list?.()])
    for await (const there of listed ?? []) {
      if (known.size === 0) return `it holds "${there}", and the store knows nothing in it`;
      if (known.has(there)) return undefined;
    }
  return known.size > 0 ? 'it holds nothing of what the store has in it' : undefined;
}

import type { Reader } from '../store.ts';
import { readPoolUsage } from '../tables/reservations.ts';
import { snapshotTable } from '../tables/snapshots.ts';
import { findAtStorage } from '../tables/volumes.ts';
import type { Pool } from './pools.ts';

/**
 * A storage must list something of the pool, or show that it is empty, within this time. Other pools wait meanwhile.
 */
const listTimeoutMs = 10_000;

/** A store, and the names of the pools that it takes over with any content. */
export type Owner = { readonly id: string; readonly reader: Reader; readonly adopted: readonly string[] };

/**
 * Marks the pool as the store's own, or throws: a store without records of a pool's volumes would report all
 * of them as deleted. A pool without a mark is taken if it is empty and the store has nothing in it, or if
 * they agree.
 */
export async function own(pool: Pool, owner: Owner): Promise<void> {
  const mark = await findNewMark(pool, owner);
  if (mark !== undefined) await pool.backend.owner?.write(mark);
}

/** Throws when a new store could not own the pool. */
export async function requireOwnable(pool: Pool, adopted: Owner['adopted']): Promise<void> {
  await findNewMark(pool, { id: '', reader: { all: async () => [] }, adopted });
}

/** Returns the mark to write into the pool; undefined if it is there. */
async function findNewMark(
  { name, backend }: Pool,
  { id, reader, adopted }: Owner,
): Promise<string | undefined> {
  const mark = markOf(id, name);
  const found = await backend.owner?.read();
  if (found === mark) return undefined;
  const stranger = adopted.includes(name)
    ? undefined
    : await findStranger({ name, backend }, { found, id, reader });
  if (stranger !== undefined) throw strangerProblem(stranger, name);
  return mark;
}

function markOf(id: string, name: string): string {
  return `${id} ${name}\n`;
}

function strangerProblem(reason: string, name: string): Error {
  return new Error(
    `${reason}; check that --store is right, or take the pool over with --adopt-pools ${name}`,
  );
}

/**
 * Judges the mark of a closed pool. Throws for another store's mark. Without a mark it returns the reason why a check
 * cannot find the owner.
 */
export function judgeMark(
  found: string | undefined,
  {
    name,
    id = '',
    adopted,
  }: { readonly name: string; readonly id: string | undefined } & Pick<Owner, 'adopted'>,
): string | undefined {
  if (found === markOf(id, name) || adopted.includes(name)) return undefined;
  if (found !== undefined && !found.startsWith(`${id} `)) throw strangerProblem(marked, name);
  return 'whose volumes it holds, which a start compares with the store; all else is ok';
}

const marked = 'it is marked as the pool of another store, or as another pool';

/**
 * Returns the reason why the pool is not the store's. A pool of this store under another name is also judged
 * by its content, so an empty one may be renamed.
 */
async function findStranger(
  pool: Pool,
  { found, id, reader }: Pick<Owner, 'id' | 'reader'> & { readonly found: string | undefined },
): Promise<string | undefined> {
  if (found === undefined) return findDisagreement(pool, reader);
  return found.startsWith(`${id} `) && !(await findDisagreement(pool, reader)) ? undefined : marked;
}

/** Returns the reason why the pool does not seem to be the store's, if there is one. */
async function findDisagreement({ name, backend }: Pool, reader: Reader): Promise<string | undefined> {
  const { volumes, snapshots } = await readPoolUsage(reader, name);
  const isUsed = volumes + snapshots > 0;
  // A pool that cannot be marked may be far away. It is enough that the store has something in it.
  if (isUsed && !backend.owner) return undefined;
  const signal = AbortSignal.timeout(listTimeoutMs);
  for (const listed of [backend.list?.(signal), backend.snapshots?.list?.(signal)])
    for await (const there of listed ?? []) {
      if (!isUsed) return `it holds "${there}", but the store has nothing in it`;
      if (await isKnown(reader, name, there)) return undefined;
    }
  return isUsed ? 'it holds none of the volumes and snapshots that the store has in it' : undefined;
}

async function isKnown(reader: Reader, pool: string, there: string): Promise<boolean> {
  const found = (await findAtStorage(reader, there)) ?? (await snapshotTable.find(reader, { id: there }));
  return found?.pool === pool;
}
